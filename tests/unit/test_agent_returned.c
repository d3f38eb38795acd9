/* SPDX-License-Identifier: Apache-2.0 */
/* Returned files of an agent that belongs to the program: it lies, and reaches nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "agent_link/own_tmpfs.h"
#include "agent_link/returned.h"
#include "base/cleanup.h"
#include "kernel/walk.h"

#define DISK_BYTES (4u << 20)
#define INODES     64u

struct place {
	struct own_tmpfs place;
	struct returned files;
};

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	place->place = (struct own_tmpfs)OWN_TMPFS_NONE;
	assert_int_equal(own_tmpfs_begin(&place->place, DISK_BYTES, INODES), 0);
	struct pollfd ready = { .fd = place->place.socket, .events = POLLIN };
	assert_int_equal(poll(&ready, 1, 20000), 1);
	assert_int_equal(own_tmpfs_take(&place->place), 1);
	place->files =
		(struct returned){ .root = place->place.root, .file_max = 64u << 20, .file = -1 };
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	returned_done(&place->files);
	own_tmpfs_done(&place->place);
	free(place);
	return 0;
}

static int give(struct place *place, enum frame_kind kind, const void *data, size_t size)
{
	const struct frame_head head = { kind, (uint32_t)size };

	return returned_take(&place->files, &head, data);
}

static int give_directory(struct place *place, const char *path)
{
	return give(place, FRAME_OUT_DIRECTORY, path, strlen(path));
}

static int give_pair(struct place *place, enum frame_kind kind, const char *one, const char *two)
{
	unsigned char data[8192];

	frame_put_u32(data, (uint32_t)strlen(one));
	memcpy(data + 4, one, strlen(one));
	memcpy(data + 4 + strlen(one), two, strlen(two));
	return give(place, kind, data, 4 + strlen(one) + strlen(two));
}

static int give_file(struct place *place, const char *path, uint64_t size)
{
	unsigned char data[2048];

	frame_put_u32(data, 0644);
	frame_put_u64(data + 4, size);
	memcpy(data + 12, path, strlen(path));
	return give(place, FRAME_OUT_FILE, data, 12 + strlen(path));
}

static int give_data(struct place *place, uint64_t at, size_t size)
{
	static unsigned char data[8 + 65536];

	memset(data + 8, 'x', size);
	frame_put_u64(data, at);
	return give(place, FRAME_OUT_DATA, data, 8 + size);
}

/* As deep as an agent looks, and no deeper: each part costs a call. */
static void test_depth(void **state)
{
	struct place *place = *state;
	char path[2 * WALK_DEPTH_MAX + 2] = "";

	for (int depth = 1; depth <= WALK_DEPTH_MAX + 1; depth++) {
		strcat(path, depth == 1 ? "d" : "/d");
		assert_int_equal(give_directory(place, path),
				 depth <= WALK_DEPTH_MAX ? 0 : -EPROTO);
	}
	assert_int_equal(give_file(place, path, 0), -EPROTO);
}

