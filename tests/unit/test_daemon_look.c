/* SPDX-License-Identifier: Apache-2.0 */
/* The mounts and the privileges of a container, as the kernel shows them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/daemon.h"

#define ROOT "1 0 0:9 / / ro,relatime master:1 - overlay overlay rw,lowerdir=/a\n"
#define SETS(bound)                                                                                \
	"CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"        \
	"CapBnd:\t" bound "\nCapAmb:\t0000000000000000\n"
#define STATUS(name, user, bound, locked)                                                          \
	"Name:\t" name "\nUmask:\t0022\nUid:\t" user "\n" SETS(bound) "NoNewPrivs:\t" locked "\n"
#define NO_CAPS "0000000000000000"
#define SAME    "0 0 4294967295\n"
#define GOOD    STATUS("brig-agent", "1000\t1000\t1000\t1000", NO_CAPS, "1")
#define LIMIT   65536u

static struct step steps[] = {
	{ .kind = STEP_BIND, .bind = { .target = "usr/lib", .source = "/usr/lib" } },
	{ .kind = STEP_BIND, .bind = { .target = "usr/lib/a/b", .source = "/usr/lib/a/b" } },
};

static struct daemon_cell cell_of(void)
{
	return (struct daemon_cell){ .kind = &docker_kind,
				     .plan = { .steps = steps, .count = ARRAY_SIZE(steps) } };
}

static bool allowed(const struct daemon_cell *cell, const char *mounts, const char *status,
		    const char *users)
{
	const struct daemon_seen seen = { mounts, status, users };
	char why[256] = "";
	int r = daemon_look_at(cell, LIMIT, &seen, why, sizeof(why));

	assert_int_equal(r < 0, why[0] != '\0');
	return r == 0;
}

static void only_our_places_can_be_written(void **state)
{
	static const struct {
		const char *line;
		bool good;
	} cases[] = {
		{ "2 1 0:10 / /sandbox rw,nosuid - tmpfs tmpfs rw,size=64k,mode=700\n", true },
		{ "2 1 0:10 / /dev/shm rw - tmpfs tmpfs rw,nr_inodes=9,size=64k\n", true },
		{ "2 1 0:10 / /proc rw - proc proc rw\n", true },
		{ "2 1 0:10 /sys /proc/sys ro - proc proc rw\n", true },
		{ "2 1 0:10 /null /proc/keys rw,nosuid - tmpfs tmpfs rw,size=65536k\n", true },
		{ "2 1 0:10 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755\n", true },
		{ "2 1 0:10 / /dev/pts rw - devpts devpts rw\n", true },
		{ "2 1 0:10 / /dev/mqueue rw - mqueue mqueue rw\n", true },
		{ "2 1 0:6 /null /dev/null rw - devtmpfs devtmpfs rw\n", true },
		{ "2 1 0:10 / /sys ro - sysfs sysfs ro\n", true },
		{ "2 1 0:10 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n", true },
		{ "2 1 8:1 /lib /usr/lib ro - ext4 /dev/x rw\n", true },
		{ "2 1 8:1 /lib /usr/lib/a/b ro - ext4 /dev/x rw\n", true },
		{ "2 1 8:1 /x /run ro - tmpfs tmpfs rw\n", true },
		{ "2 1 0:10 / /sys/fs/cgroup rw - tmpfs cgroup rw,size=1024k\n", true },
		{ "2 1 0:10 / /sys/fs/cgroup rw - tmpfs cgroup rw,size=1028k\n", false },
		{ "2 1 0:10 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k\n", false },
		/* A volume; a place of another kind, or larger; a bind; a mount beneath a bind. */
		{ "2 1 8:1 /volumes/x /data rw - ext4 /dev/x rw\n", false },
		{ "2 1 8:1 /volumes/x /sandbox/data rw - ext4 /dev/x rw\n", false },
		{ "2 1 8:1 /volumes/x /tmp rw - ext4 /dev/x rw\n", false },
		{ "2 1 0:10 / /tmp rw - tmpfs tmpfs rw,size=68k\n", false },
		{ "2 1 0:10 / /tmp rw - tmpfs tmpfs rw\n", false },
		{ "2 1 0:10 / /tmp rw - tmpfs tmpfs rw,huge=size=4k\n", false },
		{ "2 1 8:1 /lib /usr/lib rw - ext4 /dev/x rw\n", false },
		{ "2 1 8:1 / /usr/lib/sub rw - tmpfs none rw\n", false },
		{ "2 1 8:1 / /usr/lib/sub ro - tmpfs none rw\n", false },
		{ "2 1 8:1 / /usr/lib/a ro - tmpfs none rw\n", false },
		{ "2 1 0:10 / /proc/sys rw - proc proc rw\n", false },
		{ "2 1 0:10 / /process rw - proc proc rw\n", false },
		{ "2 1 0:10 / /sys rw - sysfs sysfs rw\n", false },
		{ "2 1 0:10 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", false },
		{ "2 1 8:0 / /dev rw - devtmpfs devtmpfs rw\n", false },
		{ "2 1 8:0 /sda /dev/sda rw - devtmpfs devtmpfs rw\n", false },
		{ "2 1 8:0 /x /dev/null rw - ext4 /dev/x rw\n", false },
		{ "2 1 8:1 / / rw - overlay overlay rw\n", false },
		{ "nonsense\n", false },
	};
	const struct daemon_cell cell = cell_of();
	char mounts[1024];

	(void)state;
	assert_true(allowed(&cell, ROOT, GOOD, SAME));
	assert_false(allowed(&cell, "", GOOD, SAME));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s", cases[i].line);
		snprintf(mounts, sizeof(mounts), ROOT "%s", cases[i].line);
		assert_int_equal(allowed(&cell, mounts, GOOD, SAME), cases[i].good);
	}
}

