/* SPDX-License-Identifier: Apache-2.0 */
/* Files of launchers, their words, and the check of mounts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "launcher/launcher_provider.h"

#define LAYERS "\"layers\": [\"userns\", \"pidns\", \"mntns\", \"netns\", \"rootfs\", \"caps\"]"

static int parse(const char *text, struct launcher *ret, struct brig_error *err)
{
	return launcher_parse("x", "launchers/x.json", text, strlen(text), ret, err);
}

static void test_built_in(void **state)
{
	_cleanup_(strlist_done)
	struct strlist names = { 0 };

	(void)state;
	assert_int_equal(launcher_names(&names), 0);
	assert_int_equal(names.count, 2);
	for (size_t i = 0; i < names.count; i++) {
		_cleanup_(launcher_done)
		struct launcher launcher = { 0 };
		struct brig_error err = { 0 };
		assert_int_equal(launcher_built_in(names.items[i], &launcher, &err), 0);
		assert_string_equal(launcher.name, names.items[i]);
		assert_true(launcher.probe.count > 0);
		/* Only what the tests run is called tried. */
		assert_int_equal(launcher.tried != NULL, strcmp(launcher.name, "bubblewrap") == 0);
	}
	struct launcher none = { 0 };
	assert_int_equal(launcher_built_in("../policies/default", &none, NULL), -ENOENT);
}

static void test_expanded(void **state)
{
	static const char *const values[LAUNCHER_WORDS] = {
		[LAUNCHER_ROOT] = "/r",   [LAUNCHER_AGENT] = "/a",      [LAUNCHER_UID] = "7",
		[LAUNCHER_GID] = "{uid}", [LAUNCHER_HOSTNAME] = "host",
	};
	static const char *const expected[] = { "--chroot=/r", "7:{uid}:{}{A}", "", "/a" };
	_cleanup_(launcher_done)
	struct launcher launcher = { 0 };
	_cleanup_(strlist_done)
	struct strlist command = { 0 };
	struct brig_error err = { 0 };

	(void)state;
	assert_int_equal(parse("{ \"program\": \"x\", " LAYERS ", \"arguments\": "
			       "[\"--chroot={root}\", \"{uid}:{gid}:{}{A}\", \"\", \"{agent}\"] }",
			       &launcher, &err),
			 0);
	assert_int_equal(launcher_expand(&launcher, values, &command), 0);
	assert_int_equal(command.count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < command.count; i++) {
		assert_string_equal(command.items[i], expected[i]);
	}
}

static void test_refused(void **state)
{
	static const char *const texts[] = {
		"{ \"program\": \"x\", " LAYERS " }",
		"{ " LAYERS ", \"arguments\": [\"{root}\", \"{agent}\"] }",
		"{ \"program\": \"x\", \"arguments\": [\"{root}\", \"{agent}\"] }",
		"{ \"program\": \"x\", " LAYERS ", \"arguments\": [\"{root}\"] }",
		"{ \"program\": \"x\", " LAYERS ", \"arguments\": [\"{root}/..\", \"{agent}\"] }",
		"{ \"program\": \"x\", " LAYERS ", \"arguments\": [\"{root}\", \"{agents}\"] }",
		"{ \"program\": \"a/b\", " LAYERS ", \"arguments\": [\"{root}\", \"{agent}\"] }",
		"{ \"program\": \"\", " LAYERS ", \"arguments\": [\"{root}\", \"{agent}\"] }",
		"{ \"program\": \"x\", \"layers\": [], \"arguments\": [\"{root}\", \"{agent}\"] }",
		"[]",
		"",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct launcher launcher = { 0 };
		struct brig_error err = { 0 };
		assert_true(parse(texts[i], &launcher, &err) < 0);
		assert_non_null(strstr(err.message, "launchers/x.json"));
		assert_null(launcher.program);
	}
}

/* --- mounts ----------------------------------------------------------------------------------- */

#define ROOT_LINE "1 0 0:9 /.brig/root / ro,nosuid - tmpfs none rw\n"

static struct step steps[] = {
	{ .kind = STEP_BIND, .bind = { .target = "usr/lib", .source = "/usr/lib" } },
	{ .kind = STEP_MOUNT, .mount = { .target = "mnt/w x", .source = "/w" } },
	{ .kind = STEP_MOUNT,
	  .mount = { .target = "mnt/r", .source = "/r", .attributes = MOUNT_ATTR_RDONLY } },
};

