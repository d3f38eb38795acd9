/* SPDX-License-Identifier: Apache-2.0 */
/* Keepers: see keeper.h. After the clone only async-signal-safe calls are made. */
#include "native/keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/caps.h"
#include "kernel/proc_write.h"
#include "kernel/sys.h"
#include "native/keeper/template_view.h"
#include "native/messages/wire.h"

#define KEEPER_NAMESPACES (CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)
/* Above all descriptors of the interpreter. */
#define SAFE_FD    32
#define INIT_FD    (3 + KEEPER_FDS)
#define PROGRAM_FD (INIT_FD + 1)

/* The interpreter does not inherit the host program's signal handlers. */
static void forget_signals(void)
{
	struct sigaction ordinary = { .sa_handler = SIG_DFL };

	for (int signal = 1; signal < 65; signal++) {
		sigaction(signal, &ordinary, NULL);
	}
}

static int await_release(int socket)
{
	struct pollfd ready = { .fd = socket, .events = POLLIN };
	struct wire_record record;
	int fds[WIRE_FDS_MAX];
	unsigned count = 0;

	while (poll(&ready, 1, -1) < 0) {
		if (errno != EINTR) {
			return -errno;
		}
	}
	int r = wire_receive(socket, &record, fds, &count);
	return r == 1 && record.kind == WIRE_RELEASE && count == 0 ? 0 : -ECANCELED;
}

/* Pipes, like those of a program in a cell: an interpreter checks the type of its streams. */
static int take_fds(const struct keeper *keeper, int program, int init)
{
	int in[2], out[2], fds[KEEPER_FDS + 4];
	int count = 0;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0) {
		return -errno;
	}
	fds[count++] = in[0];
	fds[count++] = out[1];
	for (int i = 0; i < KEEPER_FDS; i++) {
		fds[count++] = keeper->fds[i];
	}
	fds[count++] = init;
	fds[count++] = program;
	for (int i = 0; i < count; i++) {
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, SAFE_FD);
		if (fds[i] < 0) {
			return -errno;
		}
	}
	/* The reading end stays here, so that output of the interpreter does not raise SIGPIPE. */
	int reader = fcntl(out[0], F_DUPFD_CLOEXEC, SAFE_FD);
	if (reader < 0 || dup2(fds[0], 0) < 0 || dup2(fds[1], 1) < 0 || dup2(fds[1], 2) < 0) {
		return -errno;
	}
	for (int i = 0; i < KEEPER_FDS + 1; i++) {
		if (dup2(fds[i + 2], 3 + i) < 0) {
			return -errno;
		}
	}
	if (syscall(SYS_dup3, fds[count - 1], PROGRAM_FD, O_CLOEXEC) < 0) {
		return -errno;
	}
	int r = sys_close_range(PROGRAM_FD + 1, (unsigned)reader - 1, 0);
	return r < 0 ? r : sys_close_range((unsigned)reader + 1, ~0u, 0);
}

/* Called in the keeper and in the template. */
static int drop_privileges(const struct keeper *keeper)
{
	if (!keeper->ranged) {
		return caps_drop_all();
	}
	if (syscall(SYS_setgroups, 0, NULL) < 0 ||
	    syscall(SYS_setresgid, keeper->id, keeper->id, keeper->id) < 0 ||
	    syscall(SYS_setresuid, keeper->id, keeper->id, keeper->id) < 0) {
		return -errno;
	}
	/*
	 * Explicitly too: securebits (capabilities(7)) can make capabilities survive. With
	 * no_new_privs none is regained.
	 */
	return caps_give_up();
}

static _Noreturn void become_template(const struct keeper *keeper, pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	/* A change of ids clears the signal of the parent's death, so the ids change first. */
	if (drop_privileges(keeper) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
	    getppid() == parent && sigprocmask(SIG_SETMASK, &none, NULL) == 0) {
		syscall(SYS_execveat, PROGRAM_FD, keeper->name, keeper->argv, keeper->envp, 0);
	}
	_exit(127);
}

/* The view and the descriptors of the template. */
static int build_view(const struct keeper *keeper)
{
	int r = await_release(keeper->fds[0]);

	if (r < 0) {
		return r;
	}
	r = template_view_build(keeper->closure);
	if (r < 0) {
		return r;
	}
	int program = template_view_copy_program(keeper->program, keeper->name, true);
	if (program < 0) {
		return program;
	}
	int init = template_view_open_copy(keeper->init, "brig-init");
	return init < 0 ? init : take_fds(keeper, program, init);
}

static _Noreturn void keeper_main(const struct keeper *keeper)
{
	struct rlimit no_core = { 1, 1 };
	siginfo_t info;

	/* Only the warden may have its own end, or its death would go unnoticed. */
	close(keeper->outside);
	forget_signals();
	umask(022);
	if (build_view(keeper) < 0 || setsid() < 0 || chdir("/") < 0 ||
	    setrlimit(RLIMIT_CORE, &no_core) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		_exit(126);
	}
	pid_t self = getpid();
	long pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0) {
		become_template(keeper, self);
	}
	/*
	 * The interpreter's descriptors must close with it: only the reading end of its output
	 * stays.
	 */
	if (drop_privileges(keeper) < 0 || sys_close_range(0, PROGRAM_FD, 0) < 0) {
		_exit(126);
	}
	for (;;) {
		if (waitid(P_ALL, 0, &info, WEXITED | __WALL) < 0 && errno == ECHILD) {
			_exit(0);
		}
	}
}

int keeper_start(const struct keeper *keeper, int *ret_pidfd)
{
	struct clone_args args = {
		.flags = CLONE_PIDFD | KEEPER_NAMESPACES | (keeper->ranged ? 0 : CLONE_NEWUSER),
		.pidfd = (uintptr_t)ret_pidfd,
		.exit_signal = 0,
	};
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	int pid = sys_clone3(&args, sizeof(args));
	if (pid == 0) {
		keeper_main(keeper);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

/*
 * Not 0: since Linux 5.12 (commit db2e718a4798) a process without CAP_SETFCAP there could not map
 * that id into a cell's namespace.
 */
int keeper_map(pid_t pid, uid_t uid, gid_t gid)
{
	char text[64];
	int r = proc_write(pid, "setgroups", "deny");

	if (r < 0) {
		return r;
	}
	snprintf(text, sizeof(text), "%u %u 1\n", KEEPER_ID, (unsigned)uid);
	r = proc_write(pid, "uid_map", text);
	if (r < 0) {
		return r;
	}
	snprintf(text, sizeof(text), "%u %u 1\n", KEEPER_ID, (unsigned)gid);
	return proc_write(pid, "gid_map", text);
}
