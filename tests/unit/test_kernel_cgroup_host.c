/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups of this host, of any kind: limits hold, figures are true, none is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/cgroup/cgroup.h"

static struct cgroup_manager *host_manager(void)
{
	struct cgroup_manager *m = NULL;

	assert_int_equal(cgroup_manager_new(NULL, &m, NULL), 0);
	if (strcmp(cgroup_manager_means(m), "none") == 0) {
		print_message("SKIP: no control groups for this user on this host: %s\n",
			      cgroup_manager_why(m));
		cgroup_manager_free(m);
		skip();
	}
	return m;
}

static struct cgroup *group(struct cgroup_manager *m, const char *name, struct cgroup_limits limits)
{
	struct brig_error err = { 0 };
	struct cgroup *c = NULL;

	if (cgroup_new(m, name, &limits, &c, &err) < 0) {
		fail_msg("%s (%s)", err.message, err.remedy);
	}
	return c;
}

static void child(struct cgroup *c, int go, void (*body)(void))
{
	int fds[CGROUP_JOIN_MAX];
	int count = cgroup_join_fds(c, fds);
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < count; i++) {
		if (write(fds[i], "0", 1) != 1) {
			_exit(99);
		}
	}
	if (read(go, &byte, 1) != 1) {
		_exit(98);
	}
	body();
	_exit(0);
}

/* Runs `body` in the group, which it enters as a cell would. */
static pid_t start(struct cgroup *c, void (*body)(void))
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	struct brig_error err = { 0 };
	int go[2];
	pid_t pid;

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	if (cgroup_clone_fd(c) >= 0) {
		args.flags = CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup_clone_fd(c);
	}
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	assert_true(pid >= 0);
	if (pid == 0) {
		child(c, go[0], body);
	}
	if (cgroup_attach(c, pid, &err) < 0) {
		kill(pid, SIGKILL);
		fail_msg("%s (%s)", err.message, err.remedy);
	}
	assert_int_equal(write(go[1], "x", 1), 1);
	close(go[0]);
	close(go[1]);
	return pid;
}

/* The first process stays, as pid 1 of a cell does; its child uses the memory. */
static void eat_memory(void)
{
	size_t size = 64u << 20;
	char *data;

	if (fork() != 0) {
		pause();
	}
	data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < size; i += 4096) {
		data[i] = 1;
	}
}

static void eat_processes(void)
{
	int refused = 0;

	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			pause();
		}
		refused += pid < 0;
	}
	_exit(refused);
}

static void burn_cpu(void)
{
	uint64_t end = clock_now_ns() + 300000000;

	while (clock_now_ns() < end) {
	}
	raise(SIGSTOP);
}

static void sleep_forever(void)
{
	pause();
}

static void outlive(void)
{
	prctl(PR_SET_PDEATHSIG, 0);
	pause();
}

/* Gone, or a zombie that its new parent has not reaped yet. */
static bool dead(pid_t pid)
{
	char path[32], text[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f) {
		return true;
	}
	if (!fgets(text, sizeof(text), f)) {
		text[0] = '\0';
	}
	fclose(f);
	return strstr(text, ") Z ") != NULL;
}

