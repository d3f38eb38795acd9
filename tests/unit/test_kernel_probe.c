/* SPDX-License-Identifier: Apache-2.0 */
/* The probe: attempts are bounded and leave nothing, findings have an explanation, repairs fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/probe/probe_internal.h"

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir)) {
		count++;
	}
	closedir(dir);
	return count;
}

static void expect_no_children(void)
{
	siginfo_t info;

	assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL), -1);
	assert_int_equal(errno, ECHILD);
}

static int inside_fails(const struct probe_attempt *attempt, struct probe_note *note)
{
	(void)attempt;
	note->values[0] = 42;
	return probe_step(note, "a thing", -EXDEV);
}

static int inside_hangs(const struct probe_attempt *attempt, struct probe_note *note)
{
	(void)attempt;
	(void)note;
	return pause(); /* every signal is blocked */
}

static int inside_dies(const struct probe_attempt *attempt, struct probe_note *note)
{
	(void)attempt;
	(void)note;
	_exit(3);
}

static void test_attempt(void **state)
{
	static const struct {
		int (*inside)(const struct probe_attempt *attempt, struct probe_note *note);
		int r;
		const char *what;
	} cases[] = {
		{ NULL, 0, NULL },
		{ inside_fails, -EXDEV, "a thing" },
		{ inside_hangs, -ETIMEDOUT, "the attempt took too long" },
		{ inside_dies, -ECANCELED, "the attempt was killed" },
	};
	int fds = count_fds();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct probe_attempt attempt = { .inside = cases[i].inside };
		struct probe_note note = { 0 };
		uint64_t start_ns = clock_now_ns();

		assert_int_equal(probe_attempt(&attempt, &note), cases[i].r);
		assert_int_equal(note.errnum, -cases[i].r);
		if (cases[i].what) {
			assert_string_equal(note.what, cases[i].what);
		}
		assert_true(clock_now_ns() - start_ns < UINT64_C(2000000000));
		expect_no_children();
	}
	assert_int_equal(count_fds(), fds);
}

static void expect_explained(const struct probe_finding *finding, const char *name)
{
	if (finding->state == PROBE_OK) {
		assert_string_equal(finding->repair, "");
		return;
	}
	if (finding->detail[0] == '\0' || finding->repair[0] == '\0') {
		fail_msg("%s: %s without a reason or a repair", name,
			 probe_state_name(finding->state));
	}
}

static void expect_report(const struct probe_report *report)
{
	for (int i = 0; i < LAYER_COUNT; i++) {
		expect_explained(&report->layers[i], layer_table[i].name);
	}
	for (int i = 0; i < PROBE_CALLS; i++) {
		expect_explained(&report->calls[i], probe_call_table[i].name);
	}
	assert_int_not_equal(report->host.kernel[0], '\0');
	assert_true(report->host.major >= 3);
	assert_int_equal(report->host.executable[0], '/');
}

static void test_report(void **state)
{
	struct cgroup_manager *groups = NULL;
	_cleanup_free_ struct probe_report *report = malloc(sizeof(*report));
	int fds = count_fds();

	(void)state;
	assert_non_null(report);
	assert_int_equal(cgroup_manager_new(NULL, &groups, NULL), 0);
	probe_run(groups, report);
	expect_report(report);
	expect_no_children();
	if (cgroup_manager_layers(groups) == 0) {
		assert_int_equal(report->layers[LAYER_CGROUP_PIDS].state, PROBE_MISSING);
	}
	if (geteuid() != 0) {
		assert_int_equal(report->layers[LAYER_UIDRANGE].state, PROBE_MISSING);
	}
	cgroup_manager_free(groups);
	probe_run(NULL, report);
	expect_report(report);
	assert_int_equal(report->layers[LAYER_CGROUP_MEMORY].state, PROBE_MISSING);
	assert_int_equal(count_fds(), fds);
}

/* Makes calls fail in this process and its children. */
static void hide(const int *calls, unsigned count, int errnum)
{
	struct sock_filter code[2 + 2 * 16];
	unsigned used = 0;

	code[used++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						    offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < count; i++) {
		code[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							    (unsigned)calls[i], 0, 1);
		code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
							    SECCOMP_RET_ERRNO | (unsigned)errnum);
	}
	code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = (unsigned short)used, .filter = code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
		_exit(99);
	}
}

