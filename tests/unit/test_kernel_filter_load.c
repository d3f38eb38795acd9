/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's own results: filters are loaded into a child, and real calls return what the table
 * says.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
/* after the four that it needs */
#include <cmocka.h>

#include "base/cleanup.h"
#include "kernel/filter/filter.h"
#include "policy/policy.h"

static int enter(const char *name)
{
	struct policy_source source = { 0 };
	struct policy *policy = NULL;
	struct bpf_program program = { 0 };

	if (policy_load(&source, name, &policy, NULL) < 0 ||
	    filter_compile(&policy->filter, false, &program, NULL) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		return -1;
	}

	struct sock_fprog prog = { (unsigned short)program.count, program.code };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
}

/* Runs `probe` under a policy's filter; the wait status of its child. */
static int under(const char *policy, int (*probe)(void))
{
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		_exit(enter(policy) < 0 ? 99 : probe());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

#define FAILS(call, e) ((errno = 0), (call) == -1 && errno == (e))

static int probe_answers(void)
{
	const int checks[] = {
		getpid() > 1,
		FAILS(syscall(SYS_unshare, CLONE_NEWUSER), EPERM),
		FAILS(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0), EPERM),
		FAILS(syscall(SYS_clone3, NULL, 0), ENOSYS),
		FAILS(syscall(SYS_bpf, 0, 0, 0), EPERM),
		FAILS(syscall(SYS_ioctl, 0, UINT64_C(0xabc00005412), 0), EPERM),
		/* !-1 is not a descriptor: the answer comes from the filter */
		FAILS(syscall(SYS_ioctl, -1, 0xc020660b, 0), ENOTTY),
		FAILS(syscall(SYS_ioctl, -1, 0x541b, 0), EBADF),
		FAILS(syscall(SYS_fcntl, -1, 1031, 4096), EPERM),
		syscall(SYS_fadvise64, -1, 0, 0, 4) == 0,
		FAILS(syscall(SYS_fadvise64, -1, 0, 0, 2), EBADF),
		FAILS(syscall(SYS_socket, 38, SOCK_SEQPACKET, 0), EAFNOSUPPORT),
		FAILS(syscall(SYS_chmod, "/nonexistent", 04755), EPERM),
		FAILS(syscall(SYS_chmod, "/nonexistent", 0755), ENOENT),
		FAILS(syscall(SYS_prlimit64, getppid(), 7, (void *)16, NULL), EPERM),
		FAILS(syscall(700), ENOSYS),
		syscall(SYS_sync) == 0,
		FAILS(syscall(SYS_setsockopt, 0, 6, 31, "tls", 3), EPERM),
		FAILS(syscall(SYS_sysinfo, NULL), ENOSYS),
	};

	for (unsigned i = 0; i < ARRAY_SIZE(checks); i++) {
		if (!checks[i]) {
			return (int)i + 1;
		}
	}
	return 0;
}

static int probe_i386(void)
{
	/* getpid by the 32-bit entry. */
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory");
	return result > 0 ? 1 : 2;
}

static int probe_x32(void)
{
	return syscall(0x40000000L | SYS_getpid) > 0 ? 1 : 2;
}

static void test_answers(void **state)
{
	(void)state;
	assert_int_equal(under("default", probe_answers), 0);
}

static void assert_killed(int status)
{
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

/* S8 */
static void test_foreign_entries(void **state)
{
	(void)state;
	assert_killed(under("default", probe_i386));
	assert_killed(under("default", probe_x32));
	assert_killed(under("strict", probe_i386));
	assert_killed(under("strict", probe_x32));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_foreign_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
