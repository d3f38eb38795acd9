/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System-call groups: how their lines are read, what the built-in policies refuse of the threat
 * list (the numbers are its lines), and that what real programs do is not refused.
 */
#include <errno.h>
#include <linux/audit.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four that it needs */
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/embedded.h"
#include "filter_fixture.h"
#include "policy/syscalls.h"

#define HIGH UINT64_C(0xdead00000000)

static struct policy *load(const char *name)
{
	struct policy_source source = { 0 };
	struct policy *policy = NULL;
	struct brig_error err = { 0 };

	if (policy_load(&source, name, &policy, &err) < 0) {
		fail_msg("%s", err.message);
	}
	return policy;
}

static struct filter_decision decide(const struct policy *policy, const char *call,
				     const uint64_t args[6])
{
	int number = syscall_number(call);

	if (number < 0) {
		fail_msg("no call %s", call);
	}
	return filter_decide(&policy->filter, AUDIT_ARCH_X86_64, (uint32_t)number, args);
}

struct refusal {
	const char *threat;
	const char *call;
	uint64_t args[6];
};

static const struct refusal refusals[] = {
	{ "F7", "mount", { 0 } },
	{ "F7", "umount2", { 0 } },
	{ "F7", "fsopen", { 0 } },
	{ "F7", "fsmount", { 0 } },
	{ "F7", "fsconfig", { 0 } },
	{ "F7", "fspick", { 0 } },
	{ "F7", "open_tree", { 0 } },
	{ "F7", "open_tree_attr", { 0 } },
	{ "F7", "move_mount", { 0 } },
	{ "F7", "mount_setattr", { 0 } },
	{ "F8", "open_by_handle_at", { 0 } },
	{ "F8", "name_to_handle_at", { 0 } },
	{ "F13", "chmod", { 0, 04755 } },
	{ "F13", "fchmod", { 0, 02755 } },
	{ "F13", "fchmodat", { 0, 0, HIGH | 06755 } },
	{ "F13", "fchmodat2", { 0, 0, 04000 } },
	{ "F13", "open", { 0, 0101, 04755 } },
	{ "F13", "openat", { 0, 0, 0101, 02755 } },
	{ "F13", "openat", { 0, 0, 020200002, 04755 } },
	{ "F13", "creat", { 0, 04755 } },
	{ "F13", "mkdir", { 0, 02755 } },
	{ "F13", "mkdirat", { 0, 0, 02755 } },
	{ "F13", "mknod", { 0, 0104755 } },
	{ "F13", "mknodat", { 0, 0, 0102755 } },
	{ "D2", "mknod", { 0, 020666, 0x103 } },
	{ "D2", "mknod", { 0, 060666, 0x800 } },
	{ "D2", "mknodat", { 0, 0, 020666, 0x103 } },
	{ "D2", "mknodat", { 0, 0, HIGH | 060666, 0x800 } },
	{ "D2", "renameat2", { 0, 0, 0, 0, 4 } },
	{ "D2", "renameat2", { 0, 0, 0, 0, HIGH | 5 } },
	{ "D5", "ioctl", { 0, 0x40085203 } },
	{ "N3", "ioctl", { 0, 0xb701 } },
	{ "N3", "ioctl", { 0, HIGH | 0xb702 } },
	{ "N4", "setns", { 3, 0 } },
	{ "N4", "setns", { 3, 0x10000000 } },
	{ "N5", "unshare", { 0x10000000 } },
	{ "N5", "clone", { 0x10000011 } },
	{ "N5", "clone", { HIGH | 0x10000011 } },
	{ "N6", "clone", { 0x20000 } },
	{ "N6", "clone", { 0x02000000 } },
	{ "N6", "clone", { 0x04000000 } },
	{ "N6", "clone", { 0x08000000 } },
	{ "N6", "clone", { 0x20000000 } },
	{ "N6", "clone", { 0x40000000 } },
	{ "N6", "unshare", { 0x20000 } },
	{ "N6", "unshare", { 0x80 } },
	{ "N7", "sethostname", { 0 } },
	{ "N7", "setdomainname", { 0 } },
	{ "C5", "setuid", { 0 } },
	{ "C5", "setgid", { 0 } },
	{ "C5", "setreuid", { 0 } },
	{ "C5", "setregid", { 0 } },
	{ "C5", "setresuid", { 0 } },
	{ "C5", "setresgid", { 0 } },
	{ "C5", "setfsuid", { 0 } },
	{ "C5", "setfsgid", { 0 } },
	{ "C5", "setgroups", { 0 } },
	{ "C6", "prctl", { 28 } },
	{ "C6", "prctl", { 47, 2 } },
	{ "S2", "pivot_root", { 0 } },
	{ "S2", "chroot", { 0 } },
	{ "S3", "io_uring_setup", { 0 } },
	{ "S3", "io_uring_enter", { 0 } },
	{ "S3", "io_uring_register", { 0 } },
	{ "S4", "bpf", { 0 } },
	{ "S4", "perf_event_open", { 0 } },
	{ "S4", "userfaultfd", { 0 } },
	{ "S4", "fanotify_init", { 0 } },
	{ "S4", "kexec_load", { 0 } },
	{ "S4", "kexec_file_load", { 0 } },
	{ "S4", "init_module", { 0 } },
	{ "S4", "finit_module", { 0 } },
	{ "S4", "delete_module", { 0 } },
	{ "S4", "swapon", { 0 } },
	{ "S4", "swapoff", { 0 } },
	{ "S4", "reboot", { 0 } },
	{ "S4", "acct", { 0 } },
	{ "S4", "quotactl", { 0 } },
	{ "S4", "quotactl_fd", { 0 } },
	{ "S4", "syslog", { 0 } },
	{ "S4", "iopl", { 0 } },
	{ "S4", "ioperm", { 0 } },
	{ "S4", "clock_settime", { 0 } },
	{ "S4", "clock_adjtime", { 0 } },
	{ "S4", "settimeofday", { 0 } },
	{ "S4", "adjtimex", { 0 } },
	{ "S5", "keyctl", { 0 } },
	{ "S5", "add_key", { 0 } },
	{ "S5", "request_key", { 0 } },
	{ "S6", "socket", { 38, 5, 0 } },
	{ "S6", "socket", { 40, 1, 0 } },
	{ "S6", "socket", { 17, 3, 0 } },
	{ "S6", "socket", { 15, 3, 2 } },
	{ "S6", "socket", { 44, 3, 0 } },
	{ "S6", "socket", { 16, 3, 12 } },
	{ "S6", "socket", { 16, 3, 15 } },
	{ "S6", "socket", { 0, 1, 0 } },
	{ "S6", "socketpair", { 2, 1, 0 } },
	{ "T5", "socket", { 2, 3, 1 } },
	{ "T5", "socket", { 10, 3, 58 } },
	{ "T5", "socket", { 2, 10, 0 } },
	{ "T5", "socket", { 2, 1, 132 } },
	{ "T5", "socket", { 2, 2, 1 } },
	{ "S7", "kcmp", { 0 } },
	{ "S7", "process_vm_readv", { 0 } },
	{ "S7", "process_vm_writev", { 0 } },
	{ "S7", "pidfd_getfd", { 0 } },
	{ "S7", "process_madvise", { 0 } },
	{ "S7", "move_pages", { 0 } },
	{ "S7", "migrate_pages", { 0 } },
	{ "S7", "modify_ldt", { 0 } },
	{ "S7", "personality", { 0x40000 } },
	{ "S10", "ioctl", { 0, 0x5412 } },
	{ "S10", "ioctl", { 0, HIGH | 0x5412 } },
	{ "S10", "ioctl", { 0, 0x541c } },
	{ "S10", "ioctl", { 0, 0x5423 } },
	{ "S10", "ioctl", { 0, HIGH | 0x541d } },
	{ "S12", "setsockopt", { 3, 6, 31 } },
	{ "S12", "setsockopt", { 3, HIGH | 6, HIGH | 31 } },
	{ "S12", "setsockopt", { 3, 0, 35 } },
	{ "S12", "setsockopt", { 3, 0, 42 } },
	{ "S12", "setsockopt", { 3, 41, 20 } },
	{ "S12", "setsockopt", { 3, 0, 64 } },
	{ "S12", "setsockopt", { 3, 41, 64 } },
	{ "S12", "setsockopt", { 3, 282, 1 } },
	{ "S12", "setsockopt", { 3, 1, 26 } },
	{ "S12", "setsockopt", { 3, 1, 50 } },
	{ "X8", "mmap", { 0, 4096, 3, 0x40022 } },
	{ "X8", "memfd_create", { 0, 5 } },
	{ "X8", "shmget", { 0, 4096, 05600 } },
	{ "X16", "prlimit64", { 1, 7, 0x1000 } },
	{ "X16", "prlimit64", { 1, 7, UINT64_C(0x100000000) } },
	{ "X16", "sched_setscheduler", { 0, 1 } },
	{ "X16", "sched_setscheduler", { 0, 2 | 0x40000000 } },
	{ "X16", "sched_setscheduler", { 0, 6 } },
	{ "V2", "ptrace", { 0 } },
	{ "V2", "ptrace", { 16, 1 } },
	{ "V3", "sched_setscheduler", { 1, 0 } },
	{ "V3", "sched_setparam", { 1 } },
	{ "V3", "sched_setattr", { 1 } },
	{ "V3", "sched_setaffinity", { 1 } },
	{ "V3", "setpriority", { 0, 1, 10 } },
	{ "V3", "ioprio_set", { 1, 1, 0 } },
	{ "G4", "seccomp", { 1, 8 } },
	{ "L1", "fcntl", { 3, 1024 } },
	{ "L2", "fcntl", { 3, 1026 } },
	{ "L2", "madvise", { 0, 0, 12 } },
};

