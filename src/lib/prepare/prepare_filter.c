/* SPDX-License-Identifier: Apache-2.0 */
/* The system-call filter of a cell: the policy's, tightened where a layer is missing. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "lib/prepare/prepare.h"
#include "native/calls/done_call.h"

/*
 * Memory that is in the figures of no process: only a control group counts it. Without one these
 * calls are denied, or the limit on memory would have no effect.
 */
static const char *const unseen_memory[] = { "memfd_create", "shmget", "semget", "msgget",
					     "mq_open" };

/* Denies these calls even if the policy allows them. A rule that denies or kills stays as it is. */
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
			rule->reason = "without a memory control group such memory is not counted";
			rule->remedy =
				"Give brig control groups that limit memory (see brig doctor): "
				"with them the policy decides.";
		}
	}
}

/*
 * Operations that a program starts with these calls continue while it sleeps, until it dies; a
 * lease delays the process that reads its files. The built-in lists refuse them all.
 */
static const struct {
	unsigned call;
	uint64_t args[6];
} lasting[] = {
	{ SYS_io_submit, { 0 } },
	{ SYS_io_uring_setup, { 0 } },
	{ SYS_io_uring_enter, { 0 } },
	{ SYS_fcntl, { 0, F_SETLEASE, F_WRLCK } },
};

/* Can the program itself report that it is done? See native/calls/done_call.h. */
static bool parks(const struct filter *filter)
{
	static const uint64_t done[6] = { 0, DONE_CALL_MAGIC };

	for (size_t i = 0; i < ARRAY_SIZE(lasting); i++) {
		if (filter_decide(filter, AUDIT_ARCH_X86_64, lasting[i].call, lasting[i].args)
			    .action == FILTER_ALLOW) {
			return false;
		}
	}
	/* A policy may kill for this call: then it must not be made at all. */
	return filter_decide(filter, AUDIT_ARCH_X86_64, SYS_sysinfo, done).action == FILTER_DENY;
}

/*
 * If two filters want to notify a listener, the newer one notifies its own; and a process can have
 * only one listener. So ours is kept where a program may install another filter.
 */
static bool may_listen(const struct filter *filter)
{
	static const uint64_t own[6] = { SECCOMP_SET_MODE_FILTER,
					 SECCOMP_FILTER_FLAG_NEW_LISTENER };

	return filter_decide(filter, AUDIT_ARCH_X86_64, SYS_seccomp, own).action == FILTER_ALLOW;
}

/* A compiler is the operator's own program: it is not monitored. */
static int take_monitor(struct prepared *p)
{
	const struct policy_monitor *policy = &p->policy->monitor;

	monitor_done(&p->monitor); /* set before, if a layer was removed since */
	if (monitor_init(&p->monitor, &policy->files) < 0) {
		return -ENOMEM;
	}
	p->monitor.may_wait = p->mounts_count > 0;
	p->monitor.on = p->purpose != PURPOSE_COMPILE && policy->calls.count + policy->files.count;
	for (size_t i = 0; i < policy->calls.count; i++) {
		call_set_add(&p->monitor.calls, (unsigned)syscall_number(policy->calls.items[i]));
	}
	return 0;
}

/* Marks the watched calls. The marks do not change what the filter allows. */
static int watch_calls(struct prepared *p, bool notify, struct brig_error *err)
{
	struct call_set calls = { 0 };

	if (take_monitor(p) < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for monitor.files");
	}
	if (!p->monitor.on && (!p->watch || (!notify && !p->watch->needed))) {
		return 0;
	}
	if (!notify || p->policy->filter.count == 0) {
		int r = error_set(err, BRIG_E_HOST, ENOTSUP,
				  "system calls can be watched only behind a filter with the "
				  "layer notify, and this run has none");
		error_remedy(err, "use a policy that has syscalls, on a host where brig doctor "
				  "shows notify; or one without monitor.calls and monitor.files");
		return r;
	}
	if (p->watch) {
		calls = p->watch->calls;
	}
	if (p->monitor.on) {
		monitor_calls(&p->monitor, &calls);
	}
	return filter_watch(&p->policy->filter, &calls, err);
}

/* Replaces the policy's filter by one of these entries. */
static int use_entries(struct prepared *p, const struct strlist *entries, struct brig_error *err)
{
	struct filter filter = { 0 };
	int r = syscalls_resolve(entries, &filter, err);

	if (r < 0) {
		return r;
	}
	filter_done(&p->policy->filter);
	p->policy->filter = filter;
	return 0;
}

/* In front of the policy's own groups, which have no rules for terminals. */
static int add_terminal(struct prepared *p, struct brig_error *err)
{
	_cleanup_(strlist_done)
	struct strlist wanted = { 0 };
	int r = strlist_add(&wanted, "@terminal");

	for (size_t i = 0; r == 0 && i < p->policy->syscalls.count; i++) {
		r = strlist_add(&wanted, p->policy->syscalls.items[i]);
	}
	return r < 0 ? error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the filter")
		     : use_entries(p, &wanted, err);
}

/* The program makes no system calls: only the engine does, and needs few. */
static int use_engine_list(struct prepared *p, struct brig_error *err)
{
	_cleanup_(strlist_done)
	struct strlist wanted = { 0 };

	return strlist_add(&wanted, "@wasm") < 0
		       ? error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the filter")
		       : use_entries(p, &wanted, err);
}

int prepare_terminal(struct prepared *p, struct brig_error *err)
{
	if (!p->policy->terminal) {
		int r = error_set(err, BRIG_E_POLICY, EACCES, "policy %s does not allow a terminal",
				  p->policy->name);
		error_remedy(err, "leave -it out, or set \"terminal\": true in the policy");
		return r;
	}
	if (!provider_can(p->spec.provider, ABILITY_TERMINAL)) {
		int r = error_set(err, BRIG_E_POLICY, ENOTSUP, "provider %s has no terminal",
				  p->spec.provider->name);
		error_remedy(err, "leave -it out, or " PROVIDER_REMEDY);
		return r;
	}
	p->terminal = true;
	return 0;
}

int prepare_filter(struct prepared *p, struct brig_error *err)
{
	bool notify = (p->spec.layers & LAYER_BIT(LAYER_NOTIFY)) != 0;

	int r = prepare_is_wasm(p)                           ? use_engine_list(p, err)
		: p->terminal && p->policy->filter.count > 0 ? add_terminal(p, err)
							     : 0;
	if (r < 0) {
		return r;
	}
	if (p->spec.watch_memory) {
		tighten(&p->policy->filter);
	}
	r = watch_calls(p, notify, err);
	if (r < 0 || p->policy->filter.count == 0) {
		return r;
	}
	p->spec.parks = notify && parks(&p->policy->filter);
	p->spec.keeps_listener = notify && may_listen(&p->policy->filter);
	bpf_program_done(&p->filter);
	return filter_compile(&p->policy->filter, notify, &p->filter, err);
}
