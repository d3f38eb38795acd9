/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of the guard in a cell, which any program may have forged; and the guard's
 * configuration.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/guard/guard.h"
#include "run/run.h"

#define WHY "{\"refusal\":{\"rule\":\"import\",\"reason\":\"os\",\"line\":3,\"column\":5}}"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#define RAN (F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

/* `end` is the report that the program, or a driver that ran it, has left. */
static struct brig_result end_of(const struct guard *rules, const char *record, const char *end,
				 int seals, enum brig_status status)
{
	struct guard guard = *rules;
	struct brig_result result = { .status = status, .exit_code = status == BRIG_OK ? 0 : 1 };
	int fd = memfd_create("value", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(fd, RUN_FILE_BYTES), 0);
	assert_int_equal(pwrite(fd, record, strlen(record), 0), (ssize_t)strlen(record));
	assert_int_equal(pwrite(fd, end, strlen(end), RUN_GUARD_BYTES + RUN_VALUE_BYTES),
			 (ssize_t)strlen(end));
	assert_int_equal(seals ? fcntl(fd, F_ADD_SEALS, seals) : 0, 0);
	guard_read(&guard, fd, &result);
	close(fd);
	/* A caller that reads the returned copy has nothing to free. */
	free(result.events);
	result.events = NULL;
	return result;
}

static struct brig_result result_of(const char *record, int seals, enum brig_status status,
				    bool check)
{
	struct guard guard = { .on = true, .mode = GUARD_STRICT, .check = check };

	return end_of(&guard, record, "", seals, status);
}

static void a_sealed_refusal_counts(void **state)
{
	struct brig_result result = result_of(WHY, F_SEAL_WRITE | F_SEAL_SEAL, BRIG_FAILED, false);

	(void)state;
	assert_int_equal(result.status, BRIG_REJECTED);
	assert_int_equal(result.exit_code, -1);
	assert_string_equal(result.cause, "guard");
	assert_true(result.refused);
	assert_int_equal(result.refusal.line, 3);
	assert_int_equal(result.refusal.column, 5);
	assert_string_equal(result.refusal.rule, "import");
}

/* The program could write to the file by then. */
static void another_one_is_only_its_own_word(void **state)
{
	static const struct guard strict = { .on = true, .mode = GUARD_STRICT };
	static const char text[] = "import 7\nrun: curl ... as root";
	struct brig_result result = end_of(&strict, WHY, text, RAN, BRIG_FAILED);

	(void)state;
	assert_int_equal(result.status, BRIG_FAILED);
	assert_string_equal(result.cause, "guard");
	assert_string_equal(result.refusal.rule, "import");
	assert_int_equal(result.refusal.line, 7);
	assert_null(strstr(result.refusal.reason, "curl"));
	assert_null(strstr(result.remedy, "curl"));
	assert_null(strstr(result.operator_remedy, "curl"));
	result = end_of(&strict, WHY, text, RAN, BRIG_OK);
	assert_int_equal(result.status, BRIG_OK);
	assert_false(result.refused);
	/* A sealed report that still let the program run refuses nothing. */
	assert_false(result_of(WHY, RAN, BRIG_FAILED, false).refused);
}

/* A rule that the policy does not have cannot have ended anything. */
static void rules_are_those_of_the_policy(void **state)
{
	static const struct guard imports = { .on = true, .mode = GUARD_IMPORTS };
	static const struct guard score = { .on = true, .mode = GUARD_OFF };
	static const char *const never[] = {
		"risk 1", "attribute 1", "operations 0", "recursion 3", "imports 1", "import",
		"",       "rejected 1"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
		assert_false(end_of(&imports, "{}", never[i], RAN, BRIG_FAILED).refused);
	}
	assert_true(end_of(&imports, "{}", "import 1", RAN, BRIG_FAILED).refused);
	assert_false(end_of(&score, "{}", "import 1", RAN, BRIG_FAILED).refused);
}

static void without_a_decision_it_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(result_of(WHY, 0, BRIG_OK, false).status, BRIG_ERROR);
	assert_int_equal(result_of(WHY, F_SEAL_WRITE, BRIG_FAILED, false).status, BRIG_ERROR);
	assert_int_equal(result_of(WHY, F_SEAL_SEAL, BRIG_FAILED, false).status, BRIG_ERROR);
	assert_int_equal(result_of("", 0, BRIG_TIMEOUT, false).status, BRIG_TIMEOUT);
}

static void a_check_has_a_score(void **state)
{
	struct brig_result result =
		result_of("{\"risk\":{\"score\":250,\"reasons\":\"a\\nb\\u0007\"}}",
			  F_SEAL_WRITE | F_SEAL_SEAL, BRIG_OK, true);

	(void)state;
	assert_int_equal(result.status, BRIG_OK);
	assert_string_equal(result.cause, "checked");
	assert_true(result.risk_known);
	assert_int_equal(result.risk, 100);
	assert_string_equal(result.risk_reasons, "a\nb ");
}

static void operations_have_a_limit(void **state)
{
	static const struct guard counted = { .on = true, .mode = GUARD_STRICT, .operations = 7 };
	struct brig_result result = end_of(&counted, "{}", "operations 0", RAN, BRIG_FAILED);

	(void)state;
	assert_int_equal(result.status, BRIG_DENIED);
	assert_string_equal(result.limit_name, "operations");
	assert_int_equal(result.limit, 7);
}

static void nonsense_is_nothing(void **state)
{
	static const char *const records[] = {
		"",
		"null",
		"[]",
		"{\"refusal\":[]}",
		"{\"refusal\":{\"line\":-1,\"rule\":3}}",
		"{\"risk\":{\"score\":\"x\",\"reasons\":7}}",
		"{\"refusal\":{\"rule\":\"import\",\"rule\":\"x\"}}",
		"{",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		struct brig_result result = result_of(records[i], RAN, BRIG_FAILED, false);
		assert_int_equal(result.status, BRIG_FAILED);
		assert_false(result.refused);
	}
}

/* Cut in the middle of a character, it would not be valid text any more. */
static void long_texts_stay_texts(void **state)
{
	char record[1024] = "{\"refusal\":{\"rule\":\"import\",\"reason\":\"x";

	(void)state;
	while (strlen(record) < 900) {
		strcat(record, "\xc3\xa9");
	}
	strcat(record, "\"}}");
	struct brig_result result =
		result_of(record, F_SEAL_WRITE | F_SEAL_SEAL, BRIG_FAILED, false);
	size_t length = strlen(result.refusal.reason);
	assert_true(length > 190 && length < sizeof(result.refusal.reason));
	assert_int_equal((unsigned char)result.refusal.reason[length - 1], 0xa9);
}

static void the_text_is_whole(void **state)
{
	size_t size = 0;
	_cleanup_free_ char *text = guard_text("end()\n", 6, &size);

	(void)state;
	assert_non_null(text);
	assert_int_equal(strlen(text), size);
	assert_non_null(strstr(text, "GUARD_TABLE = '''{"));
	assert_string_equal(text + size - 6, "end()\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sealed_refusal_counts),
		cmocka_unit_test(another_one_is_only_its_own_word),
		cmocka_unit_test(rules_are_those_of_the_policy),
		cmocka_unit_test(without_a_decision_it_is_an_error),
		cmocka_unit_test(a_check_has_a_score),
		cmocka_unit_test(operations_have_a_limit),
		cmocka_unit_test(nonsense_is_nothing),
		cmocka_unit_test(long_texts_stay_texts),
		cmocka_unit_test(the_text_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