static const struct hidden {
	const char *name;
	int calls[12];
	unsigned count;
	int errnum;
	layer_set missing;   /* these must be found missing */
	unsigned calls_lost; /* bits of enum probe_call */
} hidden[] = {
	{ "clone3", { SYS_clone3 }, 1, ENOSYS, 0, 1u << PROBE_CALL_CLONE3 },
	{ "openat2", { SYS_openat2 }, 1, ENOSYS, 0, 1u << PROBE_CALL_OPENAT2 },
	{ "landlock", { SYS_landlock_create_ruleset }, 1, ENOSYS, LAYER_BIT(LAYER_LANDLOCK), 0 },
	{ "seccomp",
	  { SYS_seccomp },
	  1,
	  EPERM,
	  LAYER_BIT(LAYER_SECCOMP) | LAYER_BIT(LAYER_NOTIFY),
	  0 },
	{ "mounts",
	  { SYS_fsopen, SYS_mount_setattr },
	  2,
	  ENOSYS,
	  LAYER_BIT(LAYER_ROOTFS) | LAYER_BIT(LAYER_OVERLAY) | LAYER_BIT(LAYER_PROC),
	  1u << PROBE_CALL_MOUNT_API | 1u << PROBE_CALL_MOUNT_SETATTR },
	{ "everything",
	  { SYS_clone3, SYS_openat2, SYS_landlock_create_ruleset, SYS_seccomp, SYS_fsopen,
	    SYS_mount, SYS_unshare, SYS_pidfd_open, SYS_pidfd_send_signal, SYS_close_range,
	    SYS_keyctl, SYS_pivot_root },
	  12,
	  ENOSYS,
	  LAYER_BIT(LAYER_USERNS) | LAYER_BIT(LAYER_ROOTFS) | LAYER_BIT(LAYER_LANDLOCK),
	  1u << PROBE_CALL_PIDFD | 1u << PROBE_CALL_CLOSE_RANGE },
};

/* In a child, because a filter stays. Exit status: 0, or the number of the failed expectation. */
static _Noreturn void probe_hidden(const struct hidden *one)
{
	static struct probe_report report;

	hide(one->calls, one->count, one->errnum);
	probe_run(NULL, &report);
	for (int i = 0; i < LAYER_COUNT; i++) {
		if ((one->missing & LAYER_BIT(i)) && report.layers[i].state != PROBE_MISSING) {
			_exit(10 + i);
		}
		if (report.layers[i].state == PROBE_MISSING && !report.layers[i].repair[0]) {
			_exit(50 + i);
		}
	}
	for (int i = 0; i < PROBE_CALLS; i++) {
		if ((one->calls_lost & 1u << i) && report.calls[i].state != PROBE_MISSING) {
			_exit(80 + i);
		}
	}
	_exit(report.host.seccomp == SECCOMP_MODE_FILTER ? 0 : 98);
}

static void test_hidden(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0) {
			probe_hidden(&hidden[i]);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
			fail_msg("%s: status %#x", hidden[i].name, (unsigned)status);
		}
	}
}

static struct probe_host ordinary_host(void)
{
	struct probe_host host = { .uid = 1000, .major = 6, .minor = 8 };

	strcpy(host.executable, "/opt/brig/bin/brig");
	for (int i = 0; i < PROBE_SYSCTLS; i++) {
		host.sysctls[i] = -1;
	}
	return host;
}

static void expect_repair(const struct probe_host *host, enum layer layer, int errnum,
			  const char *part)
{
	struct probe_finding finding = { .state = PROBE_MISSING, .errnum = errnum };

	probe_repair(host, layer, &finding);
	if (!strstr(finding.repair, part)) {
		fail_msg("%s: \"%s\" lacks \"%s\"", layer_table[layer].name, finding.repair, part);
	}
}

