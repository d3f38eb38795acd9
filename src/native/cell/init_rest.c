/* SPDX-License-Identifier: Apache-2.0 */
/* brig-init once the payload process exists: see init_rest.h. */
#include "native/cell/init_rest.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "kernel/sys.h"

/* The kernel's own, which has 64 bits; sigset_t has more. */
#define KERNEL_SIGSET_BYTES 8

/* With pid 1 the kernel kills all other processes in the namespace (pid_namespaces(7)). */
static _Noreturn void end_cell(int status)
{
	for (;;) {
		sys_raw(SYS_exit_group, status, 0, 0);
	}
}

/* `control`: of the message, NULL for none. */
static int send_record(const struct init_rest *rest, const struct wire_record *record,
		       void *control, size_t control_size)
{
	struct iovec part = { (void *)(uintptr_t)record, sizeof(*record) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = control_size };
	long n;

	do {
		n = sys_raw(SYS_sendmsg, rest->control, (long)&message, MSG_NOSIGNAL);
	} while (n == -EINTR);
	return n < 0 ? (int)n : n == (long)sizeof(*record) ? 0 : -EIO;
}

static int send_plain(const struct init_rest *rest, const struct wire_record *record)
{
	return send_record(rest, record, NULL, 0);
}

static void send_pidfd(const struct init_rest *rest, int pidfd)
{
	const struct wire_record record = { .kind = WIRE_PROGRAM };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };

	*(int *)(void *)CMSG_DATA(&control.head) = pidfd;
	send_record(rest, &record, control.bytes, sizeof(control.bytes));
}

_Noreturn void init_rest_die(const struct init_rest *rest, unsigned step, int errnum)
{
	const struct wire_record record = { .kind = WIRE_FAILED, .value = step, .errnum = errnum };

	send_plain(rest, &record);
	end_cell(125);
}

static long wait_for(struct pollfd *ready, unsigned count)
{
	long n;

	do {
		n = sys_raw5(SYS_ppoll, (long)ready, count, 0, 0, 0);
	} while (n == -EINTR);
	return n;
}

int init_rest_report(const struct init_rest *rest, enum payload_report_state *state,
		     struct payload_report *report)
{
	struct pollfd ready[3] = {
		{ .fd = rest->reports, .events = POLLIN },
		{ .fd = rest->control, .events = POLLIN },
		{ .fd = rest->payload_pidfd, .events = POLLIN },
	};
	long r = wait_for(ready, ARRAY_SIZE(ready));

	if (r < 0) {
		return (int)r;
	}
	if (!ready[0].revents) {
		/* The warden is gone, or the payload without a report. */
		return ready[1].revents ? -ECANCELED : -ECHILD;
	}
	r = payload_report_read(rest->reports, report);
	if (r != 1) {
		return (int)r;
	}
	r = payload_report_check(state, report, rest->steps);
	if (r == 0 && report->kind == PAYLOAD_REPORT_FAILED) {
		init_rest_die(rest, report->value, report->errnum);
	}
	return r < 0 ? (int)r : 1;
}

int init_rest_hold(const struct init_rest *rest)
{
	const struct wire_record record = { .kind = WIRE_HELD };
	struct sched_param same = { 0 };

	/*
	 * Passing on the status, and dying, is not urgent: with this policy brig-init waits until
	 * the warden and the program sleep, rather than interrupt them.
	 */
	sys_raw(SYS_sched_setscheduler, 0, SCHED_BATCH, (long)&same);
	return send_plain(rest, &record);
}

int init_rest_start(const struct init_rest *rest)
{
	enum payload_report_state state = PAYLOAD_REPORTS_READY;
	struct payload_report report = { 0 };
	int r = init_rest_report(rest, &state, &report);

	if (r == 1) {
		return -EPROTO; /* only a failure can follow, which does not return */
	}
	/* A death right after exec is an ordinary end, which is reported as such. */
	return r == -ECHILD ? 0 : r;
}

