/* SPDX-License-Identifier: Apache-2.0 */
/* System calls as people write them, and the answers where arguments are open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/audit.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "check/internal.h"

static void test_parse(void **state)
{
	struct brig_error err = { 0 };
	struct check_call call;

	(void)state;
	assert_int_equal(check_call_parse("ptrace", &call, &err), 0);
	assert_int_equal(call.number, SYS_ptrace);
	assert_false(call.known[0] || call.known[5]);
	assert_int_equal(
		check_call_parse(" socket ( AF_INET , SOCK_STREAM | 0x800 , _ ) " + 1, &call, &err),
		0);
	assert_int_equal(call.number, SYS_socket);
	assert_int_equal(call.args[0], 2);
	assert_int_equal(call.args[1], 1 | 0x800);
	assert_true(call.known[0] && call.known[1] && !call.known[2] && call.known[3]);
	assert_int_equal(check_call_parse("close(-1)", &call, &err), 0);
	assert_true(call.args[0] == UINT64_MAX);
	assert_int_equal(check_call_parse("getpid()", &call, &err), 0);
	assert_true(call.known[0] && call.args[0] == 0);
	assert_int_equal(check_call_parse("read(0,1,2,3,4,5)", &call, &err), 0);
}

static void test_wrong(void **state)
{
	static const char *const wrong[] = {
		"",
		"(",
		"()",
		"nonesuch",
		"read(",
		"read(,)",
		"read(1,,",
		"read(1 2",
		"read(1))",
		"read)",
		"read(|)",
		"read(1|)",
		"read(AF)",
		"read(1)x",
		"read(0x)",
		"read(1e3)",
		"read x",
		"read(0,1,2,3,4,5,6)",
		"read(99999999999999999999999)",
		"read("
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaa",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct brig_error err = { 0 };
		struct check_call call;

		assert_true(check_call_parse(wrong[i], &call, &err) < 0);
		assert_true(err.message[0]);
	}
}

static void cleanup_check(struct check *check)
{
	check_done(check);
}

/* With every argument known the answer is the filter's own, for every call. */
static void test_like_the_filter(void **state)
{
	static const uint64_t values[] = { 0, 1, 2, 16, 17, 38, 0x10000000, UINT64_MAX };
	struct brig_error err = { 0 };
	_cleanup_(cleanup_check)
	struct check check;

	(void)state;
	assert_int_equal(check_open(&check, "/nonexistent", "strict", NULL, &err), 0);
	check.tried = true; /* without a cell: the policy's own filter */
	check.failed = -ENOTSUP;
	for (unsigned number = 0; number < FILTER_CALLS_MAX; number++) {
		for (size_t i = 0; syscall_name(number) && i < ARRAY_SIZE(values); i++) {
			struct check_call call = { .number = number };
			struct check_answer answer = { 0 };

			for (size_t k = 0; k < ARRAY_SIZE(call.args); k++) {
				call.args[k] = k == i % 3 ? values[i] : values[(i + k) % 3];
				call.known[k] = true;
			}
			check_call_decide(&check, &call, &answer);
			struct filter_decision real = filter_decide(
				&check.policy->filter, AUDIT_ARCH_X86_64, number, call.args);
			bool allowed = real.action == FILTER_ALLOW ||
				       (real.action == FILTER_ERRNO && real.errnum == 0);
			assert_int_equal(answer.verdict, allowed ? CHECK_ALLOWED : CHECK_REFUSED);
			assert_true(answer.origin.kind != ORIGIN_UNSAID);
			assert_true(answer.origin.line > 0 && answer.reason[0]);
			assert_true(allowed || answer.repair[0]);
		}
	}
}

/* An answer with open arguments holds for all arguments that are tried. */
static void test_open(void **state)
{
	static const uint64_t values[] = { 0, 1, 2, 3, 10, 16, 38, 1024, 0x5412, 0x10000000 };
	struct brig_error err = { 0 };
	_cleanup_(cleanup_check)
	struct check check;

	(void)state;
	assert_int_equal(check_open(&check, "/nonexistent", "default", NULL, &err), 0);
	check.tried = true;
	check.failed = -ENOTSUP;
	for (unsigned number = 0; number < FILTER_CALLS_MAX; number++) {
		struct check_call open = { .number = number };
		struct check_answer said = { 0 };

		if (!syscall_name(number)) {
			continue;
		}
		check_call_decide(&check, &open, &said);
		for (size_t i = 0; said.verdict != CHECK_DEPENDS && i < 1000; i++) {
			struct check_call call = { .number = number };
			struct check_answer answer = { 0 };

			for (size_t k = 0, rest = i; k < ARRAY_SIZE(call.args); k++, rest /= 10) {
				call.args[k] = values[rest % ARRAY_SIZE(values)];
				call.known[k] = true;
			}
			check_call_decide(&check, &call, &answer);
			assert_int_equal(answer.verdict, said.verdict);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_like_the_filter),
		cmocka_unit_test(test_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
