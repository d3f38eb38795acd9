/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups: the choice of means, hosts without any, and the parsers of the small files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/cgroup/cgroup_internal.h"
#include "test_kernel_cgroup_fake.h"

static void expect_none(const struct cgroup_options *options, const char *why)
{
	struct cgroup_limits limits = { 1 << 20, 5, 100 };
	struct cgroup_manager *m = NULL;
	struct cgroup *c = NULL;
	struct cgroup_usage usage;
	int fds[CGROUP_JOIN_MAX];
	short events;

	assert_int_equal(cgroup_manager_new(options, &m, NULL), 0);
	assert_string_equal(cgroup_manager_means(m), "none");
	assert_int_equal(cgroup_manager_layers(m), 0);
	assert_string_equal(cgroup_manager_where(m), "");
	assert_non_null(strstr(cgroup_manager_why(m), why));
	assert_int_equal(cgroup_manager_sweep(m), 0);
	assert_int_equal(cgroup_new(m, "RUN1", &limits, &c, NULL), 0);
	assert_int_equal(cgroup_clone_fd(c), -1);
	assert_int_equal(cgroup_join_fds(c, fds), 0);
	assert_int_equal(cgroup_attach(c, getpid(), NULL), 0);
	assert_int_equal(cgroup_event_fd(c, &events), -1);
	cgroup_event_clear(c);
	cgroup_usage(c, &usage);
	assert_false(usage.has_memory || usage.has_processes || usage.has_cpu);
	assert_false(cgroup_kill(c));
	cgroup_free(c);
	cgroup_manager_free(m);
}

static void test_none(void **state)
{
	struct fake fake;

	(void)state;
	expect_none(&(struct cgroup_options){ .disabled = true }, "switched off");
	expect_none(&(struct cgroup_options){ .root = "/nonexistent" }, "/nonexistent");
	fake_make(&fake, "0::/\n");
	expect_none(&(struct cgroup_options){ .root = fake.root, .self = "/nonexistent" },
		    "/nonexistent");
	expect_none(&(struct cgroup_options){ fake.root, fake.self, true, false },
		    "cgroup v2: not mounted");
	fake_remove(&fake);
	cgroup_free(NULL);
	cgroup_manager_free(NULL);
}

static void test_texts(void **state)
{
	static const char self[] = "12:cpuset:/\n4:cpu,cpuacct:/x y\n1:name=systemd:/s\n0::/u\n";
	char path[16];
	uint64_t value = 0;

	(void)state;
	assert_true(cgroup_text_u64("18446744073709551615\n", &value));
	assert_true(value == UINT64_MAX);
	assert_false(cgroup_text_u64("18446744073709551616", &value));
	assert_false(cgroup_text_u64("max", &value));
	assert_false(cgroup_text_u64("", &value));
	assert_false(cgroup_text_u64("-1", &value));
	assert_true(cgroup_text_value("oom 1\noom_kill 7\n", "oom_kill", &value));
	assert_int_equal(value, 7);
	assert_false(cgroup_text_value("xoom_kill 7\n", "oom_kill", &value));
	assert_false(cgroup_text_value("oom_kill", "oom_kill", &value));
	assert_true(cgroup_text_word("cpuset cpu memory\n", "cpu"));
	assert_false(cgroup_text_word("cpuset memory", "cpu"));
	assert_false(cgroup_text_word("", "cpu"));
	assert_true(cgroup_self_path(self, "cpuacct", path, sizeof(path)));
	assert_string_equal(path, "x y");
	assert_true(cgroup_self_path(self, "", path, sizeof(path)));
	assert_string_equal(path, "u");
	assert_true(cgroup_self_path(self, "cpuset", path, sizeof(path)));
	assert_string_equal(path, "");
	assert_false(cgroup_self_path(self, "memory", path, sizeof(path)));
	assert_false(cgroup_self_path("0::/longer-than-16-bytes", "", path, sizeof(path)));
	assert_false(cgroup_self_path("garbage\n:\n::", "memory", path, sizeof(path)));
}

static void test_names(void **state)
{
	struct cgroup_manager m = { 0 };
	char name[CGROUP_NAME_MAX];

	(void)state;
	assert_int_equal(cgroup_name_make(&m, "01ARZ3NDEKTSV4RRFFQ69G5FAV", name), 0);
	assert_false(cgroup_name_stale(&m, name));
	assert_false(cgroup_name_stale(&m, "brig-0-1-A"));
	assert_false(cgroup_name_stale(&m, "brig-99999999999-1-A"));
	assert_false(cgroup_name_stale(&m, "brig--1-1-A"));
	assert_false(cgroup_name_stale(&m, "brig-2147483646-1-../A"));
	assert_false(cgroup_name_stale(&m, "brig-2147483646-99999999999999999999999-A"));
	assert_false(cgroup_name_stale(&m, "brig-2147483646-1-A:"));
	assert_false(cgroup_name_stale(&m, "brig-2147483646-1-A:7x"));
	assert_int_equal(cgroup_name_make(&m, "", name), -EINVAL);
	assert_int_equal(cgroup_name_make(&m, "a/b", name), -EINVAL);
}

#define LEFT 60 /* more than are tried at once */

static const char *going; /* the first letters of those that can be removed now */

static bool remove_if_going(struct cgroup *cgroup)
{
	return strchr(going, cgroup->name[0]) != NULL;
}

static bool kill_all(struct cgroup *cgroup)
{
	(void)cgroup;
	return true;
}

static void leave(struct cgroup_manager *m, const char *name)
{
	struct cgroup *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	c->manager = m;
	c->dir_fd = c->memory_fd = c->event_fd = -1;
	memset(c->join_fds, -1, sizeof(c->join_fds));
	memset(c->usage_fds, -1, sizeof(c->usage_fds));
	snprintf(c->name, sizeof(c->name), "%s", name);
	cgroup_free(c);
}

/* Groups that cannot be removed prevent no other, older or newer, from being tried. */
static void test_leftovers_take_turns(void **state)
{
	static const struct cgroup_ops ops = { .remove = remove_if_going, .kill = kill_all };
	struct cgroup_manager m = { .ops = &ops };

	(void)state;
	cgroup_manager_hurry(&m);
	going = "";
	for (unsigned i = 0; i < LEFT; i++) {
		leave(&m, i % 20 == 10 ? "free" : "stuck");
	}
	going = "f";
	for (unsigned i = 0; i < 4; i++) { /* 16 in each */
		assert_true(cgroup_manager_tidy(&m));
	}
	assert_int_equal(m.leftovers_count, LEFT - LEFT / 20);
	leave(&m, "free");
	assert_int_equal(m.leftovers_count, LEFT - LEFT / 20);
	going = "fs";
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(cgroup_manager_tidy(&m), i < 3);
	}
	assert_true(list_empty(&m.leftovers));
	assert_int_equal(m.leftovers_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_leftovers_take_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
