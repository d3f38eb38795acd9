/* SPDX-License-Identifier: Apache-2.0 */
/* Asking programs for their version: their output, time, children, and the cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "runtime/program_output.h"
#include "runtime/runtime.h"
#include "runtime/version_cache.h"

static int ask_sh(const char *script, int timeout_ms, struct buf *output)
{
	char shell[] = "sh", option[] = "-c";
	char copy[128];
	char *argv[] = { shell, option, copy, NULL };

	(void)snprintf(copy, sizeof(copy), "%s", script);
	return program_output_read("/bin/sh", argv, timeout_ms, output);
}

static void test_ask(void **state)
{
	_cleanup_(buf_done)
	struct buf output = { 0 };

	(void)state;
	assert_int_equal(
		ask_sh("echo out; echo err >&2; read x; echo \"[$HOME]\"; exit 3", 5000, &output),
		0);
	assert_string_equal(output.data, "out\nerr\n[]\n");
	/* No process is visible or left: this process has no child to wait for. */
	assert_int_equal(waitpid(-1, NULL, __WALL), -1);
	assert_int_equal(errno, ECHILD);
}

static void test_ask_limits(void **state)
{
	_cleanup_(buf_done)
	struct buf output = { 0 };
	_cleanup_(buf_done)
	struct buf much = { 0 };
	_cleanup_(buf_done)
	struct buf none = { 0 };
	char name[] = "x";
	char *argv[] = { name, NULL };
	uint64_t start = clock_now_ns();

	(void)state;
	assert_int_equal(ask_sh("echo started; sleep 60", 300, &output), -ETIMEDOUT);
	assert_int_equal(ask_sh("while :; do echo much; done", 5000, &much), 0);
	assert_int_equal(much.size, PROGRAM_OUTPUT_MAX);
	assert_int_equal(program_output_read("/nonexistent", argv, 5000, &none), 0);
	assert_int_equal(none.size, 0);
	assert_true(clock_now_ns() - start < UINT64_C(5000000000));
	assert_int_equal(waitpid(-1, NULL, __WALL), -1);
}

static struct runtime *make_runtime(void)
{
	static const char text[] =
		"{ \"source\": \"x\", \"program\": [\"/nonexistent\", \"/bin/sh\"],\n"
		"\"version\": { \"argv\": [\"-c\", \"echo 9; echo sh v1.2-rc3, ok\"],"
		" \"after\": \"sh v\" },"
		"\"run\": { \"argv\": [\"{program}\", \"{args}\"] } }";
	struct runtime *rt = NULL;

	assert_int_equal(runtime_parse("x", text, strlen(text), &rt, NULL), 0);
	return rt;
}

static void test_version(void **state)
{
	struct runtime *rt = make_runtime();
	struct brig_error err = { 0 };

	(void)state;
	assert_int_equal(runtime_version(rt, NULL, NULL, &err), 0);
	assert_string_equal(rt->program, "/bin/sh");
	assert_string_equal(rt->version, "1.2-rc3");
	runtime_free(rt);
}

static int count_files(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	while (dir && readdir(dir)) {
		count++;
	}
	if (dir) {
		closedir(dir);
	}
	return count - 2;
}

static void test_cache(void **state)
{
	char cache[] = "/tmp/brig-test-XXXXXX", folder[64], command[128];
	char key[SHA256_HEX_SIZE], version[64];
	struct runtime *rt = make_runtime();

	(void)state;
	assert_non_null(mkdtemp(cache));
	(void)snprintf(folder, sizeof(folder), "%s/versions", cache);
	assert_int_equal(runtime_version(rt, cache, NULL, NULL), 0);
	assert_int_equal(version_key(rt->real_program, rt->version_argv.items, key), 0);
	assert_int_equal(version_recall(cache, key, version), 0);
	assert_string_equal(version, "1.2-rc3");
	assert_int_equal(count_files(folder), 1);
	/* A stored version is used... */
	version_remember(cache, key, "7.7");
	assert_int_equal(runtime_version(rt, cache, NULL, NULL), 0);
	assert_string_equal(rt->version, "7.7");
	/* ...but not when it is no version, nor when others could have written it. */
	version_remember(cache, key, "7\n7");
	assert_int_equal(version_recall(cache, key, version), -ENOENT);
	version_remember(cache, key, "7.7");
	assert_int_equal(chmod(folder, 0777), 0);
	assert_int_equal(version_recall(cache, key, version), -ENOENT);
	assert_int_equal(runtime_version(rt, cache, NULL, NULL), 0);
	assert_string_equal(rt->version, "1.2-rc3");
	assert_int_equal(runtime_version(rt, "/nonexistent", NULL, NULL), 0);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", cache);
	assert_int_equal(system(command), 0);
	runtime_free(rt);
}

/* A program that writes a line each time it is asked. */
static struct runtime *make_counting(const char *file)
{
	char text[512];
	struct runtime *rt = NULL;

	(void)snprintf(text, sizeof(text),
		       "{ \"source\": \"x\", \"program\": [\"/bin/sh\"],\n"
		       "\"version\": { \"argv\": [\"-c\", \"echo >>%s; echo 4.5\"] },"
		       "\"run\": { \"argv\": [\"{program}\", \"{args}\"] } }",
		       file);
	assert_int_equal(runtime_parse("x", text, strlen(text), &rt, NULL), 0);
	return rt;
}

/* Without a directory a version is asked for once, also for a runtime that is loaded anew. */
static void test_memory(void **state)
{
	char file[] = "/tmp/brig-test-XXXXXX";
	struct version_memory memory = { 0 };
	struct stat info;
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0);
	for (int i = 0; i < 3; i++) {
		struct runtime *rt = make_counting(file);

		assert_int_equal(runtime_version(rt, NULL, &memory, NULL), 0);
		assert_string_equal(rt->version, "4.5");
		runtime_free(rt);
	}
	assert_int_equal(fstat(fd, &info), 0);
	assert_int_equal(info.st_size, 1);
	close(fd);
	assert_int_equal(unlink(file), 0);
}

static void test_memory_is_bounded(void **state)
{
	struct version_memory memory = { 0 };
	char key[SHA256_HEX_SIZE], version[VERSION_BYTES];

	(void)state;
	for (int i = 0; i <= VERSIONS_MAX; i++) {
		(void)snprintf(key, sizeof(key), "%064x", i);
		assert_int_equal(version_memory_recall(&memory, key, version), -ENOENT);
		version_memory_keep(&memory, key, i == 1 ? "" : "1.0");
	}
	assert_int_equal(version_memory_recall(&memory, key, version), 0);
	(void)snprintf(key, sizeof(key), "%064x", 0);
	assert_int_equal(version_memory_recall(&memory, key, version), -ENOENT); /* evicted */
	(void)snprintf(key, sizeof(key), "%064x", 1);
	assert_int_equal(version_memory_recall(&memory, key, version), 0);
	assert_string_equal(version, ""); /* a program without a version is not asked again */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ask),     cmocka_unit_test(test_ask_limits),
		cmocka_unit_test(test_version), cmocka_unit_test(test_cache),
		cmocka_unit_test(test_memory),  cmocka_unit_test(test_memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