/* Refused with an error and recorded, with a reason that can be shown. */
static void assert_refused(const struct policy *policy, const struct refusal *refusal)
{
	struct filter_decision got = decide(policy, refusal->call, refusal->args);

	if (got.action != FILTER_DENY || got.errnum == 0 || !got.rule || !*got.rule->reason) {
		fail_msg("%s in %s: %s(%#llx, %#llx, %#llx) is not refused and recorded",
			 refusal->threat, policy->name, refusal->call,
			 (unsigned long long)refusal->args[0], (unsigned long long)refusal->args[1],
			 (unsigned long long)refusal->args[2]);
	}
}

static void test_threats_default(void **state)
{
	struct policy *policy = load("default");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		assert_refused(policy, &refusals[i]);
	}
	policy_free(policy);
}

/* Strict refuses the same; what it does not know at all is ENOSYS, like options of no socket. */
static void test_threats_strict(void **state)
{
	struct policy *policy = load("strict");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		assert_int_not_equal(decide(policy, refusals[i].call, refusals[i].args).action,
				     FILTER_ALLOW);
	}
	assert_refused(policy, &(struct refusal){ "T1", "socket", { 2, 1, 0 } });
	assert_refused(policy, &(struct refusal){ "X5", "memfd_create", { 0, 0 } });
	assert_int_not_equal(decide(policy, "socket", (uint64_t[6]){ 1, 1, 0 }).action,
			     FILTER_ALLOW);
	assert_int_equal(decide(policy, "socketpair", (uint64_t[6]){ 1, 1, 0 }).action,
			 FILTER_ALLOW);
	assert_int_equal(decide(policy, "connect", (uint64_t[6]){ 0 }).errnum, ENOSYS);
	policy_free(policy);
}

