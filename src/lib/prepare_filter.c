/* The system-call filter of a cell: the policy's, tightened where a layer is missing. */
#include <errno.h>

#include "base/cleanup.h"
#include "lib/prepare.h"

/*
 * Memory that no process's figures show: only a control group counts it. Without one it is not to
 * be had, or the limit on memory would hold nothing.
 */
static const char *const unseen_memory[] = { "-memfd_create", "-shmget", "-semget", "-msgget",
					     "-mq_open" };

static int tighten(struct policy *policy, struct brig_error *err)
{
	struct filter filter = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(unseen_memory); i++) {
		if (!strlist_has(&policy->syscalls, unseen_memory[i]) &&
		    strlist_add(&policy->syscalls, unseen_memory[i]) < 0) {
			return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the filter");
		}
	}
	int r = syscalls_resolve(&policy->syscalls, &filter, err);
	if (r < 0) {
		return r;
	}
	filter_done(&policy->filter);
	policy->filter = filter;
	return 0;
}

int prepare_filter(struct prepared *p, struct brig_error *err)
{
	int r = 0;

	if (p->policy->filter.count == 0) {
		return 0;
	}
	if (p->spec.watch_memory) {
		r = tighten(p->policy, err);
	}
	if (r == 0) {
		bpf_program_done(&p->filter);
		r = filter_compile(&p->policy->filter,
				   (p->spec.layers & LAYER_BIT(LAYER_NOTIFY)) != 0, &p->filter,
				   err);
	}
	return r;
}