static void test_paths(void **state)
{
	static const char *const bad[] = { "/etc/x", "..",   "../x", "a/../../x", "a//b",
					   "./a",    "a/.",  "a/",   "/",         "a/..",
					   ".",      "a\nb", "\xff" };
	struct place *place = *state;

	assert_int_equal(give_directory(place, "a"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(give_directory(place, bad[i]), -EPROTO);
		assert_int_equal(give_file(place, bad[i], 0), -EPROTO);
		assert_int_equal(give_pair(place, FRAME_OUT_LINK, bad[i], "x"), -EPROTO);
		assert_int_equal(give_pair(place, FRAME_OUT_NAME, bad[i], "x"), -EPROTO);
		assert_int_equal(give_pair(place, FRAME_OUT_NAME, "n", bad[i]), -EPROTO);
	}
	assert_int_equal(give(place, FRAME_OUT_DIRECTORY, "a\0b", 3), -EPROTO);
	assert_int_equal(give_directory(place, "missing/x"), -EPROTO);
	char longest[FRAME_PATH_MAX + 1];
	memset(longest, 'n', sizeof(longest));
	assert_int_equal(give(place, FRAME_OUT_DIRECTORY, longest, 256), -EPROTO);
	assert_int_equal(give(place, FRAME_OUT_DIRECTORY, longest, 255), 0);
}

/* A link of the agent's leads nowhere, neither as a part of a path nor as a file. */
static void test_links(void **state)
{
	struct place *place = *state;
	char dir[] = "/tmp/brig-returned-XXXXXX";

	assert_non_null(mkdtemp(dir));
	assert_int_equal(give_pair(place, FRAME_OUT_LINK, "out", dir), 0);
	assert_int_equal(give_file(place, "out/x", 0), -EPROTO);
	assert_int_equal(give_directory(place, "out/x"), -EPROTO);
	assert_int_equal(give_pair(place, FRAME_OUT_LINK, "out/x", "y"), -EPROTO);
	assert_int_equal(give_file(place, "out", 0), -EPROTO);
	assert_int_equal(give_pair(place, FRAME_OUT_NAME, "name", "out"), -EPROTO);
	assert_int_equal(give_pair(place, FRAME_OUT_LINK, "up", ".."), 0);
	assert_int_equal(give_file(place, "up/x", 0), -EPROTO);
	assert_int_equal(give_pair(place, FRAME_OUT_NAME, "name", "up/x"), -EPROTO);
	assert_int_equal(rmdir(dir), 0); /* it is still empty */
}

static void test_twice(void **state)
{
	struct place *place = *state;

	assert_int_equal(give_file(place, "f", 4), 0);
	assert_int_equal(give_data(place, 0, 4), 0);
	assert_int_equal(give_file(place, "f", 4), -EPROTO);
	assert_int_equal(give_directory(place, "f"), -EPROTO);
	assert_int_equal(give_pair(place, FRAME_OUT_LINK, "f", "g"), -EPROTO);
	assert_int_equal(give_pair(place, FRAME_OUT_NAME, "f", "f"), -EPROTO);
	assert_int_equal(give_pair(place, FRAME_OUT_NAME, "g", "missing"), -EPROTO);
	assert_int_equal(give_directory(place, "d"), 0);
	assert_int_equal(give_pair(place, FRAME_OUT_NAME, "g", "d"), -EPROTO);
	assert_int_equal(give_pair(place, FRAME_OUT_NAME, "g", "f"), 0);
}

static void test_data(void **state)
{
	struct place *place = *state;

	assert_int_equal(give_data(place, 0, 1), -EPROTO); /* of no file */
	assert_int_equal(give_file(place, "f", 10), 0);
	assert_int_equal(give_data(place, 0, 11), -EPROTO);
	assert_int_equal(give_data(place, 11, 1), -EPROTO);
	assert_int_equal(give_data(place, UINT64_MAX, 1), -EPROTO);
	assert_int_equal(give_data(place, UINT64_MAX - 3, 10), -EPROTO);
	assert_int_equal(give_data(place, 4, 2), 0);
	assert_int_equal(give_data(place, 4, 2), -EPROTO); /* backwards */
	assert_int_equal(give_data(place, 8, 2), 0);
	assert_int_equal(give_data(place, 10, 1), -EPROTO);
	assert_int_equal(give_directory(place, "d"), 0);
	assert_int_equal(give_data(place, 0, 1), -EPROTO); /* of a file that is over */
	assert_int_equal(give_file(place, "huge", (64u << 20) + 1), -EPROTO);
	assert_int_equal(give_file(place, "huge", UINT64_MAX), -EPROTO);
}

static void test_pairs(void **state)
{
	struct place *place = *state;
	unsigned char data[64] = "\4\0\0\0link";

	assert_int_equal(give(place, FRAME_OUT_LINK, data, 8), -EPROTO); /* no target */
	frame_put_u32(data, UINT32_MAX);
	assert_int_equal(give(place, FRAME_OUT_LINK, data, 16), -EPROTO);
	frame_put_u32(data, 0);
	assert_int_equal(give(place, FRAME_OUT_LINK, data, 16), -EPROTO);
	frame_put_u32(data, 12);
	assert_int_equal(give(place, FRAME_OUT_NAME, data, 16), -EPROTO);
	frame_put_u32(data, 4);
	memcpy(data + 8, "a\0b", 3);
	assert_int_equal(give(place, FRAME_OUT_LINK, data, 11), -EPROTO); /* NUL in the target */
	assert_int_equal(give(place, FRAME_STDOUT, data, 8), -EPROTO);
}

/* More than the limits of the run does not fit, whatever the agent says. */
static void test_too_much(void **state)
{
	struct place *place = *state;
	int r = 0;
	uint64_t at = 0;

	assert_int_equal(give_file(place, "f", 64u << 20), 0);
	for (; r == 0; at += 65536) {
		assert_true(at <= DISK_BYTES + (1u << 20));
		r = give_data(place, at, 65536);
	}
	assert_int_equal(r, -EPROTO);
	unsigned count = 0;
	for (r = 0; r == 0; count++) {
		char name[16];
		assert_true(count <= INODES + 16);
		snprintf(name, sizeof(name), "d%u", count);
		r = give_directory(place, name);
	}
	assert_int_equal(r, -EPROTO);
}

/* The files are on no disk and in no mount table; without the descriptor they are gone. */
static void test_private(void **state)
{
	struct place *place = *state;
	struct statfs fs;
	char line[1024];
	char options[64];

	assert_int_equal(fstatfs(place->place.root, &fs), 0);
	assert_int_equal(fs.f_type, 0x01021994);
	snprintf(options, sizeof(options), "size=%uk", (DISK_BYTES + (1u << 20)) >> 10);
	_cleanup_fclose_ FILE *mounts = fopen("/proc/self/mountinfo", "r");
	assert_non_null(mounts);
	while (fgets(line, sizeof(line), mounts)) {
		assert_null(strstr(line, options));
	}
	struct stat info;
	assert_int_equal(fstat(place->place.root, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0700);
}

int main(void)
{
#define PLACE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		PLACE(test_depth), PLACE(test_paths), PLACE(test_links),    PLACE(test_twice),
		PLACE(test_data),  PLACE(test_pairs), PLACE(test_too_much), PLACE(test_private),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