static void an_image_of_the_operators_has_no_binds(void **state)
{
	struct daemon_cell cell = cell_of();
	char path[] = "/cache/agent";

	(void)state;
	cell.agent_path = path;
	assert_true(allowed(&cell, ROOT "2 1 8:1 / /usr/lib/sub ro - ext4 x rw\n", GOOD, SAME));
	assert_false(allowed(&cell, ROOT "2 1 8:1 / /usr/lib/sub rw - ext4 x rw\n", GOOD, SAME));
}

static void long_lists_are_refused(void **state)
{
	static char mounts[600000];
	const struct daemon_cell cell = cell_of();
	size_t at = 0;

	(void)state;
	while (at < sizeof(mounts) - 64) {
		at += (size_t)sprintf(mounts + at, "2 1 0:1 / / ro - tmpfs x rw\n");
	}
	assert_false(allowed(&cell, mounts, GOOD, SAME));
}

static void privileges_are_seen(void **state)
{
	static const struct {
		const char *status, *users;
		bool good;
	} cases[] = {
		{ GOOD, SAME, true },
		{ STATUS("brig-agent", "100999\t100999\t100999\t100999", NO_CAPS, "1"),
		  "         0       5000          1\n         1     100000      65536\n", true },
		{ GOOD, "0 100000 65536\n", false },
		{ GOOD, "", false },
		{ STATUS("brig-agent", "0\t0\t0\t0", NO_CAPS, "1"), SAME, false },
		{ STATUS("brig-agent", "1000\t0\t1000\t1000", NO_CAPS, "1"), SAME, false },
		{ STATUS("brig-agent", "1000\t1000\t1000\t1000", "00000000a80425fb", "1"), SAME,
		  false },
		{ STATUS("brig-agent", "1000\t1000\t1000\t1000", NO_CAPS, "0"), SAME, false },
		{ STATUS("sh", "1000\t1000\t1000\t1000", NO_CAPS, "1"), SAME, false },
		{ "Name:\tbrig-agent\n", SAME, false },
		{ "", SAME, false },
	};
	const struct daemon_cell cell = cell_of();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(allowed(&cell, ROOT, cases[i].status, cases[i].users),
				 cases[i].good);
	}
}

/* A kernel of its own: its process on the host is not the agent. */
static void a_runtime_that_is_named_may_hide_the_agent(void **state)
{
	static const char sandbox[] = STATUS("runsc-sandbox", "0\t0\t0\t0", NO_CAPS, "1");
	char runtime[] = "runsc";
	const struct daemon_settings named = { .runtime = runtime };
	struct daemon_cell cell = cell_of();

	(void)state;
	assert_false(allowed(&cell, ROOT, sandbox, SAME));
	cell.settings = &named;
	assert_true(allowed(&cell, ROOT, sandbox, SAME));
	assert_false(allowed(&cell, ROOT "2 1 8:1 / /data rw - ext4 x rw\n", GOOD, SAME));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_our_places_can_be_written),
		cmocka_unit_test(an_image_of_the_operators_has_no_binds),
		cmocka_unit_test(long_lists_are_refused),
		cmocka_unit_test(privileges_are_seen),
		cmocka_unit_test(a_runtime_that_is_named_may_hide_the_agent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