/* Calls whose flags stand behind a pointer: unknown, so that libraries fall back. */
static void test_probed_calls(void **state)
{
	static const char *const calls[] = { "clone3", "openat2",       "cachestat", "statmount",
					     "listns", "get_mempolicy", "mbind" };
	struct policy *policy = load("default");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct filter_decision got = decide(policy, calls[i], (uint64_t[6]){ 0 });

		assert_int_equal(got.action, FILTER_ERRNO);
		assert_int_equal(got.errnum, ENOSYS);
	}
	/* S11: a number that no table has */
	assert_int_equal(
		filter_decide(&policy->filter, AUDIT_ARCH_X86_64, 700, (uint64_t[6]){ 0 }).errnum,
		ENOSYS);

	struct filter_decision sysinfo = decide(policy, "sysinfo", (uint64_t[6]){ 0 });

	assert_int_equal(sysinfo.action, FILTER_DENY);
	assert_non_null(strstr(sysinfo.rule->reason, "answered by brig"));
	policy_free(policy);
}

/* Answered without being done or recorded: an ioctl that nobody listed, and two side effects. */
static void test_answered_calls(void **state)
{
	static const struct {
		const char *call;
		uint64_t args[6];
		int errnum;
	} answers[] = {
		{ "ioctl", { 3, 0xc020660b }, ENOTTY },        /* FIEMAP */
		{ "ioctl", { 3, HIGH | 0xc020660b }, ENOTTY }, /* the same for the kernel */
		{ "ioctl", { 3, 1 }, ENOTTY },                 /* FIBMAP */
		{ "ioctl", { 3, 0x40086602 }, ENOTTY },        /* FS_IOC_SETFLAGS */
		{ "ioctl", { 3, 0x401c5820 }, ENOTTY },        /* FS_IOC_FSSETXATTR */
		{ "ioctl", { 3, 0x40049409 }, ENOTTY },        /* FICLONE */
		{ "ioctl", { 3, 0xc0185879 }, ENOTTY },        /* FITRIM */
		{ "ioctl", { 3, 0x1260 }, ENOTTY },            /* BLKGETSIZE */
		{ "ioctl", { 3, 0x8914 }, ENOTTY },            /* SIOCSIFFLAGS */
		{ "ioctl", { 3, 0x8946 }, ENOTTY },            /* SIOCETHTOOL */
		{ "ioctl", { 3, 0x5410 }, ENOTTY },            /* TIOCSPGRP */
		{ "ioctl", { 3, 0 }, ENOTTY },
		{ "fcntl", { 3, 1031, 1 << 20 }, EPERM },
		{ "fcntl", { 3, HIGH | 1031, 1 << 20 }, EPERM },
		{ "fadvise64", { 3, 0, 0, 4 }, 0 },
		{ "fadvise64", { 3, 0, 0, HIGH | 4 }, 0 },
	};
	static const char *const policies[] = { "default", "strict" };

	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(policies); p++) {
		struct policy *policy = load(policies[p]);

		for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
			struct filter_decision got =
				decide(policy, answers[i].call, answers[i].args);

			assert_int_equal(got.action, FILTER_ERRNO);
			assert_int_equal(got.errnum, answers[i].errnum);
		}
		policy_free(policy);
	}
}

