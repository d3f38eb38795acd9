/* The system-call filter of a cell: the policy's, tightened where a layer is missing. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/prepare.h"

/*
 * Memory that no process's figures show: only a control group counts it. Without one it is not to
 * be had, or the limit on memory would hold nothing.
 */
static const char *const unseen_memory[] = { "memfd_create", "shmget", "semget", "msgget",
					     "mq_open" };

/* Whatever the policy says of them; what it refuses or kills for stays as it is. */
static void tighten(struct filter *filter)
{
	for (unsigned i = 0; i < filter->count; i++) {
		struct filter_rule *rule = &filter->rules[i];
		const char *name = syscall_name(rule->call);

		for (size_t k = 0; name && k < ARRAY_SIZE(unseen_memory); k++) {
			if (rule->action != FILTER_ALLOW || strcmp(name, unseen_memory[k]) != 0) {
				continue;
			}
			rule->action = FILTER_DENY;
			rule->errnum = EPERM;
			rule->reason = "without a memory control group nothing counts such memory";
			rule->remedy = "Give brig control groups that limit memory (brig doctor "
				       "tells how): with them the policy decides.";
		}
	}
}

int prepare_filter(struct prepared *p, struct brig_error *err)
{
	if (p->policy->filter.count == 0) {
		return 0;
	}
	if (p->spec.watch_memory) {
		tighten(&p->policy->filter);
	}
	bpf_program_done(&p->filter);
	return filter_compile(&p->policy->filter, (p->spec.layers & LAYER_BIT(LAYER_NOTIFY)) != 0,
			      &p->filter, err);
}
