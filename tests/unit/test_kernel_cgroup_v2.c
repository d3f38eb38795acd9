/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup v2 on a fake tree: where groups go, the files written and read, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "kernel/cgroup/cgroup_internal.h"
#include "test_kernel_cgroup_fake.h"

static const char *const files[] = {
	"cgroup.procs", "cgroup.controllers", "cgroup.subtree_control",
	"cgroup.kill",  "cgroup.type",        "memory.max",
	"memory.peak",  "memory.current",     "memory.swap.max",
	"pids.max",     "memory.oom.group",   "memory.events",
	"pids.current", "pids.peak",          "pids.events",
	"cpu.max",      "cpu.stat",           NULL,
};

static const struct cgroup_limits limits = {
	.memory_bytes = 67108864,
	.processes = 33,
	.cpu_millicores = 500,
};

static void tree(struct fake *fake, const char *self)
{
	fake_make(fake, self);
	fake_files = files;
	fake_put(fake, "cgroup.controllers", "cpuset cpu io memory pids\n");
	fake_put(fake, "cgroup.subtree_control", "cpu memory pids\n");
	fake_put(fake, "cgroup.procs", "");
}

static struct cgroup_manager *manager(const struct fake *fake)
{
	struct cgroup_options options = { fake->root, fake->self, true, false };
	struct cgroup_manager *m = NULL;

	assert_int_equal(cgroup_manager_new(&options, &m, NULL), 0);
	return m;
}

static const char *in_group(const char *dir, const char *group, const char *file)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s%s%s/%s", dir, *dir ? "/" : "", group, file);
	return path;
}

/* The root of a cgroup namespace (it has cgroup.type) may be changed by any user. */
static void test_namespace_root(void **state)
{
	struct fake fake;
	struct cgroup_manager *m;
	struct cgroup *c = NULL;
	struct cgroup_usage usage;
	char name[512];
	int fds[CGROUP_JOIN_MAX];
	short events = 0;

	(void)state;
	tree(&fake, "0::/\n");
	fake_put(&fake, "cgroup.type", "domain\n");
	m = manager(&fake);
	assert_string_equal(cgroup_manager_means(m), "cgroup2");
	assert_string_equal(cgroup_manager_where(m), fake.root);
	assert_int_equal(cgroup_manager_layers(m), LAYER_BIT(LAYER_CGROUP_MEMORY) |
							   LAYER_BIT(LAYER_CGROUP_PIDS) |
							   LAYER_BIT(LAYER_CGROUP_CPU));
	assert_int_equal(cgroup_new(m, "RUN1", &limits, &c, NULL), 0);
	strcpy(name, fake_group(&fake, "", "RUN1"));
	assert_string_not_equal(name, "");
	assert_string_equal(fake_get(&fake, in_group("", name, "memory.max")), "67108864");
	assert_string_equal(fake_get(&fake, in_group("", name, "memory.swap.max")),
			    cgroup_host_swaps() ? "0" : "");
	assert_string_equal(fake_get(&fake, in_group("", name, "memory.oom.group")), "1");
	assert_string_equal(fake_get(&fake, in_group("", name, "pids.max")), "33");
	assert_string_equal(fake_get(&fake, in_group("", name, "cpu.max")), "50000 100000");
	assert_true(cgroup_clone_fd(c) >= 0);
	/* for a process that cannot be created there, and may not open it itself */
	assert_int_equal(cgroup_join_fds(c, fds), 1);
	assert_int_equal(cgroup_attach(c, getpid(), NULL), 0);
	assert_true(cgroup_event_fd(c, &events) >= 0);
	assert_int_equal(events, POLLPRI);
	fake_put(&fake, in_group("", name, "memory.current"), "4096\n");
	fake_put(&fake, in_group("", name, "memory.peak"), "8192\n");
	fake_put(&fake, in_group("", name, "memory.events"),
		 "low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\noom_group_kill 1\n");
	fake_put(&fake, in_group("", name, "pids.current"), "3\n");
	fake_put(&fake, in_group("", name, "pids.peak"), "5\n");
	fake_put(&fake, in_group("", name, "pids.events"), "max 9\n");
	fake_put(&fake, in_group("", name, "cpu.stat"), "usage_usec 1234\nuser_usec 1000\n");
	cgroup_usage(c, &usage);
	assert_true(usage.has_memory && usage.has_processes && usage.has_cpu);
	assert_int_equal(usage.memory_now_bytes, 4096);
	assert_int_equal(usage.memory_peak_bytes, 8192);
	assert_int_equal(usage.oom_kills, 2);
	assert_false(usage.oom_outside);
	assert_int_equal(usage.processes_now, 3);
	assert_int_equal(usage.processes_peak, 5);
	assert_int_equal(usage.fork_refusals, 9);
	assert_int_equal(usage.cpu_ns, 1234000);
	/* Killed for memory, but not because of its own limit. */
	fake_put(&fake, in_group("", name, "memory.events"), "max 0\noom 0\noom_kill 3\n");
	cgroup_usage(c, &usage);
	assert_true(usage.oom_outside);
	assert_int_equal(usage.oom_kills, 3);
	cgroup_event_clear(c);
	assert_true(cgroup_kill(c));
	/* A process that is being killed may use the memory that it needs to exit. */
	cgroup_hurry(c);
	assert_string_equal(fake_get(&fake, in_group("", name, "cpu.max")), "max00 100000");
	assert_string_equal(fake_get(&fake, in_group("", name, "cgroup.kill")), "1");
	cgroup_free(c);
	assert_false(fake_has(&fake, name));
	cgroup_manager_free(m);
	fake_remove(&fake);
}