static long wait_child(siginfo_t *info, int options)
{
	long r;

	do {
		info->si_pid = 0;
		r = sys_raw5(SYS_waitid, P_ALL, 0, (long)info, WEXITED | WNOHANG | options, 0);
	} while (r == -EINTR);
	return r;
}

/* True: the program itself has ended; *ended has its status. */
static bool reap_children(const struct init_rest *rest, siginfo_t *ended)
{
	for (;;) {
		/* The program is our child: without waitid its end would go unnoticed. */
		if (wait_child(ended, 0) < 0) {
			end_cell(125);
		}
		if (ended->si_pid == 0) {
			return false;
		}
		if (ended->si_pid == rest->payload) {
			return true;
		}
	}
}

/*
 * The warden requests a pidfd of the program; any other message means that the cell must end.
 * Descriptors that come with it are dropped by the kernel: there is no room for them.
 */
static bool answer_warden(const struct init_rest *rest)
{
	struct wire_record record = { 0 };
	struct iovec part = { &record, sizeof(record) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	long n;

	do {
		n = sys_raw(SYS_recvmsg, rest->control, (long)&message, MSG_DONTWAIT);
	} while (n == -EINTR);
	if (n != (long)sizeof(record) || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ||
	    record.kind != WIRE_GET_PROGRAM) {
		return false;
	}
	long pidfd = sys_raw(SYS_pidfd_open, rest->payload, 0, 0);
	if (pidfd >= 0) {
		send_pidfd(rest, (int)pidfd);
		sys_raw(SYS_close, pidfd, 0, 0);
	}
	return true;
}

static void wait_for_program(const struct init_rest *rest, siginfo_t *ended)
{
	const uint64_t children = 1ull << (SIGCHLD - 1);
	struct signalfd_siginfo drain;
	/*
	 * Blocked since before the clone; set again, because without it no death would be noticed.
	 */
	long r =
		sys_raw5(SYS_rt_sigprocmask, SIG_BLOCK, (long)&children, 0, KERNEL_SIGSET_BYTES, 0);
	long signals = r < 0 ? r
			     : sys_raw5(SYS_signalfd4, -1, (long)&children, KERNEL_SIGSET_BYTES,
					SFD_CLOEXEC | SFD_NONBLOCK, 0);

	if (signals < 0) {
		init_rest_die(rest, rest->failed, (int)-signals);
	}
	/* Checked before the first sleep: the program may have ended already. */
	while (!reap_children(rest, ended)) {
		struct pollfd ready[2] = {
			{ .fd = (int)signals, .events = POLLIN },
			{ .fd = rest->control, .events = POLLIN },
		};
		if (wait_for(ready, ARRAY_SIZE(ready)) < 0) {
			end_cell(125);
		}
		while (sys_raw(SYS_read, signals, (long)&drain, sizeof(drain)) > 0) {
		}
		if (ready[1].revents && !answer_warden(rest)) {
			end_cell(125); /* the warden is gone, or ends the cell */
		}
	}
}

/*
 * A process that loses its parent becomes our child: without children no other process is left.
 * Then the warden need not wait until this process is gone too, with all its namespaces.
 */
static bool is_alone(void)
{
	siginfo_t info;
	long r;

	do {
		r = wait_child(&info, __WALL);
	} while (r == 0 && info.si_pid != 0);
	return r == -ECHILD;
}

static uint64_t children_cpu_ns(void)
{
	struct rusage used = { 0 };

	sys_raw(SYS_getrusage, RUSAGE_CHILDREN, (long)&used, 0);
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
}

_Noreturn void init_rest_run(const struct init_rest *rest)
{
	struct wire_record record = { .kind = WIRE_STARTED };
	siginfo_t ended;

	send_plain(rest, &record);
	wait_for_program(rest, &ended);
	record = (struct wire_record){
		.kind = WIRE_EXITED,
		.value = (uint32_t)ended.si_code | (is_alone() ? WIRE_ALONE : 0),
		.status = ended.si_status,
		.cpu_ns = children_cpu_ns(),
	};
	send_plain(rest, &record);
	/* With pid 1 the kernel kills and reaps all processes left in the namespace. */
	end_cell(0);
}
