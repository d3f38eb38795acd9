/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a session: access while its code runs, hostile names, lists in steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <brig/brig.h>

#include "base/cleanup.h"
#include "lib/session/session_files.h"
#include "session_fixture.h"

static void expect_get(struct brig_session *session, const char *path, int errnum,
		       const char *content)
{
	struct brig_error error = { 0 };
	_cleanup_free_ char *data = NULL;
	size_t size = 0;
	int r = brig_session_get(session, path, 1 << 20, &data, &size, &error);

	if (r != -errnum) {
		fail_msg("%s: %d %s", path, r, error.message);
	}
	if (r == 0) {
		assert_string_equal(data, content);
	}
}

static void test_files(void **state)
{
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");
	struct brig_error error = { 0 };
	struct brig_session_file *files = NULL;
	size_t count = 0;
	bool truncated = true;

	(void)state;
	expect(session, "import os", BRIG_OK, "", NULL);
	assert_int_equal(brig_session_put(session, "data/in.csv", "1,2\n", 4, false, &error), 0);
	expect(session,
	       "s = os.stat('data/in.csv'); open('data/in.csv').read(), oct(s.st_mode), "
	       "s.st_uid == os.getuid()",
	       BRIG_OK, "", "[\"1,2\\n\",\"0o100644\",true]");
	expect(session, "open('data/in.csv', 'a').write('3'); os.rename('data', 'd2')", BRIG_OK, "",
	       NULL);
	expect_get(session, "d2/in.csv", 0, "1,2\n3");
	assert_int_equal(brig_session_put(session, "d2/in.csv", "new", 3, true, &error), 0);
	expect_get(session, "d2/in.csv", 0, "new");
	expect_get(session, "data/in.csv", ENOENT, NULL);
	assert_int_equal(brig_session_list(session, &files, &count, &truncated, &error), 0);
	assert_int_equal(count, 1);
	assert_false(truncated);
	assert_string_equal(files[0].path, "d2/in.csv");
	assert_int_equal(files[0].size, 3);
	assert_true(files[0].executable);
	brig_session_files_free(files, count);
	assert_int_equal(brig_session_delete(session, "d2", &error), -ENOTEMPTY);
	assert_int_equal(brig_session_delete(session, "d2/in.csv", &error), 0);
	assert_int_equal(brig_session_delete(session, "d2", &error), 0);
	assert_int_equal(brig_session_delete(session, "d2", &error), -ENOENT);

	/* The limit of the disk also applies to files that are put from outside. */
	_cleanup_free_ char *big = calloc(1, 40 << 20);
	assert_int_equal(brig_session_put(session, "a", big, 40 << 20, false, &error), 0);
	assert_int_equal(brig_session_put(session, "b", big, 40 << 20, false, &error), -ENOSPC);
	expect(session, "sorted(os.listdir('.'))", BRIG_OK, "", "[\"a\",\"out\"]");

	struct brig_file_in input = { .name = "in/f", .data = "hello", .size = 5 };
	struct brig_request request = { .size = sizeof(request),
					.code = "open('out/r', 'w').write(open('in/f').read())",
					.files = &input,
					.files_count = 1 };
	struct brig_result *result = run_request(session, &request);
	assert_int_equal(result->status, BRIG_OK);
	assert_int_equal(result->files_count, 1);
	assert_string_equal(result->files[0].path, "out/r");
	brig_result_free(result);
	struct timespec pause = { .tv_nsec = 30000000 };
	nanosleep(&pause, NULL);
	/* Only files that a run has changed are in its result. */
	result = run_code(session, "1", 0);
	assert_int_equal(result->files_count, 0);
	brig_result_free(result);
	brig_session_close(session);
	brig_context_free(context);
}

static void test_hostile_files(void **state)
{
	static const char *const names[] = {
		"../etc/passwd", "/etc/passwd", "a/../../x", "",      ".",
		"a//b",          "a\nb",        "\xff",      "out/.."
	};
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");
	struct brig_error error = { 0 };

	(void)state;
	expect(session,
	       "import os\n"
	       "os.symlink('/etc/passwd', 'link'); os.symlink('/', 'root'); os.symlink('.', "
	       "'here')\n"
	       "os.symlink('/proc/self/root', 'magic'); os.mkfifo('fifo')\n"
	       "open('one', 'w').write('1'); os.link('one', 'two'); os.mkdir('dir')\n"
	       "os.symlink('nowhere', 'dangling'); os.symlink('dir', 'linkdir')\n"
	       "open('secret', 'w').write('s'); os.chmod('secret', 0)\n"
	       "import socket; s = socket.socket(socket.AF_UNIX); s.bind('sock')",
	       BRIG_OK, "", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		expect_get(session, names[i], EINVAL, NULL);
		assert_int_equal(brig_session_put(session, names[i], "x", 1, false, &error),
				 -EINVAL);
		assert_int_equal(brig_session_delete(session, names[i], &error), -EINVAL);
	}
	expect_get(session, "link", ELOOP, NULL);
	expect_get(session, "root/etc/passwd", ELOOP, NULL);
	expect_get(session, "magic/etc/passwd", ELOOP, NULL);
	expect_get(session, "here/one", ELOOP, NULL);
	expect_get(session, "fifo", EINVAL, NULL);
	expect_get(session, "sock", ENXIO, NULL);
	expect_get(session, "dir", EINVAL, NULL);
	expect_get(session, "two", 0, "1");
	assert_int_equal(brig_session_put(session, "link", "x", 1, false, &error), -EINVAL);
	assert_int_equal(brig_session_put(session, "dangling", "x", 1, false, &error), -EINVAL);
	assert_int_equal(brig_session_put(session, "fifo", "x", 1, false, &error), -EINVAL);
	assert_int_equal(brig_session_put(session, "dir", "x", 1, false, &error), -EINVAL);
	assert_true(brig_session_put(session, "root/tmp/x", "x", 1, false, &error) < 0);
	assert_true(brig_session_put(session, "linkdir/x", "x", 1, false, &error) < 0);
	/* The file is replaced, not written through: the other name keeps its content. */
	assert_int_equal(brig_session_put(session, "one", "11", 2, false, &error), 0);
	expect_get(session, "two", 0, "1");
	/* The link itself is removed, not its target. */
	assert_int_equal(brig_session_delete(session, "linkdir", &error), 0);
	assert_int_equal(brig_session_delete(session, "link", &error), 0);
	expect(session, "sorted(os.listdir('.')), os.listdir('dir')", BRIG_OK, "",
	       "[[\"dangling\",\"dir\",\"fifo\",\"here\",\"magic\",\"one\",\"out\",\"root\","
	       "\"secret\",\"sock\",\"two\"],[]]");
	expect_alive(session);
	brig_session_close(session);
	brig_context_free(context);
}