/*
 * Seen with strace in programs that use files, threads, children, sockets and timers, in Python,
 * Node, Java, Go, Rust, C, C++, Ruby, PHP, Perl, Lua and bash with its tools, and in their
 * compilers. None may be refused in a way that is recorded.
 */
static const struct {
	const char *call;
	uint64_t args[6];
} seen[] = {
	{ "accept4", { 0 } },
	{ "access", { 0 } },
	{ "arch_prctl", { 0x1002 } },
	{ "arch_prctl", { 0x3001 } },
	{ "bind", { 0 } },
	{ "brk", { 0 } },
	{ "capget", { 0 } },
	{ "chdir", { 0 } },
	{ "chmod", { 0, 0755 } },
	{ "clock_getres", { 0 } },
	{ "clock_gettime", { 0 } },
	{ "clock_nanosleep", { 0 } },
	{ "clone", { 0x3d0f00 } },
	{ "clone", { 0x1200011 } },
	{ "clone", { 0x5111 } },
	{ "clone", { 0x50f00 } },
	{ "clone3", { 0 } },
	{ "close", { 0 } },
	{ "close_range", { 0 } },
	{ "connect", { 0 } },
	{ "copy_file_range", { 0 } },
	{ "creat", { 0, 0666 } },
	{ "dup", { 0 } },
	{ "dup2", { 0 } },
	{ "dup3", { 0 } },
	{ "epoll_create1", { 0 } },
	{ "epoll_ctl", { 0 } },
	{ "epoll_pwait", { 0 } },
	{ "epoll_wait", { 0 } },
	{ "eventfd2", { 0 } },
	{ "execve", { 0 } },
	{ "exit", { 0 } },
	{ "exit_group", { 0 } },
	{ "faccessat2", { 0 } },
	{ "fadvise64", { 0 } },
	{ "fadvise64", { 0, 0, 0, 2 } },
	{ "fadvise64", { 0, 0, 0, 3 } },
	{ "fallocate", { 0 } },
	{ "fchdir", { 0 } },
	{ "fchmod", { 0, 0755 } },
	{ "fchmodat", { 0, 0, 01777 } },
	{ "fchown", { 0 } },
	{ "fchownat", { 0 } },
	{ "fcntl", { 0, 1030 } },
	{ "fcntl", { 0, 4, 0x800 } },
	{ "fcntl", { 0, 6 } },
	{ "fdatasync", { 0 } },
	{ "fgetxattr", { 0 } },
	{ "flistxattr", { 0 } },
	{ "flock", { 0 } },
	{ "fsetxattr", { 0 } },
	{ "fstat", { 0 } },
	{ "fstatfs", { 0 } },
	{ "fsync", { 0 } },
	{ "ftruncate", { 0 } },
	{ "futex", { 0 } },
	{ "get_mempolicy", { 0 } },
	{ "getcwd", { 0 } },
	{ "getdents64", { 0 } },
	{ "getegid", { 0 } },
	{ "geteuid", { 0 } },
	{ "getgid", { 0 } },
	{ "getgroups", { 0 } },
	{ "getpeername", { 0 } },
	{ "getpgrp", { 0 } },
	{ "getpid", { 0 } },
	{ "getppid", { 0 } },
	{ "getpriority", { 0 } },
	{ "getrandom", { 0 } },
	{ "getresuid", { 0 } },
	{ "getrusage", { 0 } },
	{ "getsockname", { 0 } },
	{ "getsockopt", { 3, 1, 4 } },
	{ "getsockopt", { 3, 6, 11 } },
	{ "gettid", { 0 } },
	{ "getuid", { 0 } },
	{ "getxattr", { 0 } },
	{ "inotify_add_watch", { 0 } },
	{ "inotify_init1", { 0 } },
	{ "inotify_rm_watch", { 0 } },
	{ "ioctl", { 0, 0x5401 } },
	{ "ioctl", { 0, 0x5413 } },
	{ "ioctl", { 0, 0x5421 } },
	{ "ioctl", { 0, 0x5451 } },
	{ "ioctl", { 0, 0x8912 } },
	{ "ioctl", { 0, 0x802c542a } },
	{ "ioctl", { 0, 0x540f } },
	{ "ioctl", { 0, 0x541b } },
	{ "ioctl", { 0, HIGH | 0x541b } },
	{ "ioctl", { 0, 0x5450 } },
	{ "ioctl", { 0, 0x8933 } },
	{ "ioctl", { 0, 0x80045200 } },
	{ "ioprio_set", { 1, 0, 0 } },
	{ "kill", { 1, 0 } },
	{ "lgetxattr", { 0 } },
	{ "link", { 0 } },
	{ "listen", { 0 } },
	{ "listxattr", { 0 } },
	{ "llistxattr", { 0 } },
	{ "lseek", { 0 } },
	{ "lstat", { 0 } },
	{ "madvise", { 0, 0, 4 } },
	{ "madvise", { 0, 0, 8 } },
	{ "madvise", { 0, 0, 14 } },
	{ "membarrier", { 0 } },
	{ "memfd_create", { 0, 1 } },
	{ "mkdir", { 0, 0777 } },
	{ "mkdirat", { 0, 0, 0777 } },
	{ "mknodat", { 0, 0, 0010666 } },
	{ "mmap", { 0, 0, 3, 0x22 } },
	{ "mprotect", { 0 } },
	{ "mremap", { 0 } },
	{ "munmap", { 0 } },
	{ "nanosleep", { 0 } },
	{ "newfstatat", { 0 } },
	{ "open", { 0, 0101, 0666 } },
	{ "openat", { 0, 0, 02000000, 06000 } },
	{ "openat", { 0, 0, 0101, 0666 } },
	{ "pidfd_open", { 0 } },
	{ "pidfd_send_signal", { 0 } },
	{ "pipe2", { 0 } },
	{ "pkey_alloc", { 0 } },
	{ "poll", { 0 } },
	{ "ppoll", { 0 } },
	{ "prctl", { 15 } },
	{ "prctl", { 0x53564d41 } },
	{ "prctl", { 23, 40 } },
	{ "prctl", { 41, 1 } },
	{ "prctl", { 38, 1 } },
	{ "pread64", { 0 } },
	{ "prlimit64", { 0, 3, 0x1000, 0 } },
	{ "prlimit64", { 77, 3, 0, 0x1000 } },
	{ "pselect6", { 0 } },
	{ "pwrite64", { 0 } },
	{ "read", { 0 } },
	{ "readlink", { 0 } },
	{ "readlinkat", { 0 } },
	{ "recvfrom", { 0 } },
	{ "recvmsg", { 0 } },
	{ "removexattr", { 0 } },
	{ "rename", { 0 } },
	{ "renameat", { 0 } },
	{ "renameat2", { 0 } },
	{ "renameat2", { 0, 0, 0, 0, 1 } },
	{ "renameat2", { 0, 0, 0, 0, 2 } },
	{ "restart_syscall", { 0 } },
	{ "rmdir", { 0 } },
	{ "rseq", { 0 } },
	{ "rt_sigaction", { 0 } },
	{ "rt_sigprocmask", { 0 } },
	{ "rt_sigreturn", { 0 } },
	{ "rt_sigsuspend", { 0 } },
	{ "rt_sigtimedwait", { 0 } },
	{ "sched_getaffinity", { 0 } },
	{ "sched_setaffinity", { 1234 } },
	{ "sched_yield", { 0 } },
	{ "semctl", { 0 } },
	{ "sendfile", { 0 } },
	{ "sendmmsg", { 0 } },
	{ "sendmsg", { 0 } },
	{ "sendto", { 0 } },
	{ "set_mempolicy", { 0 } },
	{ "set_robust_list", { 0 } },
	{ "set_tid_address", { 0 } },
	{ "setitimer", { 0 } },
	{ "setpgid", { 0 } },
	{ "setpriority", { 0, 0, 5 } },
	{ "setsid", { 0 } },
	{ "setsockopt", { 3, 1, 2 } },
	{ "setsockopt", { 3, 1, 15 } },
	{ "setsockopt", { 3, 1, 9 } },
	{ "setsockopt", { 3, 6, 1 } },
	{ "setsockopt", { 3, 6, 4 } },
	{ "setsockopt", { 3, 6, 5 } },
	{ "setsockopt", { 3, 6, 6 } },
	{ "setsockopt", { 3, 41, 26 } },
	{ "setsockopt", { 3, 0, 11 } },
	{ "setsockopt", { 3, 270, 11 } },
	{ "setxattr", { 0 } },
	{ "shutdown", { 0 } },
	{ "sigaltstack", { 0 } },
	{ "socket", { 1, 1 | 02004000, 0 } },
	{ "socket", { 2, 1, 6 } },
	{ "socket", { 2, 2 | 02000000, 0 } },
	{ "socket", { 10, 1, 0 } },
	{ "socket", { 10, 2, 17 } },
	{ "socket", { 16, 3 | 02000000, 0 } },
	{ "socket", { 2, 1 | 02004000, 262 } },
	{ "socketpair", { 1, 1, 0 } },
	{ "socketpair", { 1, 5 | 02000000, 0 } },
	{ "stat", { 0 } },
	{ "statfs", { 0 } },
	{ "statx", { 0 } },
	{ "symlink", { 0 } },
	{ "symlinkat", { 0 } },
	{ "sync", { 0 } },
	{ "tgkill", { 0 } },
	{ "timer_create", { 0 } },
	{ "timer_delete", { 0 } },
	{ "timer_settime", { 0 } },
	{ "timerfd_create", { 0 } },
	{ "truncate", { 0 } },
	{ "umask", { 0 } },
	{ "uname", { 0 } },
	{ "unlink", { 0 } },
	{ "unlinkat", { 0 } },
	{ "utimensat", { 0 } },
	{ "vfork", { 0 } },
	{ "wait4", { 0 } },
	{ "waitid", { 0 } },
	{ "write", { 0 } },
	{ "writev", { 0 } },
	{ "personality", { 0xffffffff } },
	{ "landlock_create_ruleset", { 0 } },
	{ "seccomp", { 1, 0 } },
	{ "seccomp", { 2, 0 } },
};