static void test_repairs(void **state)
{
	struct probe_host host = ordinary_host();

	(void)state;
	expect_repair(&host, LAYER_USERNS, EPERM, "ausearch");
	expect_repair(&host, LAYER_UIDRANGE, EPERM, "as root");
	expect_repair(&host, LAYER_OVERLAY, ENODEV, "modprobe overlay");
	expect_repair(&host, LAYER_TIMENS, EINVAL, "5.6 or newer with CONFIG_TIME_NS=y");
	expect_repair(&host, LAYER_LANDLOCK, ENOSYS, "CONFIG_SECURITY_LANDLOCK");
	expect_repair(&host, LAYER_LANDLOCK, EOPNOTSUPP, "lsm=landlock");
	expect_repair(&host, LAYER_CGROUP_PIDS, 0, "brig-1000/cgroup.procs");

	host.sysctls[PROBE_SYSCTL_APPARMOR_USERNS] = 1;
	expect_repair(&host, LAYER_USERNS, EPERM, "profile brig /opt/brig/bin/brig flags=");
	expect_repair(&host, LAYER_MNTNS, EACCES, "apparmor_parser -r /etc/apparmor.d/brig");
	host.sysctls[PROBE_SYSCTL_USERNS_CLONE] = 0;
	expect_repair(&host, LAYER_USERNS, EPERM, "kernel.unprivileged_userns_clone=1");

	host = ordinary_host();
	host.sysctls[PROBE_SYSCTL_MAX_USER] = 100;
	host.sysctls[PROBE_SYSCTL_MAX_NET] = 0;
	host.sysctls[PROBE_SYSCTL_MAX_PID] = 100;
	expect_repair(&host, LAYER_NETNS, ENOSPC, "user.max_net_namespaces=");
	host.sysctls[PROBE_SYSCTL_MAX_USER] = 0;
	expect_repair(&host, LAYER_PIDNS, ENOSPC, "user.max_user_namespaces=");

	host = ordinary_host();
	host.systemd = host.cgroup2 = true;
	expect_repair(&host, LAYER_CGROUP_MEMORY, 0, "systemd-run --user --scope -p Delegate=yes");
	expect_repair(&host, LAYER_CGROUP_MEMORY, 0, "loginctl enable-linger 1000");
	expect_repair(&host, LAYER_CGROUP_CPU, 0, "user@.service.d/delegate.conf");

	host = ordinary_host();
	strcpy(host.container, "docker");
	expect_repair(&host, LAYER_USERNS, EPERM, "seccomp=unconfined");
	strcpy(host.proc_mask, "/proc/kcore");
	expect_repair(&host, LAYER_PROC, EPERM, "systempaths=unconfined");
}

/* A truncated repair would be a wrong command. */
static void test_repairs_fit(void **state)
{
	struct probe_host host = ordinary_host();

	(void)state;
	host.uid = UINT32_MAX - 1;
	host.sysctls[PROBE_SYSCTL_APPARMOR_USERNS] = 1;
	memset(host.executable, 'a', sizeof(host.executable) - 1);
	for (int layer = 0; layer < LAYER_COUNT; layer++) {
		for (int errnum = 0; errnum < 130; errnum++) {
			struct probe_finding finding = { .state = PROBE_MISSING, .errnum = errnum };

			probe_repair(&host, (enum layer)layer, &finding);
			assert_int_not_equal(finding.repair[0], '\0');
			assert_true(strlen(finding.repair) < sizeof(finding.repair) - 1);
		}
		struct probe_finding weak = { .state = PROBE_DEGRADED };
		struct probe_finding fine = { .state = PROBE_OK };
		probe_repair(&host, (enum layer)layer, &weak);
		probe_repair(&host, (enum layer)layer, &fine);
		assert_string_equal(fine.repair, "");
	}
}

static void test_remarks(void **state)
{
	struct probe_host host = ordinary_host();
	unsigned none = 0, all = 0;

	(void)state;
	for (size_t i = 0; i < probe_remarks_count; i++) {
		none += probe_remarks[i].applies(&host);
	}
	assert_int_equal(none, 0);
	host.major = 4;
	host.core_pattern[0] = '|';
	host.proc_mask[0] = '/';
	host.container[0] = 'x';
	host.seccomp = 2;
	host.sysctls[PROBE_SYSCTL_PTRACE_SCOPE] = 2;
	for (size_t i = 0; i < probe_remarks_count; i++) {
		all += probe_remarks[i].applies(&host);
	}
	assert_int_equal(all, probe_remarks_count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attempt),     cmocka_unit_test(test_report),
		cmocka_unit_test(test_hidden),      cmocka_unit_test(test_repairs),
		cmocka_unit_test(test_repairs_fit), cmocka_unit_test(test_remarks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
