/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program and makes one system call of one of its processes fail.
 *
 * usage: inject REPORT ROLE INDEX ERRNO COMMAND...
 *
 * ROLE is the process, by order of birth (0 the command itself, 1 its first child, ...), INDEX
 * counts that process's calls from its start; ROLE -1 makes nothing fail and lists all calls. The
 * call is not carried out: it returns ERRNO (a number). Unlike strace's injection this affects one
 * call of one process, so an early failure in one process never hides a later one in another.
 *
 * REPORT gets lines: "call ROLE INDEX NUMBER" (listing), "injected NUMBER", "left ROLE NUMBER" for
 * each process still there a while after the command ended (with its last call), "hung ROLE NUMBER"
 * likewise when the command did not end, and last "status HEX", the wait status of the command.
 *
 * A process that has replaced itself by another program does not count any more: it is the payload.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES_MAX 64
#define PATIENCE_S    10.0 /* for the command to end */
#define AFTERMATH_S   2.0  /* for its processes to be gone after that */
#define OPTIONS                                                                                    \
	(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC |     \
	 PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL)

struct process {
	pid_t pid;
	bool gone; /* a birth can be reported after the death */
	long calls;
	long long last;
	bool is_program; /* has executed the payload */
};

struct tracing {
	FILE *report;
	struct process processes[PROCESSES_MAX];
	int count;
	int role;
	long index;
	int errnum;
	int status; /* of the command; -1: not ended */
};

/*
 * Calls that are not made to fail: those that work whatever they return (close, munmap), those that
 * cannot fail (umask; brk returns the old end), exits, and returns from handlers. rseq is a call of
 * the C library alone, at the start of a thread: where it has worked for the first thread, the
 * library aborts if it fails for another.
 */
static const int untouched[] = {
	SYS_close,      SYS_munmap,          SYS_brk,    SYS_umask,   SYS_exit,
	SYS_exit_group, SYS_rt_sigreturn,    SYS_getpid, SYS_getppid, SYS_gettid,
	SYS_getuid,     SYS_geteuid,         SYS_getgid, SYS_getegid, SYS_clock_gettime,
	SYS_futex,      SYS_restart_syscall, SYS_rseq,
};
#define UNTOUCHED (sizeof(untouched) / sizeof(untouched[0]))

static void trace_calls(void)
{
	struct sock_filter code[UNTOUCHED + 3];
	struct sock_fprog program = { .len = UNTOUCHED + 3, .filter = code };

	code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < UNTOUCHED; i++) {
		code[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							   (unsigned)untouched[i],
							   (unsigned char)(UNTOUCHED - i), 0);
	}
	code[UNTOUCHED + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
	code[UNTOUCHED + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	/* Without privilege a filter needs no_new_privs; with it brig has to set that itself. */
	if (geteuid() != 0) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	}
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) {
		perror("inject: seccomp");
		_exit(99);
	}
}

static struct process *find(struct tracing *t, pid_t pid)
{
	for (int i = 0; i < t->count; i++) {
		if (t->processes[i].pid == pid) {
			return &t->processes[i];
		}
	}
	if (t->count == PROCESSES_MAX) {
		fprintf(stderr, "inject: too many processes\n");
		exit(99);
	}
	t->processes[t->count] = (struct process){ .pid = pid, .last = -1 };
	return &t->processes[t->count++];
}

static void on_call(struct tracing *t, struct process *process)
{
	struct user_regs_struct regs;
	int role = (int)(process - t->processes);

	if (ptrace(PTRACE_GETREGS, process->pid, NULL, &regs) < 0) {
		return;
	}
	process->last = (long long)regs.orig_rax;
	if (process->is_program) {
		return;
	}
	if (t->role < 0) {
		fprintf(t->report, "call %d %ld %lld\n", role, process->calls, process->last);
	}
	if (process->calls++ == t->index && role == t->role) {
		fprintf(t->report, "injected %lld\n", process->last);
		regs.orig_rax = (unsigned long long)-1;
		regs.rax = (unsigned long long)-t->errnum;
		ptrace(PTRACE_SETREGS, process->pid, NULL, &regs);
	}
}

