/* SPDX-License-Identifier: Apache-2.0 */
/* The record about the end of a WebAssembly program: hostile bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "run/run.h"
#include "wasm/wasm.h"

static struct facts take(const struct wasm_report *report, int code, int status)
{
	struct facts facts = { .exited = true, .end_code = code, .end_status = status };
	_cleanup_close_ int fd = memfd_create("report", MFD_CLOEXEC);

	assert_true(fd >= 0 && ftruncate(fd, RUN_FILE_BYTES) == 0);
	assert_int_equal(pwrite(fd, report, sizeof(*report), WASM_REPORT_AT), sizeof(*report));
	wasm_take_report(fd, &facts);
	return facts;
}

static void test_ends(void **state)
{
	static const struct {
		uint32_t end, trap;
		int status;
		enum guest_end guest;
	} rows[] = {
		{ WASM_END_EXIT, 0, 3, GUEST_NONE },
		{ WASM_END_TRAP, 9, WASM_EXIT_TRAP, GUEST_TRAP },
		{ WASM_END_TRAP, WASM_TRAP_FUEL, WASM_EXIT_TRAP, GUEST_INSTRUCTIONS },
		{ WASM_END_INVALID, 0, WASM_EXIT_FAILED, GUEST_INVALID },
		{ WASM_END_ENGINE, 0, WASM_EXIT_FAILED, GUEST_ENGINE },
		/* the exit code is not the one that goes with it */
		{ WASM_END_TRAP, 9, 0, GUEST_NONE },
		{ WASM_END_INVALID, 0, WASM_EXIT_TRAP, GUEST_NONE },
		{ WASM_ENDS, 0, WASM_EXIT_FAILED, GUEST_NONE },
		{ UINT32_MAX, UINT32_MAX, WASM_EXIT_TRAP, GUEST_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct wasm_report report = { .magic = WASM_REPORT_MAGIC,
						    .end = rows[i].end,
						    .trap = rows[i].trap,
						    .text = "text" };
		assert_int_equal(take(&report, CLD_EXITED, rows[i].status).guest, rows[i].guest);
		/* a helper that was killed has reported nothing */
		assert_int_equal(take(&report, CLD_KILLED, 9).guest, GUEST_NONE);
	}
}

static void test_wrong_records(void **state)
{
	struct wasm_report report = { .magic = WASM_REPORT_MAGIC, .end = WASM_END_INVALID };

	(void)state;
	memset(report.text, 'x', sizeof(report.text)); /* without an end */
	assert_int_equal(take(&report, CLD_EXITED, WASM_EXIT_FAILED).guest, GUEST_NONE);
	report.text[0] = '\0';
	report.magic++;
	assert_int_equal(take(&report, CLD_EXITED, WASM_EXIT_FAILED).guest, GUEST_NONE);

	struct facts facts = { .exited = true, .end_code = CLD_EXITED };
	wasm_take_report(-1, &facts);
	assert_int_equal(facts.guest, GUEST_NONE);
}

static void test_text(void **state)
{
	struct wasm_report report = { .magic = WASM_REPORT_MAGIC,
				      .end = WASM_END_INVALID,
				      .text = "a\nb\x1b[2Jc" };

	(void)state;
	assert_string_equal(take(&report, CLD_EXITED, WASM_EXIT_FAILED).guest_text, "a?b?[2Jc");
	/* the name of a trap is brig's own */
	report.end = WASM_END_TRAP;
	report.trap = 1;
	assert_string_equal(take(&report, CLD_EXITED, WASM_EXIT_TRAP).guest_text,
			    "memory was accessed out of bounds");
	report.trap = UINT32_MAX;
	assert_string_equal(take(&report, CLD_EXITED, WASM_EXIT_TRAP).guest_text,
			    "the engine ended it");
}

static void test_directories_above(void **state)
{
	char top[] = "/tmp/brig-wasm-XXXXXX", middle[PATH_MAX], file[PATH_MAX], found[PATH_MAX];

	(void)state;
	assert_non_null(mkdtemp(top));
	snprintf(middle, sizeof(middle), "%s/middle", top);
	snprintf(file, sizeof(file), "%.100s/engine", middle);
	assert_int_equal(mkdir(middle, 0755), 0);
	assert_true(wasm_above_trusted(NULL, file, found));
	assert_int_equal(chmod(middle, 0777), 0);
	assert_false(wasm_above_trusted(NULL, file, found));
	assert_string_equal(found, middle);
	/* Others can add files there, and not replace one. */
	assert_int_equal(chmod(middle, 01777), 0);
	assert_true(wasm_above_trusted(NULL, file, found));
	assert_int_equal(chmod(top, 0770), 0);
	assert_false(wasm_above_trusted(NULL, file, found));
	assert_string_equal(found, top);
	rmdir(middle);
	rmdir(top);
}

static void test_another_engine(void **state)
{
	char path[] = "/tmp/brig-wasm-XXXXXX";
	struct brig_error err = { 0 };
	_cleanup_close_ int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(wasm_engine_check(path, &err), -ENOTSUP);
	assert_int_equal(ftruncate(fd, 1ll << 35), 0); /* its size costs nothing */
	assert_int_equal(wasm_engine_check(path, &err), -ENOTSUP);
	unlink(path);
	assert_int_equal(wasm_engine_check(path, &err), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),           cmocka_unit_test(test_wrong_records),
		cmocka_unit_test(test_text),           cmocka_unit_test(test_directories_above),
		cmocka_unit_test(test_another_engine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