static bool allowed(const char *lines)
{
	struct held_cell held = { .plan = { .steps = steps, .count = ARRAY_SIZE(steps) } };
	struct run run = { .cell = &held, .sandbox = open("/tmp", O_PATH | O_CLOEXEC) };
	char text[2048], why[160] = "";
	struct stat info;

	assert_true(run.sandbox >= 0 && fstat(run.sandbox, &info) == 0);
	const char *here = strstr(lines, "HERE");
	if (here) {
		snprintf(text, sizeof(text), "%.*s%u:%u%s", (int)(here - lines), lines,
			 major(info.st_dev), minor(info.st_dev), here + strlen("HERE"));
	} else {
		snprintf(text, sizeof(text), "%s", lines);
	}
	int r = launcher_check_mounts(&run, text, why, sizeof(why));
	close(run.sandbox);
	assert_int_equal(r < 0, why[0] != '\0' || text[0] == '\0');
	return r == 0;
}

static void test_mounts(void **state)
{
	static const struct {
		const char *lines;
		bool good;
	} cases[] = {
		{ ROOT_LINE "2 1 HERE / /sandbox rw - tmpfs none rw\n", true },
		{ ROOT_LINE "2 1 8:1 /lib /usr/lib ro,nosuid - ext4 /dev/x rw\n", true },
		{ ROOT_LINE "2 1 8:1 /lib /usr/lib/sub ro - ext4 /dev/x rw\n", true },
		{ ROOT_LINE "2 1 8:1 /w /mnt/w\\040x rw,nosuid - ext4 /dev/x rw\n", true },
		{ ROOT_LINE "2 1 8:1 /r /mnt/r ro - ext4 /dev/x rw\n", true },
		{ ROOT_LINE "2 1 0:5 / /proc rw - proc proc rw\n", true },
		{ ROOT_LINE "2 1 0:6 /null /dev/null rw shared:1 - devtmpfs d rw", true },
		{ "1 0 0:9 / / rw - tmpfs none rw\n", false },
		{ "1 0 0:9 / / rox - tmpfs none rw\n", false },
		{ ROOT_LINE "2 1 0:0 / /sandbox rw - tmpfs none rw\n", false },
		{ ROOT_LINE "2 1 8:1 /lib /usr/lib rw - ext4 /dev/x rw\n", false },
		{ ROOT_LINE "2 1 8:1 /lib /usr/library ro - ext4 /dev/x rw\n", false },
		{ ROOT_LINE "2 1 8:1 / /usr ro - ext4 /dev/x rw\n", false },
		{ ROOT_LINE "2 1 8:1 /r /mnt/r rw - ext4 /dev/x rw\n", false },
		{ ROOT_LINE "2 1 8:1 /r /mnt/w ro - ext4 /dev/x rw\n", false },
		{ ROOT_LINE "2 1 0:6 / /dev rw - devtmpfs d rw\n", false },
		{ ROOT_LINE "2 1 0:6 / /process ro - tmpfs d rw\n", false },
		{ ROOT_LINE "nonsense\n", false },
		{ ROOT_LINE "2 1 0:5 / /proc rw\n3 1 0:5 / /proc rw - proc proc rw\n", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s", cases[i].lines);
		assert_int_equal(allowed(cases[i].lines), cases[i].good);
	}
}

static void test_proc(void **state)
{
	static const char full[] = "2 1 0:5 / /proc rw - proc proc rw\n";
	static const char small[] =
		"3 2 0:6 / /proc rw - proc proc rw,hidepid=invisible,subset=pid\n";
	char text[256];

	(void)state;
	assert_true(launcher_check_proc(small));
	assert_false(launcher_check_proc(full));
	assert_false(launcher_check_proc(""));
	assert_false(launcher_check_proc(ROOT_LINE));
	snprintf(text, sizeof(text), "%s%s", full, small);
	assert_true(launcher_check_proc(text));
	snprintf(text, sizeof(text), "%s%s", small, full);
	assert_false(launcher_check_proc(text));
	/* The options of another line. */
	assert_false(launcher_check_proc("2 1 0:5 / /proc rw - proc proc rw\n"
					 "4 1 0:7 / /sys ro - tmpfs x subset=pid\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_built_in), cmocka_unit_test(test_expanded),
		cmocka_unit_test(test_refused),  cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_proc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