/* The command's own exec starts its count; any other makes a payload. */
static void on_exec(struct tracing *t, struct process *process)
{
	if (process == &t->processes[0] && !process->is_program && process->calls == 1) {
		process->calls = 0;
	} else {
		process->is_program = true;
	}
}

static void on_stop(struct tracing *t, pid_t pid, int status)
{
	struct process *process = find(t, pid);
	int event = status >> 16;
	int signal = WSTOPSIG(status);

	switch (event) {
	case 0:
		ptrace(PTRACE_CONT, pid, NULL, signal);
		return;
	case PTRACE_EVENT_SECCOMP:
		on_call(t, process);
		break;
	case PTRACE_EVENT_EXEC:
		on_exec(t, process);
		break;
	case PTRACE_EVENT_STOP:
		if (signal != SIGTRAP) {
			ptrace(PTRACE_LISTEN, pid, NULL, NULL);
			return;
		}
		break;
	default: { /* a birth: roles are numbered in this order */
		unsigned long child = 0;
		if (ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child) == 0 && child) {
			find(t, (pid_t)child);
		}
	}
	}
	ptrace(PTRACE_CONT, pid, NULL, NULL);
}

/* False: no event for now. */
static bool hear(struct tracing *t)
{
	int status;
	pid_t pid = waitpid(-1, &status, __WALL | WNOHANG);

	if (pid <= 0) {
		return false;
	}
	if (WIFSTOPPED(status)) {
		on_stop(t, pid, status);
		return true;
	}
	struct process *process = find(t, pid);
	process->gone = true;
	if (process == &t->processes[0]) {
		t->status = status;
	}
	return true;
}

static int living(const struct tracing *t)
{
	int n = 0;

	for (int i = 0; i < t->count; i++) {
		n += !t->processes[i].gone;
	}
	return n;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void name_living(struct tracing *t, const char *word)
{
	for (int i = 0; i < t->count; i++) {
		if (!t->processes[i].gone) {
			fprintf(t->report, "%s %d %lld\n", word, i, t->processes[i].last);
		}
	}
}

static void trace(struct tracing *t, int children)
{
	double deadline = now() + PATIENCE_S;
	bool ended = false;

	while (living(t)) {
		struct pollfd news = { .fd = children, .events = POLLIN };
		struct signalfd_siginfo drain;
		if (!ended && t->status >= 0) {
			ended = true;
			deadline = now() + AFTERMATH_S;
		}
		if (hear(t)) {
			continue;
		}
		if (now() > deadline) {
			name_living(t, ended ? "left" : "hung");
			return;
		}
		poll(&news, 1, 50);
		while (read(children, &drain, sizeof(drain)) > 0) {
		}
	}
}

int main(int argc, char **argv)
{
	struct tracing t = { .status = -1 };
	sigset_t mask, before;

	if (argc < 6) {
		fprintf(stderr, "usage: inject REPORT ROLE INDEX ERRNO COMMAND...\n");
		return 99;
	}
	t.report = fopen(argv[1], "we");
	t.role = atoi(argv[2]);
	t.index = atol(argv[3]);
	t.errnum = atoi(argv[4]);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, &before);
	int children = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	pid_t pid = fork();
	if (!t.report || children < 0 || pid < 0) {
		perror("inject");
		return 99;
	}
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		raise(SIGSTOP);
		trace_calls();
		execv(argv[5], argv + 5);
		perror(argv[5]);
		_exit(99);
	}
	int status;
	if (waitpid(pid, &status, WUNTRACED) != pid ||
	    ptrace(PTRACE_SEIZE, pid, NULL, OPTIONS) < 0) {
		perror("inject: seize");
		return 99;
	}
	find(&t, pid);
	kill(pid, SIGCONT);
	trace(&t, children);
	fprintf(t.report, "status %x\n", (unsigned)t.status);
	fclose(t.report);
	return 0; /* remaining processes die with this one */
}
