/* SPDX-License-Identifier: Apache-2.0 */
/* Mount points beneath a directory, by files that look like /proc/self/mountinfo. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/submount.h"

static const char table[] = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
			    "23 22 0:5 / /proc rw - proc proc rw\n"
			    "30 22 8:2 / /data rw - ext4 /dev/sdb1 rw\n"
			    "31 30 8:3 /sub /data/in/deep rw master:1 - ext4 /dev/sdb2 rw\n"
			    "32 22 0:9 / /a\\040b/c\\134040d rw - tmpfs tmpfs rw\n"
			    "33 22 0:9 / /tab\\011x\\012y/z rw - tmpfs tmpfs rw\n"
			    "34 22 0:9 / /plain\\9/m rw - tmpfs tmpfs rw\n";

static char path[] = "/tmp/brig-submount.XXXXXX";

static int write_table(const char *text)
{
	FILE *file = fopen(path, "we");

	return !file || fputs(text, file) < 0 || fclose(file) != 0 ? -1 : 0;
}

static int set_up(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	close(fd);
	return fd < 0 ? -1 : write_table(table);
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

static void test_find(void **state)
{
	static const struct {
		const char *dir, *found;
	} cases[] = {
		{ "/data", "/data/in/deep" },
		{ "/data/", "/data/in/deep" },
		{ "/data/in", "/data/in/deep" },
		{ "/data/in/deep", NULL }, /* a directory is not beneath itself */
		{ "/data/in/de", NULL },
		{ "/dat", NULL },
		{ "/data/out", NULL },
		{ "/", "/proc" },
		{ "/proc", NULL },
		{ "/a b", "/a b/c\\040d" }, /* an escaped backslash starts no escape */
		{ "/a\\040b", NULL },
		{ "/tab\tx\ny", "/tab\tx\ny/z" },
		{ "/plain\\9", "/plain\\9/m" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *found = NULL;
		int r = submount_find(path, cases[i].dir, &found);

		assert_int_equal(r, cases[i].found ? 1 : 0);
		if (cases[i].found) {
			assert_string_equal(found, cases[i].found);
		}
	}
}

static void test_unreadable(void **state)
{
	char *found = NULL;

	(void)state;
	assert_int_equal(submount_find("/nowhere/mountinfo", "/data", &found), -ENOENT);
	assert_int_equal(write_table("22 1 8:1\n"), 0);
	assert_int_equal(submount_find(path, "/data", &found), -EIO);
	assert_null(found);
}

/* The real one: /proc is beneath /, and nothing is beneath a fresh directory. */
static void test_host(void **state)
{
	char dir[] = "/tmp/brig-submount-dir.XXXXXX";
	_cleanup_free_ char *found = NULL;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(submount_find("/proc/self/mountinfo", dir, &found), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(submount_find("/proc/self/mountinfo", "/", &found), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
