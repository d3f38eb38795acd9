/* SPDX-License-Identifier: Apache-2.0 */
/* Files that appear completely or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/files/publish.h"

struct place {
	char path[32];
	int dir;
};

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_non_null(place);
	strcpy(place->path, "/tmp/brig-publish-XXXXXX");
	assert_non_null(mkdtemp(place->path));
	place->dir = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(place->dir >= 0);
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	unlinkat(place->dir, "name", 0);
	close(place->dir);
	assert_int_equal(rmdir(place->path), 0); /* the directory held nothing else */
	free(place);
	return 0;
}

static void whole(void **state)
{
	struct place *place = *state;
	struct stat info;
	char text[16] = "";

	assert_int_equal(publish_file(place->dir, "name", "content", 7), 0);
	int fd = openat(place->dir, "name", O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, text, sizeof(text)), 7);
	assert_string_equal(text, "content");
	assert_int_equal(fstat(fd, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0600);
	close(fd);
}

static void stays(void **state)
{
	struct place *place = *state;
	struct stat info;

	assert_int_equal(publish_file(place->dir, "name", "first", 5), 0);
	assert_int_equal(publish_file(place->dir, "name", "second one", 10), -EEXIST);
	assert_int_equal(fstatat(place->dir, "name", &info, 0), 0);
	assert_int_equal(info.st_size, 5);
}

static void nothing_of_a_failure(void **state)
{
	struct place *place = *state;
	struct rlimit before, small = { .rlim_cur = 4, .rlim_max = RLIM_INFINITY };
	struct stat info;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small.rlim_max = before.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	int r = publish_file(place->dir, "name", "too long", 8);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(r, -EFBIG);
	assert_int_equal(fstatat(place->dir, "name", &info, 0), -1);
}

static void no_directory(void **state)
{
	(void)state;
	assert_int_equal(publish_file(-1, "name", "x", 1), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_of_a_failure, set_up, tear_down),
		cmocka_unit_test(no_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
