/* SPDX-License-Identifier: Apache-2.0 */
/* Refused system calls: see denials.h. */
#include "native/calls/denials.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/cleanup.h"

void denials_done(struct denials *denials)
{
	close_fd(&denials->listener);
}

static bool is_waiting(const struct denials *denials, uint64_t id)
{
	return ioctl(denials->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

bool denials_is_asleep(const struct denials *denials)
{
	return denials->done_pid > 0 && is_waiting(denials, denials->done_id);
}

/*
 * sysinfo(2) shows the host's load, memory and uptime. Programs (Java, node) use it to find the
 * amount of memory, so they get the cell's own. The bytes are written into the caller's memory
 * through an fd that is opened first and used only if the call is still waiting; an invalid pointer
 * gives EFAULT.
 */
static int answer_sysinfo(const struct denials *denials, const struct seccomp_notif *call)
{
	char path[32];
	struct sysinfo info = {
		.uptime = 1,
		.totalram = denials->spec->limits.memory_bytes,
		.freeram = denials->spec->limits.memory_bytes,
		.procs = 1,
		.mem_unit = 1,
	};

	snprintf(path, sizeof(path), "/proc/%u/mem", call->pid);
	_cleanup_close_ int mem = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (mem < 0) {
		return ENOSYS;
	}
	if (!is_waiting(denials, call->id)) {
		return ENOSYS;
	}
	ssize_t n = pwrite(mem, &info, sizeof(info), (off_t)call->data.args[0]);
	return n == (ssize_t)sizeof(info) ? 0 : EFAULT;
}

static void record_denial(struct denials *denials, const struct seccomp_notif *call,
			  const struct filter_decision *decision)
{
	struct brig_denial *first = &denials->first;
	unsigned number = (unsigned)call->data.nr;
	uint64_t args[6];

	if (!denials->any) {
		const char *name = syscall_name(number);
		denials->any = true;
		memcpy(args, call->data.args, sizeof(args));
		snprintf(first->call, sizeof(first->call), "%s", name ? name : "unknown");
		syscall_describe(number, args, first->meaning, sizeof(first->meaning));
		snprintf(first->reason, sizeof(first->reason), "%s",
			 decision->rule ? decision->rule->reason : "not on the policy's list");
		denials->remedy = decision->rule ? decision->rule->remedy : NULL;
	}
	first->count++;
}

static void report_call(const struct denials *denials, const struct seccomp_notif *notif,
			const struct filter_decision *decision)
{
	struct watched_call call = { .pid = (pid_t)notif->pid,
				     .number = (unsigned)notif->data.nr,
				     .decision = *decision,
				     .listener = denials->listener,
				     .id = notif->id };

	memcpy(call.args, notif->data.args, sizeof(call.args));
	if (denials->watch && denials->watch->on_call) {
		denials->watch->on_call(denials->watch->user, &call);
	}
	if (denials->noted) {
		denials->noted(denials->noted_user, &call);
	}
}

/*
 * Before Linux 6.11 NOTIF_RECV waits forever when there is no call, also when the last process
 * under the filter is gone; and epoll always reports that hang-up, whatever the mask is.
 */
static short poll_listener(const struct denials *denials)
{
	struct pollfd state = { .fd = denials->listener, .events = POLLIN };

	return poll(&state, 1, 0) == 1 ? state.revents : 0;
}

static int send_answer(const struct denials *denials, struct seccomp_notif_resp *answer)
{
	while (ioctl(denials->listener, SECCOMP_IOCTL_NOTIF_SEND, answer) < 0) {
		if (errno != EINTR) {
			return errno == ENOENT ? 0 : -errno; /* ENOENT: it was killed meanwhile */
		}
	}
	return 0;
}

bool denials_dismiss(struct denials *denials)
{
	struct seccomp_notif_resp answer = { .id = denials->done_id, .error = -ENOSYS };

	denials->done = false;
	return send_answer(denials, &answer) == 0;
}

static void count_answer(struct denials *denials)
{
	denials->pause_due = denials->answered >= SYSINFO_ANSWERS_MAX;
	denials->answered += !denials->pause_due;
}

/* Sends no answer yet: the caller sleeps until it is dismissed or killed. */
static bool take_done(struct denials *denials, const struct seccomp_notif *call, int status)
{
	if (denials->done_count >= DONE_CHECKS_MAX) {
		count_answer(denials);
	}
	denials->done = true;
	denials->done_id = call->id;
	denials->done_pid = (pid_t)call->pid;
	denials->done_status = status;
	return denials->parks && denials->done_count++ < DONE_CHECKS_MAX ? true
									 : denials_dismiss(denials);
}

bool denials_receive(struct denials *denials)
{
	struct seccomp_notif call = { 0 };
	struct seccomp_notif_resp answer = { 0 };
	short state = poll_listener(denials);
	uint64_t args[6];
	int status;

	if (!(state & POLLIN)) {
		return !(state & (POLLHUP | POLLERR | POLLNVAL));
	}
	if (ioctl(denials->listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0) {
		/*
		 * ENOENT: the caller was killed meanwhile; other errors: the listener is unusable
		 */
		return errno == ENOENT || errno == EINTR;
	}
	memcpy(args, call.data.args, sizeof(args));
	struct filter_decision decision =
		filter_decide(denials->filter, call.data.arch, (uint32_t)call.data.nr, args);
	report_call(denials, &call, &decision);
	answer.id = call.id;
	if (decision.rule && decision.rule->watch) {
		/* As the compiled filter would have decided, on the same values. */
		denials->watched++;
		if (decision.action == FILTER_ALLOW) {
			answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		} else {
			answer.error = -(int)decision.errnum;
		}
		return send_answer(denials, &answer) == 0;
	}
	answer.error = decision.errnum ? -(int)decision.errnum : -EPERM;
	if (call.data.nr == SYS_sysinfo && done_call_is(args, &status)) {
		return take_done(denials, &call, status);
	}
	if (call.data.nr == SYS_sysinfo) {
		count_answer(denials);
		answer.error = -answer_sysinfo(denials, &call);
		return send_answer(denials, &answer) == 0;
	}
	record_denial(denials, &call, &decision);
	/*
	 * A caller that cannot be answered must not wait: without the listener its call fails at
	 * once.
	 */
	if (send_answer(denials, &answer) < 0) {
		return false;
	}
	return ++denials->received < DENIALS_RECEIVED_MAX || denials->watch || denials->monitor ||
	       denials->spec->keeps_listener;
}
