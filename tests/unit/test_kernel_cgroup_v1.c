/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup v1 on a fake tree: where groups go, the files written and read, half-made ones, sweep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/cgroup/cgroup_internal.h"
#include "test_kernel_cgroup_fake.h"

static const char *const files[] = {
	"cgroup.procs",
	"tasks",
	"cgroup.event_control",
	"memory.limit_in_bytes",
	"memory.kmem.tcp.limit_in_bytes",
	"memory.kmem.tcp.usage_in_bytes",
	"memory.memsw.limit_in_bytes",
	"memory.max_usage_in_bytes",
	"memory.usage_in_bytes",
	"memory.oom_control",
	"pids.max",
	"pids.current",
	"pids.events",
	"cpu.cfs_quota_us",
	"cpu.cfs_period_us",
	"cpu.shares",
	"cpuacct.usage",
	NULL,
};

static const char self_text[] = "5:cpuset:/\n4:memory:/a/b\n3:cpu,cpuacct:/\n2:pids:/../x\n0::/\n";

static void tree(struct fake *fake)
{
	fake_make(fake, self_text);
	fake_mkdir(fake, "memory");
	fake_mkdir(fake, "memory/a");
	fake_mkdir(fake, "memory/a/b");
	fake_mkdir(fake, "pids");
	fake_mkdir(fake, "cpu,cpuacct");
	fake_files = files;
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

	snprintf(path, sizeof(path), "%s/%s/%s", dir, group, file);
	return path;
}