/* Root at the real root of the tree: a parent of our own, removed when it is unused. */
static void test_root_parent(void **state)
{
	struct cgroup_limits loose = { .memory_bytes = 1 << 20, .processes = 5 };
	struct fake fake;
	struct cgroup_manager *m;
	struct cgroup *c = NULL;
	char name[512];

	(void)state;
	tree(&fake, "0::/user.slice/session-1.scope\n");
	m = manager(&fake);
	if (geteuid() != 0) {
		assert_string_equal(cgroup_manager_means(m), "none");
		cgroup_manager_free(m);
		fake_remove(&fake);
		return;
	}
	assert_string_equal(cgroup_manager_means(m), "cgroup2");
	assert_false(fake_has(&fake, "brig"));
	/* Another brig made the parent: it exists, and its controllers are offered. */
	fake_mkdir(&fake, "brig");
	fake_put(&fake, "brig/cgroup.controllers", "cpu memory pids\n");
	assert_int_equal(cgroup_new(m, "RUN1", &loose, &c, NULL), 0);
	assert_string_equal(fake_get(&fake, "brig/cgroup.subtree_control"), "+pidsry");
	strcpy(name, fake_group(&fake, "brig", "RUN1"));
	assert_string_equal(fake_get(&fake, in_group("brig", name, "pids.max")), "5");
	assert_string_equal(fake_get(&fake, in_group("brig", name, "cpu.max")), "");
	cgroup_free(c);
	assert_true(fake_has(&fake, "brig"));
	cgroup_manager_free(m);
	assert_false(fake_has(&fake, "brig"));
	fake_remove(&fake);
}

static void test_delegated_attribute(void **state)
{
	struct fake fake;
	struct cgroup_manager *m;
	char path[128];

	(void)state;
	tree(&fake, "0::/user.slice/mine.scope/brig-supervisor\n");
	fake_mkdir(&fake, "user.slice");
	fake_mkdir(&fake, "user.slice/mine.scope");
	fake_mkdir(&fake, "user.slice/mine.scope/brig-supervisor");
	fake_put(&fake, "user.slice/mine.scope/cgroup.controllers", "memory pids\n");
	snprintf(path, sizeof(path), "%s/user.slice/mine.scope", fake.root);
	if (setxattr(path, "user.delegate", "1", 1, 0) < 0) {
		fake_remove(&fake);
		print_message("SKIP: no user attributes on the file system of /tmp\n");
		skip();
	}
	m = manager(&fake);
	assert_string_equal(cgroup_manager_means(m), "cgroup2");
	assert_string_equal(cgroup_manager_where(m), path);
	assert_int_equal(cgroup_manager_layers(m),
			 LAYER_BIT(LAYER_CGROUP_MEMORY) | LAYER_BIT(LAYER_CGROUP_PIDS));
	assert_non_null(strstr(cgroup_manager_why(m), "cpu controller"));
	cgroup_manager_free(m);
	/* A process that this namespace cannot see prevents controllers from being enabled. */
	fake_put(&fake, "user.slice/mine.scope/cgroup.procs", "0\n");
	m = manager(&fake);
	assert_string_not_equal(cgroup_manager_where(m), path);
	cgroup_manager_free(m);
	fake_remove(&fake);
}

