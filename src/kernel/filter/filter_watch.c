/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches calls that a filter allows, or answers without a record: they wait for the listener,
 * which reports them, and answers as the filter would have, or lets them continue
 * (SECCOMP_USER_NOTIF_FLAG_CONTINUE, since Linux 5.5).
 *
 * The manual, seccomp_unotify(2), warns of that flag: the memory behind a pointer may change
 * between the check and the call. Here nothing depends on such memory. The listener calls
 * filter_decide(), with the same register values that the compiled program would have seen; they
 * cannot change while the call waits (a tracer could change them, and no tracer is allowed), and no
 * byte of the caller's memory matters. So a watched filter allows exactly what the same filter
 * allows unwatched. Other reads of the caller's memory are for the record only, and the record may
 * be deceived.
 *
 * It is not invisible, though. Each call costs two switches to the listener and back; and a signal
 * whose handler is set without SA_RESTART, in the moment before the listener has received the call,
 * makes it fail with EINTR, also calls that otherwise never do. After that moment only a kill wakes
 * it, since Linux 5.19 (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV).
 */
#include <errno.h>

#include "base/cleanup.h"
#include "kernel/filter/filter.h"

/*
 * write: it sends the listener's number, before there is a listener. The others must not return
 * EINTR, as a call that waits for the listener can: no program expects that. Every program makes
 * them, so there is nothing to learn.
 */
static const char *const never_watched[] = { "write", "exit", "exit_group", "rt_sigreturn",
					     "restart_syscall" };

/* They can change a process that waits, or take the listener from its holder. */
static const char *const never_combined[] = { "ptrace", "process_vm_writev", "pidfd_getfd" };

static bool is_among(unsigned call, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (syscall_number(names[i]) == (int)call) {
			return true;
		}
	}
	return false;
}

void call_set_fill(struct call_set *set)
{
	for (size_t i = 0; i < ARRAY_SIZE(set->bits); i++) {
		set->bits[i] = UINT64_MAX;
	}
}

void call_set_add(struct call_set *set, unsigned call)
{
	if (call < FILTER_CALLS_MAX) {
		set->bits[call / 64] |= UINT64_C(1) << call % 64;
	}
}

bool call_set_has(const struct call_set *set, unsigned call)
{
	return call < FILTER_CALLS_MAX && (set->bits[call / 64] >> call % 64 & 1);
}

int filter_watch(struct filter *filter, const struct call_set *calls, struct brig_error *err)
{
	for (unsigned i = 0; i < filter->count; i++) {
		const struct filter_rule *rule = &filter->rules[i];

		if (rule->action == FILTER_ALLOW &&
		    is_among(rule->call, never_combined, ARRAY_SIZE(never_combined))) {
			int r = error_set(err, BRIG_E_POLICY, EINVAL,
					  "system calls cannot be watched where %s is allowed: by "
					  "it a program could change a call that waits",
					  syscall_name(rule->call));
			error_remedy(err, "take %s out of the policy's syscalls, or do not watch",
				     syscall_name(rule->call));
			return r;
		}
	}
	for (unsigned i = 0; i < filter->count; i++) {
		struct filter_rule *rule = &filter->rules[i];

		/* A refused call is reported anyway; a killed process does not wait. */
		rule->watch = (rule->action == FILTER_ALLOW || rule->action == FILTER_ERRNO) &&
			      call_set_has(calls, rule->call) &&
			      !is_among(rule->call, never_watched, ARRAY_SIZE(never_watched));
	}
	return 0;
}