static void test_fake(void **state)
{
	struct cgroup_limits limits = { 1 << 25, 17, 100 };
	struct fake fake;
	struct cgroup_manager *m;
	struct cgroup *c = NULL;
	struct cgroup_usage usage;
	char name[512];
	int fds[CGROUP_JOIN_MAX];

	(void)state;
	tree(&fake);
	m = manager(&fake);
	assert_string_equal(cgroup_manager_means(m), "cgroup1");
	assert_int_equal(cgroup_manager_layers(m), LAYER_BIT(LAYER_CGROUP_MEMORY) |
							   LAYER_BIT(LAYER_CGROUP_PIDS) |
							   LAYER_BIT(LAYER_CGROUP_CPU));
	assert_non_null(strstr(cgroup_manager_where(m), "/memory/a/b"));
	assert_int_equal(cgroup_new(m, "RUN1", &limits, &c, NULL), 0);
	strcpy(name, fake_group(&fake, "memory/a/b", "RUN1"));
	assert_string_equal(fake_get(&fake, in_group("memory/a/b", name, "memory.limit_in_bytes")),
			    "33554432");
	assert_string_equal(
		fake_get(&fake, in_group("memory/a/b", name, "memory.kmem.tcp.limit_in_bytes")),
		"8388608");
	assert_string_equal(
		fake_get(&fake, in_group("memory/a/b", name, "memory.memsw.limit_in_bytes")),
		cgroup_host_swaps() ? "33554432" : "");
	assert_string_equal(fake_get(&fake, in_group("pids", name, "pids.max")), "17");
	assert_string_equal(fake_get(&fake, in_group("cpu,cpuacct", name, "cpu.cfs_quota_us")),
			    "10000");
	cgroup_weigh(c, 25);
	assert_string_equal(fake_get(&fake, in_group("cpu,cpuacct", name, "cpu.shares")), "40");
	cgroup_weigh(c, 1);
	assert_int_equal(atoi(fake_get(&fake, in_group("cpu,cpuacct", name, "cpu.shares"))), 1024);
	assert_int_equal(cgroup_join_fds(c, fds), 3);
	assert_int_equal(cgroup_clone_fd(c), -1);
	assert_false(cgroup_kill(c));
	fake_put(&fake, in_group("memory/a/b", name, "memory.max_usage_in_bytes"), "777\n");
	fake_put(&fake, in_group("memory/a/b", name, "memory.kmem.tcp.usage_in_bytes"), "4096\n");
	fake_put(&fake, in_group("memory/a/b", name, "memory.oom_control"),
		 "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
	fake_put(&fake, in_group("pids", name, "pids.current"), "2\n");
	fake_put(&fake, in_group("pids", name, "pids.events"), "max 6\n");
	fake_put(&fake, in_group("cpu,cpuacct", name, "cpuacct.usage"), "123456\n");
	cgroup_usage(c, &usage);
	assert_true(usage.has_memory && usage.has_processes && usage.has_cpu);
	assert_int_equal(usage.sockets_bytes, 4096);
	assert_int_equal(usage.memory_peak_bytes, 777);
	assert_int_equal(usage.oom_kills, 4);
	assert_int_equal(usage.processes_now, 2);
	assert_int_equal(usage.processes_peak, 0);
	assert_int_equal(usage.fork_refusals, 6);
	assert_int_equal(usage.cpu_ns, 123456);
	cgroup_free(c);
	assert_string_equal(fake_group(&fake, "memory/a/b", "RUN1"), "");
	assert_string_equal(fake_group(&fake, "pids", "RUN1"), "");
	assert_string_equal(fake_group(&fake, "cpu,cpuacct", "RUN1"), "");
	cgroup_manager_free(m);
	fake_remove(&fake);
}

/* A failure half-way leaves nothing of the trees that were already made. */
static void test_fake_half(void **state)
{
	struct cgroup_limits limits = { 1 << 25, 17, 0 };
	struct brig_error err = { 0 };
	struct fake fake;
	struct cgroup_manager *m;
	struct cgroup *c = NULL;

	(void)state;
	tree(&fake);
	m = manager(&fake);
	fake_files = (const char *const[]){ "tasks", "memory.limit_in_bytes", NULL };
	assert_int_equal(cgroup_new(m, "RUN1", &limits, &c, &err), -ENOENT);
	assert_non_null(strstr(err.message, "pids.max"));
	assert_string_equal(fake_group(&fake, "memory/a/b", "RUN1"), "");
	assert_string_equal(fake_group(&fake, "pids", "RUN1"), "");
	fake_files = files;
	cgroup_manager_free(m);
	fake_remove(&fake);
}

static void test_fake_sweep(void **state)
{
	struct fake fake;
	struct cgroup_manager *m;

	(void)state;
	tree(&fake);
	m = manager(&fake);
	fake_mkdir(&fake, FAKE_DEAD(m, "memory/a/b/", "A"));
	fake_mkdir(&fake, FAKE_DEAD(m, "pids/", "A"));
	fake_mkdir(&fake, FAKE_DEAD(m, "pids/", "B"));
	assert_int_equal(cgroup_manager_sweep(m), 2);
	assert_false(fake_has(&fake, FAKE_DEAD(m, "memory/a/b/", "A")));
	assert_false(fake_has(&fake, FAKE_DEAD(m, "pids/", "A")));
	assert_false(fake_has(&fake, FAKE_DEAD(m, "pids/", "B")));
	cgroup_manager_free(m);
	fake_remove(&fake);
}

/*
 * A process that fills a group for another user is not in it where processors are shared out: there
 * it stays beside the processes that it puts into the group, and finds the group again by its name.
 */
static void test_delegate(void **state)
{
	struct cgroup_limits limits = { 1 << 25, 17, 100 };
	char name[256], self[1024], path[300];
	struct fake fake;
	struct cgroup *c = NULL;

	(void)state;
	tree(&fake);
	struct cgroup_manager *m = manager(&fake);
	uid_t user = geteuid() == 0 ? 65531 : geteuid();
	assert_int_equal(cgroup_delegate(m, user, getpid()), 0);
	strcpy(name, fake_group(&fake, "pids", "warden"));
	assert_int_equal(atoi(fake_get(&fake, in_group("pids", name, "cgroup.procs"))),
			 (int)getpid());
	assert_string_equal(fake_get(&fake, in_group("cpu,cpuacct", name, "cgroup.procs")), "");

	snprintf(self, sizeof(self), "4:memory:/a/b/%s\n3:cpu,cpuacct:/\n2:pids:/%s\n", name, name);
	fake_put(&fake, "self", self);
	struct cgroup_manager *inner = manager(&fake);
	snprintf(path, sizeof(path), "cpu,cpuacct/%.250s", name);
	assert_int_equal(cgroup_new(inner, "RUN1", &limits, &c, NULL), 0);
	assert_string_not_equal(fake_group(&fake, path, "RUN1"), "");
	assert_string_equal(fake_group(&fake, "cpu,cpuacct", "RUN1"), "");
	cgroup_free(c);
	cgroup_manager_free(inner);
	for (size_t i = 0; i < 3; i++) {
		static const char *const trees[] = { "memory/a/b", "pids", "cpu,cpuacct" };
		fake_put(&fake, in_group(trees[i], name, "cgroup.procs"), "");
	}
	assert_true(cgroup_delegate_remove(m));
	cgroup_manager_free(m);
	fake_remove(&fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fake),
		cmocka_unit_test(test_fake_half),
		cmocka_unit_test(test_fake_sweep),
		cmocka_unit_test(test_delegate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