static void test_real_programs(void **state)
{
	struct policy *policy = load("default");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++) {
		struct filter_decision got = decide(policy, seen[i].call, seen[i].args);

		if (got.action == FILTER_DENY || got.action == FILTER_KILL || !got.rule) {
			fail_msg("%s(%#llx, %#llx, %#llx) is refused: %s", seen[i].call,
				 (unsigned long long)seen[i].args[0],
				 (unsigned long long)seen[i].args[1],
				 (unsigned long long)seen[i].args[2],
				 got.rule ? got.rule->reason : "no rule");
		}
	}
	policy_free(policy);
}

/* No rule behind one that always holds, no call in two groups that a policy would combine. */
static void test_groups_are_tidy(void **state)
{
	struct policy *policy = load("default");

	(void)state;
	for (unsigned i = 0; i < policy->filter.count; i++) {
		const struct filter_rule *rule = &policy->filter.rules[i];
		bool last = i + 1 == policy->filter.count || rule[1].call != rule->call;

		if ((rule->tests_count == 0) != last) {
			fail_msg(
				"%s in %s: the last rule of a call, and no other, has no condition",
				syscall_name(rule->call), rule->origin);
		}
		if (!last && strcmp(rule->origin, rule[1].origin) != 0) {
			fail_msg("%s stands in %s and %s", syscall_name(rule->call), rule->origin,
				 rule[1].origin);
		}
		assert_true(strlen(rule->reason) < FILTER_REASON_MAX);
	}
	policy_free(policy);
}