static void test_memory(void **state)
{
	struct cgroup_manager *m = host_manager();
	struct cgroup *c = group(m, "MEM", (struct cgroup_limits){ 16 << 20, 10, 0 });
	struct cgroup_usage usage;
	struct pollfd event = { 0 };
	int status;
	pid_t pid;

	(void)state;
	print_message("means: %s in %s\n", cgroup_manager_means(m), cgroup_manager_where(m));
	pid = start(c, eat_memory);
	event.fd = cgroup_event_fd(c, &event.events);
	assert_true(event.fd >= 0);
	do {
		assert_int_equal(poll(&event, 1, 10000), 1);
		cgroup_event_clear(c);
		usleep(20000);
		cgroup_usage(c, &usage);
	} while (usage.oom_kills == 0);
	if (!cgroup_kill(c)) {
		kill(pid, SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* By us, or by systemd, which ends a scope that ran out of memory with SIGTERM. */
	assert_true(WIFSIGNALED(status));
	cgroup_usage(c, &usage);
	assert_true(usage.has_memory);
	assert_true(usage.oom_kills >= 1);
	assert_in_range(usage.memory_peak_bytes, 12 << 20, 16 << 20);
	cgroup_free(c);
	cgroup_manager_free(m);
}

/* The members outlive their parent: free has to kill them before it can remove the groups. */
static void test_processes(void **state)
{
	struct cgroup_limits limits = { 64 << 20, 8, 0 };
	struct cgroup_manager *m = host_manager();
	struct cgroup *c = group(m, "PIDS", limits);
	struct cgroup_usage usage;
	uint64_t start_ns;
	int status;
	pid_t pid;

	(void)state;
	pid = start(c, eat_processes);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 13);
	cgroup_usage(c, &usage);
	assert_int_equal(usage.processes_now, 7);
	/* Only newer kernels report the peak. */
	assert_true(usage.processes_peak == 8 || usage.processes_peak == 0);
	assert_true(usage.fork_refusals >= 1);
	start_ns = clock_now_ns();
	cgroup_free(c);
	assert_true(clock_now_ns() - start_ns < UINT64_C(1500000000));
	c = group(m, "PIDS2", limits);
	cgroup_free(c);
	cgroup_manager_free(m);
}

static void test_cpu(void **state)
{
	struct cgroup_manager *m = host_manager();
	struct cgroup *c = group(m, "CPU", (struct cgroup_limits){ 64 << 20, 8, 200 });
	bool limited = cgroup_manager_layers(m) & LAYER_BIT(LAYER_CGROUP_CPU);
	struct cgroup_usage usage;
	pid_t pid;

	(void)state;
	pid = start(c, burn_cpu);
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	cgroup_usage(c, &usage);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(usage.has_cpu);
	/* A fifth of a core for 0.3 s is 60 ms, and one period more. */
	assert_in_range(usage.cpu_ns, 5000000, limited ? 150000000 : 400000000);
	cgroup_free(c);
	cgroup_manager_free(m);
}

static void test_kill(void **state)
{
	struct cgroup_manager *m = host_manager();
	struct cgroup *c = group(m, "KILL", (struct cgroup_limits){ 64 << 20, 8, 0 });
	pid_t pid = start(c, sleep_forever);
	int status;

	(void)state;
	if (!cgroup_kill(c)) {
		kill(pid, SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	cgroup_free(c);
	cgroup_manager_free(m);
}

/* A maker killed with its cell running: the next sweep ends the cell and removes its groups. */
static void test_sweep(void **state)
{
	struct cgroup_manager *m = host_manager();
	bool scope = strcmp(cgroup_manager_means(m), "systemd-scope") == 0;
	int ready[2];
	pid_t maker, member = 0;

	(void)state;
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	maker = fork();
	if (maker == 0) {
		struct cgroup *c = group(m, "LOST", (struct cgroup_limits){ 64 << 20, 8, 0 });

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		member = start(c, outlive);
		if (write(ready[1], &member, sizeof(member)) < 0) {
			_exit(1);
		}
		pause();
	}
	assert_int_equal(read(ready[0], &member, sizeof(member)), sizeof(member));
	/*
	 * Leftovers of others may be swept at any time, so a count proves little; the member does.
	 */
	cgroup_manager_sweep(m);
	usleep(10000);
	assert_false(dead(member));
	assert_int_equal(kill(maker, SIGKILL), 0);
	assert_int_equal(waitpid(maker, NULL, 0), maker);
	if (scope) {
		kill(member, SIGKILL); /* systemd does the rest */
	} else {
		assert_true(cgroup_manager_sweep(m) >= 1);
		assert_true(dead(member));
	}
	close(ready[0]);
	close(ready[1]);
	cgroup_manager_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory), cmocka_unit_test(test_processes),
		cmocka_unit_test(test_cpu),    cmocka_unit_test(test_kill),
		cmocka_unit_test(test_sweep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
