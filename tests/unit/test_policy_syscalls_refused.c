/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that the built-in policies refuse, by the lines of the threat model, and calls that
 * they answer without doing them.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after the four that it needs */
#include <cmocka.h>

#include "base/cleanup.h"
#include "policy_fixture.h"

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
	{ "X19", "sched_setscheduler", { 0, 5 } },
	{ "X19", "sched_setscheduler", { 0, 5 | 0x40000000 } },
	{ "X19", "sched_setattr", { 0 } },
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

/* Strict refuses the same; calls that it does not list are ENOSYS, like socket options. */
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

/* Calls whose flags are behind a pointer: unknown, so that libraries fall back. */
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
	/* S11: a number that is in no table */
	assert_int_equal(
		filter_decide(&policy->filter, AUDIT_ARCH_X86_64, 700, (uint64_t[6]){ 0 }).errnum,
		ENOSYS);

	struct filter_decision sysinfo = decide(policy, "sysinfo", (uint64_t[6]){ 0 });

	assert_int_equal(sysinfo.action, FILTER_DENY);
	assert_non_null(strstr(sysinfo.rule->reason, "answered by brig"));
	policy_free(policy);
}

/* Answered without being executed or recorded: an unlisted ioctl, and two side effects. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threats_default),
		cmocka_unit_test(test_threats_strict),
		cmocka_unit_test(test_probed_calls),
		cmocka_unit_test(test_answered_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
