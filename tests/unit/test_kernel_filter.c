/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler of filters: tree, jumps, limits. The proof is made with the built-in policies. */
#include <errno.h>
#include <linux/audit.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four that it needs */
#include <cmocka.h>

#include "base/clock.h"
#include "filter_fixture.h"

#define X86_64   AUDIT_ARCH_X86_64
#define ERRNO(e) (SECCOMP_RET_ERRNO | (e))

static void compile_lines(const char *lines, bool notify, struct filter *filter,
			  struct bpf_program *program)
{
	struct brig_error err = { 0 };

	assert_int_equal(filter_from_lines(lines, filter, &err), 0);
	assert_int_equal(filter_compile(filter, notify, program, &err), 0);
}

static uint32_t run(const struct bpf_program *program, uint32_t arch, uint32_t call, uint64_t arg0,
		    uint64_t arg1)
{
	struct seccomp_data data = { .nr = (int)call, .arch = arch, .args = { arg0, arg1 } };

	return bpf_evaluate(program, &data);
}

static void test_simple_actions(void **state)
{
	struct filter filter = { 0 };
	struct bpf_program program = { 0 };

	(void)state;
	compile_lines("read | allow | | a\nwrite | deny EPERM | | b\nopen | errno ENOENT | | c\n"
		      "close | kill | | d\n",
		      false, &filter, &program);
	assert_int_equal(run(&program, X86_64, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(run(&program, X86_64, 1, 0, 0), ERRNO(EPERM));
	assert_int_equal(run(&program, X86_64, 2, 0, 0), ERRNO(ENOENT));
	assert_int_equal(run(&program, X86_64, 3, 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(run(&program, X86_64, 4, 0, 0), ERRNO(ENOSYS));
	assert_int_equal(run(&program, X86_64, 1023, 0, 0), ERRNO(ENOSYS));
	assert_int_equal(run(&program, X86_64, 0x3fffffff, 0, 0), ERRNO(ENOSYS));
	bpf_program_done(&program);
	filter_done(&filter);
}

static void test_foreign_entries_are_killed(void **state)
{
	struct filter filter = { 0 };
	struct bpf_program program = { 0 };

	(void)state;
	compile_lines("read | allow | | a\n", true, &filter, &program);
	assert_int_equal(run(&program, AUDIT_ARCH_I386, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(run(&program, 0, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(run(&program, X86_64, 0x40000000, 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(run(&program, X86_64, 0xffffffff, 0, 0), SECCOMP_RET_KILL_PROCESS);
	bpf_program_done(&program);
	filter_done(&filter);
}

static void test_notify(void **state)
{
	struct filter filter = { 0 };
	struct bpf_program program = { 0 };

	(void)state;
	compile_lines("read | deny EPERM | | a\nwrite | errno EPERM | | b\n"
		      "open | allow | arg0 == 1 | c\n",
		      true, &filter, &program);
	assert_int_equal(run(&program, X86_64, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(run(&program, X86_64, 1, 0, 0), ERRNO(EPERM));
	assert_int_equal(run(&program, X86_64, 2, 2, 0), SECCOMP_RET_USER_NOTIF);
	bpf_program_done(&program);
	filter_done(&filter);
}

static void test_conditions(void **state)
{
	struct filter filter = { 0 };
	struct bpf_program program = { 0 };
	uint64_t high = UINT64_C(0x100000000);

	(void)state;
	compile_lines(
		"read | allow | arg0 in 1,2,5 | a\n"
		"write | allow | arg0 & 0xf0 != 0 ; arg1 == 7 | b\n"
		"open | allow | wide arg0 == 0x100000002 | c\n"
		"close | deny EACCES | arg0 not in 3,4 | d\n"
		"close | allow | | e\n"
		"stat | allow | wide arg0 & 0xff00000000 not in 0x100000000,0x200000000 | f\n",
		false, &filter, &program);
	assert_int_equal(run(&program, X86_64, 0, 2, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(run(&program, X86_64, 0, high | 5, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(run(&program, X86_64, 0, 3, 0), ERRNO(EPERM));
	assert_int_equal(run(&program, X86_64, 1, 0x10, 7), SECCOMP_RET_ALLOW);
	assert_int_equal(run(&program, X86_64, 1, 0x0f, 7), ERRNO(EPERM));
	assert_int_equal(run(&program, X86_64, 1, 0x10, 8), ERRNO(EPERM));
	assert_int_equal(run(&program, X86_64, 2, high | 2, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(run(&program, X86_64, 2, 2, 0), ERRNO(EPERM));
	assert_int_equal(run(&program, X86_64, 3, 9, 0), ERRNO(EACCES));
	assert_int_equal(run(&program, X86_64, 3, 4, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(run(&program, X86_64, 4, high | 9, 0), ERRNO(EPERM));
	assert_int_equal(run(&program, X86_64, 4, 3 * high, 0), SECCOMP_RET_ALLOW);
	bpf_program_done(&program);
	filter_done(&filter);
}

/* Neighbours with one answer are one range: 0..3 and the rest make three decisions. */
static void test_neighbours_merge(void **state)
{
	struct filter filter = { 0 };
	struct bpf_program program = { 0 };

	(void)state;
	compile_lines("read | allow | | a\nwrite | allow | | a\nopen | allow | | a\n"
		      "close | allow | | a\n",
		      false, &filter, &program);
	assert_in_range(program.count, 5, 8);
	bpf_program_done(&program);
	filter_done(&filter);
}

/* A table without any rule, as a policy would never contain it: everything is unknown. */
static void test_empty(void **state)
{
	struct filter filter = { 0 };
	struct bpf_program program = { 0 };

	(void)state;
	assert_int_equal(filter_compile(&filter, false, &program, NULL), 0);
	assert_int_equal(run(&program, X86_64, 0, 0, 0), ERRNO(ENOSYS));
	assert_int_equal(run(&program, AUDIT_ARCH_I386, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
	bpf_program_done(&program);
}

/* `calls` numbers, each with `rules` rules of `values` wide values: long jumps everywhere. */
static void make_large(struct filter *filter, unsigned calls, unsigned rules, unsigned values)
{
	filter->count = calls * rules;
	filter->rules = calloc(filter->count, sizeof(*filter->rules));
	filter->tests = calloc(filter->count, sizeof(*filter->tests));
	filter->values = calloc((size_t)filter->count * values, sizeof(*filter->values));
	assert_non_null(filter->rules);
	assert_non_null(filter->values);
	assert_non_null(filter->tests);
	for (unsigned i = 0; i < filter->count; i++) {
		struct filter_test *test = &filter->tests[i];

		*test = (struct filter_test){ .arg = i % 6,
					      .wide = i % 3 != 0,
					      .negate = i % 5 == 0 };
		test->mask = i % 7 == 0 ? UINT64_C(0xffff0000ffff) : UINT64_MAX;
		uint64_t *own = filter->values + (size_t)i * values;

		test->values_count = (uint8_t)values;
		test->values = own;
		for (unsigned v = 0; v < values; v++) {
			own[v] = (uint64_t)(i % 3 != 0 ? v : 0) << 32 | (i * 31 + v) % 65536;
		}
		filter->rules[i] = (struct filter_rule){
			.call = (uint16_t)(i / rules * 3),
			.action = (enum filter_action)(i % 4),
			.errnum = (uint16_t)(1 + i % 100),
			.tests = test,
			.tests_count = 1,
		};
	}
}

static void test_long_jumps(void **state)
{
	struct filter filter = { 0 };
	struct bpf_program program = { 0 };
	unsigned compared = 0;

	(void)state;
	make_large(&filter, 12, 6, 8);
	assert_int_equal(filter_compile(&filter, true, &program, NULL), 0);
	assert_true(program.count > 1500);
	for (unsigned i = 0; i < filter.count; i++) {
		for (unsigned v = 0; v < 8; v++) {
			for (uint32_t call = 0; call < 40; call++) {
				struct seccomp_data data = { .nr = (int)call, .arch = X86_64 };

				for (unsigned a = 0; a < 6; a++) {
					data.args[a] = filter.tests[i].values[v] + (a & 1);
				}

				struct filter_decision want =
					filter_decide(&filter, X86_64, call, (uint64_t *)data.args);

				assert_int_equal(bpf_evaluate(&program, &data),
						 decision_value(want, true));
				compared++;
			}
		}
	}
	assert_int_equal(compared, 72 * 8 * 40);
	bpf_program_done(&program);
	filter_done(&filter);
}

static void test_too_large(void **state)
{
	struct filter filter = { 0 };
	struct bpf_program program = { 0 };
	struct brig_error err = { 0 };

	(void)state;
	make_large(&filter, 100, 6, 8);
	assert_int_equal(filter_compile(&filter, false, &program, &err), -E2BIG);
	assert_null(program.code);
	assert_int_equal(err.code, BRIG_E_POLICY);
	filter_done(&filter);
}

static void test_broken_tables(void **state)
{
	struct filter_test no_value = { .mask = 1 };
	struct filter_rule unsorted[] = { { .call = 2 }, { .call = 1 } };
	struct filter_rule too_high[] = { { .call = FILTER_CALLS_MAX } };
	struct filter_rule empty_test[] = { { .call = 1, .tests = &no_value, .tests_count = 1 } };
	struct bpf_program program = { 0 };
	struct filter filter = { .rules = unsorted, .count = 2 };

	(void)state;
	assert_int_equal(filter_compile(&filter, false, &program, NULL), -EINVAL);
	filter = (struct filter){ .rules = too_high, .count = 1 };
	assert_int_equal(filter_compile(&filter, false, &program, NULL), -EINVAL);
	filter = (struct filter){ .rules = empty_test, .count = 1 };
	assert_int_equal(filter_compile(&filter, false, &program, NULL), -EINVAL);
}

/* An unknown instruction, or running off the end, results in a kill, never in an allow. */
static void test_evaluator_fails_closed(void **state)
{
	struct sock_filter odd[] = { { BPF_LD | BPF_IMM, 0, 0, 1 },
				     { BPF_RET | BPF_K, 0, 0, 0x7fff0000 } };
	struct sock_filter off_end[] = { { BPF_JMP | BPF_JA, 0, 0, 0xffffffff } };
	struct sock_filter outside[] = { { BPF_LD | BPF_W | BPF_ABS, 0, 0, 64 },
					 { BPF_RET | BPF_K, 0, 0, 0x7fff0000 } };
	struct seccomp_data data = { 0 };

	(void)state;
	assert_int_equal(bpf_evaluate(&(struct bpf_program){ odd, 2 }, &data),
			 SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(bpf_evaluate(&(struct bpf_program){ off_end, 1 }, &data),
			 SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(bpf_evaluate(&(struct bpf_program){ outside, 2 }, &data),
			 SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(bpf_evaluate(&(struct bpf_program){ NULL, 0 }, &data),
			 SECCOMP_RET_KILL_PROCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_simple_actions),
		cmocka_unit_test(test_foreign_entries_are_killed),
		cmocka_unit_test(test_notify),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_neighbours_merge),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_long_jumps),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_broken_tables),
		cmocka_unit_test(test_evaluator_fails_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
