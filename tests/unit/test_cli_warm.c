/* SPDX-License-Identifier: Apache-2.0 */
/* The decision of the warm service: groups in a fake tree, and facts that differ in one thing. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/warm/warm_facts.h"
#include "cli/warm/warm_groups.h"

#define SESSION "/user.slice/user-1000.slice/session-3.scope"
#define SERVICE "/user.slice/user-1000.slice/user@1000.service/app.slice/brig-warm.service"

static char root[64];

static void write_file(const char *group, const char *name, const char *text)
{
	char path[512];

	snprintf(path, sizeof(path), "%s%s/%s", root, group, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	fclose(file);
}

static void make_group(const char *group)
{
	char path[512];

	for (const char *slash = strchr(group + 1, '/');; slash = strchr(slash + 1, '/')) {
		int length = slash ? (int)(slash - group) : (int)strlen(group);
		snprintf(path, sizeof(path), "%s%.*s", root, length, group);
		mkdir(path, 0700);
		if (!slash) {
			break;
		}
	}
	write_file(group, "memory.max", "max\n");
	write_file(group, "pids.max", "max\n");
	write_file(group, "cpu.max", "max 100000\n");
	write_file(group, "cpuset.cpus", "\n");
}

static int make_tree(void **state)
{
	(void)state;
	strcpy(root, "/tmp/brig-unit-warm-XXXXXX");
	assert_non_null(mkdtemp(root));
	make_group(SESSION);
	make_group(SESSION "/inner");
	make_group(SERVICE);
	/* Above both: it holds the service too. */
	write_file("/user.slice/user-1000.slice", "pids.max", "4000\n");
	return 0;
}

static int remove_tree(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	return system(command) == 0 ? 0 : -1;
}

static bool differ(const char *service, const char *client)
{
	return warm_groups_differ(root, service, client);
}

static void test_groups(void **state)
{
	(void)state;
	assert_false(differ("0::" SERVICE "\n", "0::" SERVICE "\n"));
	assert_false(differ("0::" SERVICE "\n", "0::" SESSION "\n"));
	assert_false(differ("0::" SERVICE "\n", "0::" SESSION "/inner\n"));
	assert_false(differ("0::" SERVICE "\n", "0::/user.slice/user-1000.slice\n"));
	assert_false(differ("0::" SESSION "/brig-supervisor\n", "0::" SESSION "\n"));
	assert_true(differ("0::" SERVICE "\n", "0::/not/there\n"));
	/* Without a tree only the same group is accepted. */
	assert_true(warm_groups_differ(NULL, "0::" SERVICE "\n", "0::" SESSION "\n"));
	assert_false(warm_groups_differ(NULL, "0::/a\n", "0::/a/brig-supervisor\n"));
	/* A name that begins with another one is not below it. */
	assert_true(differ("0::" SERVICE "\n", "0::/user.slice/user-100\n"));
}

static void test_groups_with_limits(void **state)
{
	static const struct {
		const char *group, *name, *text;
	} limits[] = {
		{ SESSION, "memory.max", "1000000\n" },  { SESSION, "memory.high", "5000000\n" },
		{ SESSION, "pids.max", "100\n" },        { SESSION, "cpu.max", "50000 100000\n" },
		{ SESSION, "cpuset.cpus", "0-1\n" },     { SESSION, "io.max", "8:0 rbps=1\n" },
		{ SESSION "/inner", "pids.max", "9\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		make_tree(NULL);
		write_file(limits[i].group, limits[i].name, limits[i].text);
		assert_true(differ("0::" SERVICE "\n", "0::" SESSION "/inner\n"));
		/* The other way round the service is the one with the limit. */
		assert_false(differ("0::" SESSION "/inner\n", "0::" SERVICE "\n"));
		remove_tree(NULL);
	}
	make_tree(NULL);
}

static void test_other_hierarchies(void **state)
{
	(void)state;
	assert_false(differ("2:memory:/a\n0::/\n", "2:memory:/a\n0::/\n"));
	assert_true(differ("2:memory:/a\n0::/\n", "2:memory:/b\n0::/\n"));
	assert_true(differ("0::" SERVICE "\n", "0::" SESSION "\n2:memory:/\n"));
	assert_true(differ("0::" SERVICE "\n", ""));
	assert_true(differ("0::" SERVICE "\n", "0::/../other\n"));
}

static void test_own_facts(void **state)
{
	struct warm_facts *ours = calloc(3, sizeof(*ours));

	(void)state;
	assert_non_null(ours);
	assert_int_equal(warm_facts_read(getpid(), &ours[0]), 0);
	assert_int_equal(warm_facts_read(getpid(), &ours[1]), 0);
	/* A debugger or a filter around the tests is a reason of its own. */
	const char *usual = warm_facts_differ(&ours[0], &ours[1]);
	if (usual) {
		print_message("not compared: %s\n", usual);
		free(ours);
		return;
	}
	for (size_t i = 0; i < sizeof(ours[2].lines); i += sizeof(ours[2].lines[0])) {
		ours[2] = ours[1];
		char *line = (char *)ours[2].lines + i;
		if (*line) {
			line[strlen(line) - 1] ^= 1;
			assert_non_null(warm_facts_differ(&ours[0], &ours[2]));
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(ours[2].ids); i++) {
		ours[2] = ours[1];
		if (ours[2].ids[i].inode) {
			ours[2].ids[i].inode++;
			assert_non_null(warm_facts_differ(&ours[0], &ours[2]));
		}
	}
	ours[2] = ours[1];
	ours[2].limits[0] ^= 1;
	assert_string_equal(warm_facts_differ(&ours[0], &ours[2]), "resource limits");
	ours[2] = ours[1];
	ours[2].oom_score++;
	assert_string_equal(warm_facts_differ(&ours[0], &ours[2]), "oom_score_adj");
	ours[2].oom_score -= 2;
	assert_null(warm_facts_differ(&ours[0], &ours[2]));
	ours[2].schedule.nice++;
	assert_string_equal(warm_facts_differ(&ours[0], &ours[2]), "scheduling");
	free(ours);
}

static void test_a_process_that_is_not_there(void **state)
{
	struct warm_facts *facts = malloc(sizeof(*facts));

	(void)state;
	assert_non_null(facts);
	assert_true(warm_facts_read(0x7fffffff, facts) < 0);
	free(facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_groups_with_limits),
		cmocka_unit_test(test_other_hierarchies),
		cmocka_unit_test(test_own_facts),
		cmocka_unit_test(test_a_process_that_is_not_there),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