/* Names change while they are resolved: only files beneath are ever read or written. */
static void test_racing_files(void **state)
{
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");
	struct brig_request request = {
		.size = sizeof(request),
		.code = "import os\nos.mkdir('a'); open('a/f', 'w').write('mine')\n"
			"os.symlink('/etc', 'b')\nprint('go', flush=True)\n"
			"while True:\n  os.rename('a', 'c'); os.rename('b', 'a'); os.rename('a', "
			"'b'); "
			"os.rename('c', 'a')",
	};
	struct brig_error error = { 0 };
	struct brig_run *run = NULL;

	(void)state;
	expect(session, "open('passwd', 'w').close()", BRIG_OK, "", NULL);
	assert_int_equal(brig_session_start(session, &request, &run, &error), 0);
	for (int i = 0; i < 3000; i++) {
		_cleanup_free_ char *data = NULL;
		struct brig_session_file *files = NULL;
		size_t size = 0, count = 0;
		assert_true(brig_session_get(session, "a/passwd", 1 << 20, &data, &size, NULL) < 0);
		brig_session_put(session, "a/g", "x", 1, false, NULL);
		if (i % 100 == 0 && brig_session_list(session, &files, &count, NULL, NULL) == 0) {
			for (size_t j = 0; j < count; j++) {
				assert_null(strstr(files[j].path, "hosts"));
			}
			brig_session_files_free(files, count);
		}
		brig_run_step(run, NULL);
	}
	brig_run_cancel(run);
	assert_int_equal(brig_run_wait(run, &error), 0);
	brig_run_free(run);
	brig_session_close(session);
	brig_context_free(context);
}

/* Some names in each step; a list that is too long is cut. */
static void test_listing_in_steps(void **state)
{
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");
	struct brig_error error = { 0 };
	struct session_listing *list = NULL;
	size_t count = 0;
	unsigned steps = 0;
	bool truncated = true;
	int r;

	(void)state;
	expect(session,
	       "import os\n"
	       "for i in range(1000): open(f'f{i:04}', 'w').close()",
	       BRIG_OK, "", NULL);
	assert_int_equal(session_listing_new(session, &list, &error), 0);
	while ((r = session_listing_step(list, &error)) == 0) {
		steps++;
	}
	assert_int_equal(r, 1);
	assert_true(steps >= 3);
	const struct brig_session_file *files = session_listing_files(list, &count, &truncated);
	assert_int_equal(count, 1000);
	assert_false(truncated);
	assert_string_equal(files[999].path, "f0999");
	session_listing_free(list);
	/* It continues without the session, and may be freed at any step. */
	assert_int_equal(session_listing_new(session, &list, &error), 0);
	assert_int_equal(session_listing_step(list, &error), 0);
	expect(session,
	       "d = '/'.join(['d' * 240] * 4); os.makedirs(d)\n"
	       "for i in range(2500): os.link('f0000', f'{d}/{i:04}')",
	       BRIG_OK, "", NULL);
	struct brig_session_file *all = NULL;
	assert_int_equal(brig_session_list(session, &all, &count, &truncated, &error), 0);
	assert_true(truncated && count < 3500);
	brig_session_files_free(all, count);
	brig_session_close(session);
	assert_true(session_listing_step(list, &error) >= 0);
	session_listing_free(list);
	brig_context_free(context);
}

/* Names that are not listed also count for a step. */
static void test_listing_odd_names_in_steps(void **state)
{
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");
	struct brig_error error = { 0 };
	struct session_listing *list = NULL;
	size_t count = 0;
	unsigned steps = 0;
	bool truncated = true;
	int r;

	(void)state;
	expect(session,
	       "import os\n"
	       "open('f', 'w').close()\n"
	       "for i in range(4000): os.link('f', f'f{i}' if i % 250 == 0 else f'o{i}\\x01')",
	       BRIG_OK, "", NULL);
	assert_int_equal(session_listing_new(session, &list, &error), 0);
	while ((r = session_listing_step(list, &error)) == 0) {
		steps++;
	}
	assert_int_equal(r, 1);
	session_listing_files(list, &count, &truncated);
	assert_int_equal(count, 17);
	assert_true(steps >= 7); /* of 512 names at most */
	session_listing_free(list);
	brig_session_close(session);
	brig_context_free(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_hostile_files),
		cmocka_unit_test(test_racing_files),
		cmocka_unit_test(test_listing_in_steps),
		cmocka_unit_test(test_listing_odd_names_in_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
