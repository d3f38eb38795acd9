/* SPDX-License-Identifier: Apache-2.0 */
/* The file of tokens, while another process changes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes/buf.h"
#include "cli/token/token_file.h"

static char directory[] = "/tmp/brig-tokens-XXXXXX";
static char path[64], spare[64];
static int replacements; /* still to come, each just before a lock is requested */

/* Replaces the C library's function: another process was faster and has replaced the file. */
int flock(int fd, int operation)
{
	if (replacements > 0) {
		replacements--;
		FILE *file = fopen(spare, "we");
		assert_non_null(file);
		fputs("{\"tokens\":[{\"name\":\"stays\"}]}", file);
		fclose(file);
		assert_int_equal(rename(spare, path), 0);
	}
	return (int)syscall(SYS_flock, fd, operation);
}

static void add(const char *name, int expected)
{
	struct brig_error error = { 0 };
	json_t *entry = json_pack("{s:s}", "name", name);

	assert_int_equal(token_file_add(path, entry, &error) < 0, expected < 0);
	json_decref(entry);
}

static void assert_names(const char *expected)
{
	struct brig_error error = { 0 };
	struct buf found = { 0 };
	json_t *root = NULL, *entry;
	size_t index;

	assert_int_equal(token_file_read(path, &root, &error), 0);
	json_array_foreach(json_object_get(root, "tokens"), index, entry)
	{
		buf_addf(&found, "%s ", json_string_value(json_object_get(entry, "name")));
	}
	json_decref(root);
	assert_string_equal(found.data, expected);
	buf_done(&found);
}

static void test_what_was_revoked_stays_revoked(void **state)
{
	(void)state;
	add("stays", 0);
	add("revoked", 0);
	replacements = 3;
	add("new", 0);
	assert_names("stays new ");
}

static void test_somebody_who_never_rests(void **state)
{
	(void)state;
	replacements = 1000;
	add("late", -1);
	replacements = 0;
	assert_names("stays ");
}

static int begin(void **state)
{
	(void)state;
	umask(022); /* files made here must not be writable for others */
	if (!mkdtemp(directory)) {
		return -1;
	}
	snprintf(path, sizeof(path), "%s/tokens", directory);
	snprintf(spare, sizeof(spare), "%s/spare", directory);
	return 0;
}

static int finish(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_revoked_stays_revoked),
		cmocka_unit_test(test_somebody_who_never_rests),
	};

	return cmocka_run_group_tests(tests, begin, finish);
}