static void test_entries_by_name(void **state)
{
	_cleanup_(strlist_done)
	struct strlist list = { 0 };
	struct filter filter = { 0 };
	struct policy policy = { .name = "test" };

	(void)state;
	strlist_add(&list, "@basic");
	strlist_add(&list, "-ioctl");
	strlist_add(&list, "ptrace");
	strlist_add(&list, "kill:reboot");
	strlist_add(&list, "@dangerous");
	assert_int_equal(syscalls_resolve(&list, &filter, NULL), 0);
	policy.filter = filter;
	assert_int_equal(decide(&policy, "ioctl", (uint64_t[6]){ 0 }).action, FILTER_DENY);
	assert_string_equal(decide(&policy, "ioctl", (uint64_t[6]){ 0 }).rule->origin, "policy");
	assert_int_equal(decide(&policy, "ptrace", (uint64_t[6]){ 0 }).action, FILTER_ALLOW);
	assert_int_equal(decide(&policy, "reboot", (uint64_t[6]){ 0 }).action, FILTER_KILL);
	assert_string_equal(decide(&policy, "mount", (uint64_t[6]){ 0 }).rule->origin,
			    "@dangerous");
	filter_done(&filter);
}

static void test_bad_entries(void **state)
{
	static const struct {
		const char *entries[2];
		const char *message;
	} cases[] = {
		{ { "@bsic", NULL }, "no group" },  { { "raed", NULL }, "\"read\"" },
		{ { "", NULL }, "no such" },        { { "@", NULL }, "no group" },
		{ { "-", NULL }, "no such" },       { { "kill:", NULL }, "no such" },
		{ { "--read", NULL }, "no such" },  { { "read", "-read" }, "twice" },
		{ { "@../x", NULL }, "no group" },  { { "*", NULL }, "no such" },
		{ { "-@basic", NULL }, "no such" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(strlist_done)
		struct strlist list = { 0 };
		struct filter filter = { 0 };
		struct brig_error err = { 0 };

		for (unsigned e = 0; e < 2 && cases[i].entries[e]; e++) {
			strlist_add(&list, cases[i].entries[e]);
		}
		assert_true(syscalls_resolve(&list, &filter, &err) < 0);
		if (!strstr(err.message, cases[i].message)) {
			fail_msg("%s: %s", cases[i].entries[0], err.message);
		}
		assert_null(filter.rules);
	}
}

static void test_bad_lines(void **state)
{
	static const struct {
		const char *line, *message;
	} cases[] = {
		{ "read", "a line is" },
		{ "read | allow | ", "a line is" },
		{ "read | allow | | a | b", "a line is" },
		{ "raed | allow | | a", "unknown system call" },
		{ "read | permit | | a", "the action is" },
		{ "read | allow EPERM | | a", "nothing may follow" },
		{ "read | deny | | a", "the action is" },
		{ "read | deny 0 | | a", "only errno" },
		{ "read | errno EWHAT | | a", "unknown error" },
		{ "read | allow | |", "reason" },
		{ "read | allow | arg6 == 0 | a", "arg0 to arg5" },
		{ "read | allow | arg0 | a", "expected ==" },
		{ "read | allow | arg0 = 1 | a", "expected ==" },
		{ "read | allow | arg0 == | a", "missing" },
		{ "read | allow | arg0 == NOSUCH | a", "unknown constant" },
		{ "read | allow | arg0 == 12x | a", "bad number" },
		{ "read | allow | arg0 == 1 2 | a", "follows" },
		{ "read | allow | arg0 == 1,2 | a", "follows" },
		{ "read | allow | arg0 == 0x100000000 | a", "wide" },
		{ "read | allow | arg0 & 0x100000000 == 0 | a", "wide" },
		{ "read | allow | arg0 & 0xf == 0x10 | a", "mask" },
		{ "read | allow | arg0 == 99999999999999999999999 | a", "bad number" },
		{ "read | allow | arg0 in 1,2, | a", "missing" },
		{ "read | allow | arg0 not 1 | a", "expected ==" },
		{ "read | allow | arg0 == 1 ; | a", "arg0 to arg5" },
		{ "read | allow | arg0==1;arg0==1;arg0==1;arg0==1;arg0==1;"
		  "arg0==1;arg0==1;arg0==1;arg0==1 | a",
		  "too many conditions" },
		{ "read | allow | arg0 in "
		  "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,"
		  "24,25 | a",
		  "too many values" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct filter filter = { 0 };
		struct brig_error err = { 0 };

		assert_true(filter_from_lines(cases[i].line, &filter, &err) < 0);
		if (!strstr(err.message, cases[i].message) || !strstr(err.message, "line 1")) {
			fail_msg("%s: %s", cases[i].line, err.message);
		}
	}
}

/* The files themselves have no line longer than people read, and every group parses alone. */
static void test_every_group_alone(void **state)
{
	unsigned groups = 0;

	(void)state;
	for (size_t i = 0; i < embedded_files_count; i++) {
		struct filter filter = { 0 };
		struct brig_error err = { 0 };
		_cleanup_(strlist_done)
		struct strlist list = { 0 };
		const char *path = embedded_files[i].path;

		if (strncmp(path, "syscalls/", 9) != 0) {
			continue;
		}
		strlist_addf(&list, "@%.*s", (int)(strlen(path) - 9 - 6), path + 9);
		if (syscalls_resolve(&list, &filter, &err) < 0) {
			fail_msg("%s", err.message);
		}
		/* These two are about one call each. */
		bool small = strstr(path, "netlink") || strstr(path, "terminal");
		assert_true(filter.count >= (small ? 2 : 6));
		filter_done(&filter);
		groups++;
	}
	assert_int_equal(groups, 10);
}

static void resolve(const char *const *entries, size_t count, struct filter *ret)
{
	_cleanup_(strlist_done)
	struct strlist list = { 0 };
	struct brig_error err = { 0 };

	for (size_t i = 0; i < count; i++) {
		strlist_add(&list, entries[i]);
	}
	if (syscalls_resolve(&list, ret, &err) < 0) {
		fail_msg("%s", err.message);
	}
}

static enum filter_action ask(const struct filter *filter, const char *call, uint64_t arg0,
			      uint64_t arg1)
{
	return filter_decide(filter, AUDIT_ARCH_X86_64, (uint32_t)syscall_number(call),
			     (uint64_t[6]){ arg0, arg1 })
		.action;
}

/* One call of a group, as the group has it, or less; never more. */
static void test_single_calls_of_groups(void **state)
{
	static const char *const entries[] = {
		"@basic:ioctl arg1 in TCGETS,TIOCSTI",
		"@socket:socket arg0 == AF_UNIX",
		"@process:clone",
		"@socket:socketpair arg0 == AF_INET",
	};
	struct filter filter = { 0 };

	(void)state;
	resolve(entries, ARRAY_SIZE(entries), &filter);
	assert_int_equal(ask(&filter, "ioctl", 0, 0x5401), FILTER_ALLOW);
	assert_int_equal(ask(&filter, "ioctl", 0, 0x5412), FILTER_DENY);  /* TIOCSTI */
	assert_int_equal(ask(&filter, "ioctl", 0, 0x5413), FILTER_ERRNO); /* TIOCGWINSZ */
	assert_int_equal(ask(&filter, "socket", 1, 1), FILTER_ALLOW);
	assert_int_equal(ask(&filter, "socket", 2, 1), FILTER_DENY);
	assert_int_equal(ask(&filter, "socket", 38, 5), FILTER_DENY);
	assert_int_equal(ask(&filter, "clone", 17, 0), FILTER_ALLOW);
	assert_int_equal(ask(&filter, "clone", 0x10000000, 0), FILTER_DENY);
	/* A condition that widens nothing: Unix pairs are all that the group has. */
	assert_int_equal(ask(&filter, "socketpair", 1, 1), FILTER_DENY);
	assert_int_equal(ask(&filter, "socketpair", 2, 1), FILTER_DENY);
	assert_int_equal(ask(&filter, "read", 0, 0), FILTER_ERRNO);
	filter_done(&filter);

	/* By itself and beside its group: the entry alone decides. */
	static const char *const both[] = { "@socket", "@socket:socket arg0 == AF_UNIX" };
	resolve(both, 2, &filter);
	assert_int_equal(ask(&filter, "socket", 2, 1), FILTER_DENY);
	assert_int_equal(ask(&filter, "connect", 0, 0), FILTER_ALLOW);
	filter_done(&filter);
}

static void test_bad_single_calls(void **state)
{
	static const char *const bad[][2] = {
		{ "@basic:nosuch", "no such system call" },
		{ "@nosuch:read", "no group" },
		{ "@basic:", "no such system call" },
		{ "@basic:ioctl arg9 == 1", "arg0 to arg5" },
		{ "@basic:ioctl arg1 == NOSUCH", "unknown constant" },
		{ "@basic:ioctl arg1 == 1 | x", "follows the condition" },
		{ "@file:socket", "no such call" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_(strlist_done)
		struct strlist list = { 0 };
		struct filter filter = { 0 };
		struct brig_error err = { 0 };

		strlist_add(&list, bad[i][0]);
		if (syscall_entry_check(bad[i][0], &err) == 0) {
			assert_int_equal(syscalls_resolve(&list, &filter, &err), -EINVAL);
		}
		if (!strstr(err.message, bad[i][1])) {
			fail_msg("%s: %s", bad[i][0], err.message);
		}
	}
	static const char *const twice[] = { "@basic:read", "read" };
	struct strlist list = { 0 };
	struct filter filter = { 0 };
	strlist_add(&list, twice[0]);
	strlist_add(&list, twice[1]);
	assert_int_equal(syscalls_resolve(&list, &filter, NULL), -EINVAL);
	strlist_done(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threats_default),
		cmocka_unit_test(test_threats_strict),
		cmocka_unit_test(test_probed_calls),
		cmocka_unit_test(test_answered_calls),
		cmocka_unit_test(test_real_programs),
		cmocka_unit_test(test_groups_are_tidy),
		cmocka_unit_test(test_entries_by_name),
		cmocka_unit_test(test_bad_entries),
		cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_every_group_alone),
		cmocka_unit_test(test_single_calls_of_groups),
		cmocka_unit_test(test_bad_single_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
