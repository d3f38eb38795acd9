/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries the restrictions that the payload process puts on itself, and checks that they are
 * effective.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/caps.h"
#include "kernel/landlock.h"
#include "kernel/probe/probe_internal.h"
#include "kernel/sys.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* The call that the filters refuse, and an errno that it never returns by itself. */
#define REFUSED       SYS_getppid
#define REFUSED_ERRNO EXDEV
#define HEAR_MS       1000

int probe_caps(const struct probe_attempt *attempt, struct probe_note *note)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct left[2];
	int r = probe_step(note, "drop the capabilities", caps_drop_all());

	(void)attempt;
	if (r < 0) {
		return r;
	}
	if (syscall(SYS_capget, &header, left) < 0) {
		return probe_step(note, "capget", -errno);
	}
	bool any = left[0].permitted || left[1].permitted || left[0].effective || left[1].effective;
	return probe_step(note, "capabilities are left", any ? -EPERM : 0);
}

int probe_nnp(const struct probe_attempt *attempt, struct probe_note *note)
{
	(void)attempt;
	return probe_step(note, "no_new_privs",
			  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0);
}

int probe_landlock(const struct probe_attempt *attempt, struct probe_note *note)
{
	struct landlock_place places[] = { { .path = "/" }, { .path = "/dev", .device = true } };
	int abi = sys_landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	int r = probe_step(note, "landlock_create_ruleset", abi < 0 ? abi : 0);

	if (r < 0) {
		return r;
	}
	note->values[0] = abi;
	r = probe_nnp(attempt, note);
	if (r < 0) {
		return r;
	}
	r = probe_step(note, "landlock_restrict_self",
		       landlock_enforce(abi, places, ARRAY_SIZE(places)));
	if (r < 0) {
		return r;
	}
	/* A file without a name: if it were made, nothing would be left of it. */
	_cleanup_close_ int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return probe_step(note, "the rules are not enforced", fd >= 0 ? -ENOLCK : 0);
}

static int set_filter(unsigned action, unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, REFUSED, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ARRAY_SIZE(code), .filter = code };

	return sys_seccomp(SECCOMP_SET_MODE_FILTER, flags, &program);
}

static bool refused(void)
{
	return syscall(REFUSED) < 0 && errno == REFUSED_ERRNO;
}

int probe_seccomp(const struct probe_attempt *attempt, struct probe_note *note)
{
	int r = probe_nnp(attempt, note);

	if (r < 0) {
		return r;
	}
	r = probe_step(note, "seccomp", set_filter(SECCOMP_RET_ERRNO | REFUSED_ERRNO, 0));
	return r < 0 ? r : probe_step(note, "the filter has no effect", refused() ? 0 : -ENOLCK);
}

/* Receives one refused call, and answers it. */
static int receive(struct probe_note *note, int listener)
{
	struct seccomp_notif call = { 0 };
	struct seccomp_notif_resp answer = { .error = -REFUSED_ERRNO };
	struct pollfd ready = { .fd = listener, .events = POLLIN };

	if (poll(&ready, 1, HEAR_MS) != 1) {
		return probe_step(note, "no notification came", -ETIMEDOUT);
	}
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0) {
		return probe_step(note, "receive the notification", -errno);
	}
	answer.id = call.id;
	return probe_step(note, "answer the notification",
			  ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0 ? -errno : 0);
}

/* Only the receiver may hold the listener: when it dies the call must return, not wait. */
static _Noreturn void make_refused_call(int listener)
{
	close(listener);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	_exit(refused() ? 0 : 1);
}

int probe_notify(const struct probe_attempt *attempt, struct probe_note *note)
{
	unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	siginfo_t ended = { 0 };
	int r = probe_nnp(attempt, note);

	if (r < 0) {
		return r;
	}
	/* Since Linux 5.19; older kernels refuse unknown flags with EINVAL. */
	r = set_filter(SECCOMP_RET_USER_NOTIF, flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
	note->values[0] = r >= 0;
	if (r == -EINVAL) {
		r = set_filter(SECCOMP_RET_USER_NOTIF, flags);
	}
	_cleanup_close_ int listener = probe_step(note, "seccomp with a listener", r);
	if (listener < 0) {
		return listener;
	}
	int pid = sys_result(syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL));
	if (pid == 0) {
		make_refused_call(listener);
	}
	r = pid < 0 ? probe_step(note, "clone", pid) : receive(note, listener);
	if (r < 0) {
		return r;
	}
	if (waitid(P_PID, (id_t)pid, &ended, WEXITED) < 0) {
		return probe_step(note, "waitid", -errno);
	}
	return probe_step(note, "the answer did not arrive", ended.si_status == 0 ? 0 : -EPROTO);
}

int probe_keyring(const struct probe_attempt *attempt, struct probe_note *note)
{
	int r = probe_step(note, "keyctl", sys_keyctl_join_session());

	(void)attempt;
	/* A kernel without keyrings has none to share. */
	note->values[0] = r == -ENOSYS;
	return r < 0 && r != -ENOSYS ? r : 0;
}