/* As an ordinary user: may a group with this process in it be emptied? */
static bool may_empty(struct fake *fake, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d\n", (int)pid);
	fake_put(fake, "cgroup.procs", text);
	struct cgroup_manager *m = manager(fake);
	bool may = strcmp(cgroup_manager_means(m), "cgroup2") == 0;
	cgroup_manager_free(m);
	return may;
}

static _Noreturn void be_ordinary(pid_t stranger)
{
	struct fake fake;

	if (geteuid() == 0 && setresuid(65531, 65531, 65531) < 0) {
		_exit(9);
	}
	tree(&fake, "0::/\n");
	fake_put(&fake, "cgroup.type", "domain\n");
	fake_put(&fake, "cgroup.subtree_control", "");
	/* A sealed role: root owns the files in its /proc, but not the directory itself. */
	pid_t sealed = fork();
	if (sealed == 0) {
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(sealed, NULL, WUNTRACED);
	int wrong = (may_empty(&fake, sealed) ? 0 : 1) +
		    (stranger && may_empty(&fake, stranger) ? 2 : 0);
	kill(sealed, SIGKILL);
	waitpid(sealed, NULL, 0);
	fake_remove(&fake);
	_exit(wrong);
}

static void test_processes_in_the_way(void **state)
{
	int status = -1;

	(void)state;
	/* Root's own process is foreign to the ordinary user; without root there is none. */
	pid_t child = fork();
	if (child == 0) {
		be_ordinary(geteuid() == 0 ? getppid() : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void test_without_controllers(void **state)
{
	struct fake fake;
	struct cgroup_manager *m;

	(void)state;
	tree(&fake, "0::/\n");
	fake_put(&fake, "cgroup.type", "domain\n");
	fake_put(&fake, "cgroup.controllers", "hugetlb memory_x\n");
	m = manager(&fake);
	assert_string_equal(cgroup_manager_means(m), "none");
	assert_non_null(strstr(cgroup_manager_why(m), "no memory and pids"));
	cgroup_manager_free(m);
	fake_remove(&fake);
}

static void test_small_share_and_failure(void **state)
{
	struct cgroup_limits tiny = { .cpu_millicores = 5 };
	struct brig_error err = { 0 };
	struct fake fake;
	struct cgroup_manager *m;
	struct cgroup *c = NULL;
	char name[512];

	(void)state;
	tree(&fake, "0::/\n");
	fake_put(&fake, "cgroup.type", "domain\n");
	m = manager(&fake);
	assert_int_equal(cgroup_new(m, "RUN1", &tiny, &c, NULL), 0);
	strcpy(name, fake_group(&fake, "", "RUN1"));
	assert_string_equal(fake_get(&fake, in_group("", name, "cpu.max")), "5000 1000000");
	assert_string_equal(fake_get(&fake, in_group("", name, "memory.max")), "");
	cgroup_free(c);
	/* A name that is a path, or a limit that the kernel has no file for, makes no group. */
	c = NULL;
	assert_int_equal(cgroup_new(m, "../x", &limits, &c, &err), -EINVAL);
	fake_files = (const char *const[]){ "cgroup.procs", NULL };
	assert_int_equal(cgroup_new(m, "RUN2", &limits, &c, &err), -ENOENT);
	assert_non_null(strstr(err.message, "memory.max"));
	assert_string_not_equal(err.remedy, "");
	assert_null(c);
	assert_string_equal(fake_group(&fake, "", "RUN2"), "");
	fake_files = files;
	cgroup_manager_free(m);
	fake_remove(&fake);
}

static void test_sweep(void **state)
{
	struct fake fake;
	struct cgroup_manager *m;
	struct cgroup *c = NULL;
	char recycled[128];

	(void)state;
	tree(&fake, "0::/\n");
	fake_put(&fake, "cgroup.type", "domain\n");
	m = manager(&fake);
	assert_int_equal(cgroup_manager_sweep(m), 0);
	assert_int_equal(cgroup_new(m, "LIVE", &limits, &c, NULL), 0);
	const char *colon = strchr(FAKE_DEAD(m, "", "DEAD"), ':');
	snprintf(recycled, sizeof(recycled), "brig-%d-1-OLD%s", (int)getpid(), colon ? colon : "");
	fake_mkdir(&fake, recycled);                     /* our pid, another start time */
	fake_mkdir(&fake, FAKE_DEAD(m, "", "DEAD"));     /* no process */
	fake_mkdir(&fake, "brig-2147483646-77-D:12345"); /* of another pid namespace */
	fake_mkdir(&fake, "brig-supervisor");
	fake_mkdir(&fake, "brig-x-1-A");
	fake_mkdir(&fake, "brig-2147483646-77-");
	fake_mkdir(&fake, "other-2147483646-77-A");
	assert_int_equal(cgroup_manager_sweep(m), 2);
	assert_false(fake_has(&fake, recycled));
	assert_false(fake_has(&fake, FAKE_DEAD(m, "", "DEAD")));
	assert_true(fake_has(&fake, "brig-2147483646-77-D:12345"));
	assert_true(fake_has(&fake, "brig-supervisor"));
	assert_true(fake_has(&fake, "brig-x-1-A"));
	assert_true(fake_has(&fake, "brig-2147483646-77-"));
	assert_true(fake_has(&fake, "other-2147483646-77-A"));
	assert_string_not_equal(fake_group(&fake, "", "LIVE"), "");
	cgroup_free(c);
	cgroup_manager_free(m);
	fake_remove(&fake);
}

/* A group for another user: its files are given away, its limits are not. */
static void test_delegate(void **state)
{
	static const char *const plain[] = {
		"cgroup.procs", "cgroup.controllers", "cgroup.subtree_control",
		"memory.max",   "cpu.weight",         NULL
	};
	struct fake fake;
	struct cgroup_manager *m;
	char path[512];
	struct stat st;

	(void)state;
	tree(&fake, "0::/\n");
	fake_put(&fake, "cgroup.type", "domain\n");
	m = manager(&fake);
	fake_files = plain;
	uid_t user = geteuid() == 0 ? 65531 : geteuid();
	/* The fake has no files of a new kernel group: the request is refused. */
	assert_int_equal(cgroup_delegate(m, user, getpid()), -ENODEV);
	const char *group = fake_group(&fake, "", "warden");
	assert_string_not_equal(group, "");
	snprintf(path, sizeof(path), "%s/cgroup.controllers", group);
	fake_put(&fake, path, "cpu memory pids\n");
	assert_int_equal(cgroup_delegate(m, user, getpid()), 0);
	static const struct {
		const char *file;
		bool given;
	} files_of[] = {
		{ "", true },
		{ "/cgroup.procs", true },
		{ "/cgroup.subtree_control", true },
		{ "/brig-supervisor", true },
		{ "/brig-supervisor/cgroup.procs", true },
		{ "/memory.max", false },
		{ "/brig-supervisor/memory.max", false },
	};
	for (size_t i = 0; i < sizeof(files_of) / sizeof(files_of[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s%s", fake.root, group, files_of[i].file);
		assert_int_equal(stat(path, &st), 0);
		assert_true(st.st_uid == (files_of[i].given ? user : geteuid()));
	}
	snprintf(path, sizeof(path), "%s/brig-supervisor/cgroup.procs", group);
	assert_int_equal(atoi(fake_get(&fake, path)), (int)getpid());
	/* It does not wait for the processor behind the processes that it puts there. */
	snprintf(path, sizeof(path), "%s/brig-supervisor/cpu.weight", group);
	assert_string_equal(fake_get(&fake, path), "10000");
	snprintf(path, sizeof(path), "%s/brig-supervisor/cgroup.procs", group);
	assert_false(cgroup_delegate_remove(m)); /* a process is in it */
	fake_put(&fake, path, "");
	assert_true(cgroup_delegate_remove(m));
	assert_string_equal(fake_group(&fake, "", "warden"), "");
	cgroup_manager_free(m);
	fake_remove(&fake);
}

/*
 * The owner of a group in root's parent of all groups must be able to reach it, whatever the umask
 * was.
 */
static void test_delegate_in_parent(void **state)
{
	struct fake fake;
	struct cgroup_manager *m;
	char path[512];
	struct stat st;

	(void)state;
	if (geteuid() != 0) {
		return; /* no other user has such a parent */
	}
	tree(&fake, "0::/user.slice/session-1.scope\n");
	m = manager(&fake);
	mode_t mask = umask(077);
	fake_mkdir(&fake, "brig");
	fake_put(&fake, "brig/cgroup.controllers", "cpu memory pids\n");
	snprintf(path, sizeof(path), "%s/brig", fake.root);
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(cgroup_delegate(m, 65531, getpid()), -ENODEV);
	const char *group = fake_group(&fake, "brig", "warden");
	assert_string_not_equal(group, "");
	fake_put(&fake, in_group("brig", group, "cgroup.controllers"), "cpu memory pids\n");
	assert_int_equal(cgroup_delegate(m, 65531, getpid()), 0);
	umask(mask);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	assert_int_equal(st.st_uid, 0);
	fake_put(&fake, in_group("brig", group, "brig-supervisor/cgroup.procs"), "");
	assert_true(cgroup_delegate_remove(m));
	cgroup_manager_free(m);
	assert_false(fake_has(&fake, "brig"));
	fake_remove(&fake);
}

/* A group of a daemon's: swap is a way around its limit, where the host has any. */
static void test_found_memory(void **state)
{
	static const struct {
		const char *memory, *swap; /* "": the kernel does not count it */
		bool v2, swaps, holds;
	} cases[] = {
		{ "4096\n", "", true, false, true },
		{ "4096\n", "", true, true, false },
		{ "4096\n", "0\n", true, true, true },
		{ "4096\n", "max\n", true, true, false },
		{ "4096\n", "4096\n", true, true, false },
		{ "max\n", "0\n", true, true, false },
		{ "4096\n", "", false, false, true },
		{ "4096\n", "", false, true, false },
		{ "4096\n", "4096\n", false, true, true },
		{ "4096\n", "8192\n", false, true, false },
		{ "8192\n", "4096\n", false, false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool v2 = cases[i].v2;
		struct fake fake;
		fake_make(&fake, "0::/\n");
		fake_put(&fake, v2 ? "memory.max" : "memory.limit_in_bytes", cases[i].memory);
		if (cases[i].swap[0]) {
			fake_put(&fake, v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes",
				 cases[i].swap);
		}
		int dir = open(fake.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_int_equal(cgroup_memory_holds(dir, v2, cases[i].swaps, 4096),
				 cases[i].holds);
		close(dir);
		fake_remove(&fake);
	}
}

/* A group of others that is removed while it is read: its memory is there, and no more the rest. */
static void test_removed_while_it_is_read(void **state)
{
	const struct cgroup_usage last = { .has_memory = true,
					   .has_processes = true,
					   .has_cpu = true,
					   .memory_peak_bytes = 70,
					   .processes_peak = 12,
					   .cpu_ns = 5,
					   .oom_kills = 1,
					   .fork_refusals = 3 };
	struct cgroup_usage usage = { .has_memory = true, .memory_peak_bytes = 80 };
	struct cgroup cgroup = { 0 };

	(void)state;
	cgroup_keep_last(&cgroup, &last, &usage);
	assert_true(usage.has_memory && usage.has_processes && usage.has_cpu);
	assert_int_equal(usage.memory_peak_bytes, 80);
	assert_int_equal(usage.processes_peak, 12);
	assert_int_equal(usage.cpu_ns, 5);
	assert_int_equal(usage.oom_kills, 1);
	assert_int_equal(usage.fork_refusals, 3);
	assert_memory_equal(&cgroup.last, &usage, sizeof(usage));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_namespace_root),
		cmocka_unit_test(test_root_parent),
		cmocka_unit_test(test_delegated_attribute),
		cmocka_unit_test(test_processes_in_the_way),
		cmocka_unit_test(test_without_controllers),
		cmocka_unit_test(test_small_share_and_failure),
		cmocka_unit_test(test_sweep),
		cmocka_unit_test(test_delegate),
		cmocka_unit_test(test_delegate_in_parent),
		cmocka_unit_test(test_found_memory),
		cmocka_unit_test(test_removed_while_it_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
