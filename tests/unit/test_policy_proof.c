/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy proof: every filter that brig compiles from its built-in policies, in both notify
 * modes and watched, answers as its written table does: for call numbers 0..1023 and some beyond,
 * on x86_64, i386 and x32, with every argument that the rules mention and its neighbours. Nothing
 * is executed: the program is evaluated by an interpreter.
 */
#include <linux/audit.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four that it needs */
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "filter_fixture.h"
#include "policy/policy.h"

#define VALUES_MAX  1200
#define PRODUCT_MAX 2000000u /* combinations of one call: above this, each argument by itself */
#define X32         0x40000000u

struct values {
	uint64_t items[VALUES_MAX];
	unsigned count;
};

struct proof {
	const struct filter *filter;
	const struct bpf_program *program;
	bool notify;
	uint64_t evaluations;
};

static void add_value(struct values *values, uint64_t value)
{
	for (unsigned i = 0; i < values->count; i++) {
		if (values->items[i] == value) {
			return;
		}
	}
	assert_true(values->count < VALUES_MAX);
	values->items[values->count++] = value;
}

/* The value, its neighbours, and the same with garbage in the upper word. */
static void add_around(struct values *values, uint64_t value)
{
	const uint64_t near[] = { value, value - 1, value + 1 };

	for (unsigned i = 0; i < ARRAY_SIZE(near); i++) {
		add_value(values, near[i]);
		add_value(values, near[i] ^ UINT64_C(0x100000000));
	}
}

static void add_test(struct values *values, const struct filter_test *test)
{
	for (unsigned i = 0; i < test->values_count; i++) {
		add_around(values, test->values[i]);
		/* bits outside of the mask must not matter */
		add_value(values, test->values[i] | (~test->mask & UINT32_MAX));
	}
	if (test->mask == UINT32_MAX || test->mask == UINT64_MAX) {
		return;
	}
	for (unsigned bit = 0; bit < 64; bit++) {
		if (test->mask >> bit & 1) {
			add_value(values, UINT64_C(1) << bit);
			add_value(values, test->mask & ~(UINT64_C(1) << bit));
		}
	}
}

static void hold(struct proof *proof, const struct seccomp_data *data)
{
	struct filter_decision want = filter_decide(proof->filter, data->arch, (uint32_t)data->nr,
						    (const uint64_t *)data->args);
	uint32_t expected = decision_value(want, proof->notify);
	uint32_t got = bpf_evaluate(proof->program, data);

	proof->evaluations++;
	if (got != expected) {
		fail_msg("call %u (%s) arch %#x args %#llx %#llx %#llx %#llx: %#x, the table says "
			 "%#x",
			 (unsigned)data->nr, syscall_name((unsigned)data->nr), data->arch,
			 data->args[0], data->args[1], data->args[2], data->args[3], got, expected);
	}
}

/* Every combination of the arguments that the rules of this call test. */
static void hold_product(struct proof *proof, uint32_t call, const struct values values[6])
{
	struct seccomp_data data = { .nr = (int)call, .arch = AUDIT_ARCH_X86_64 };
	unsigned at[6] = { 0 };

	for (;;) {
		unsigned a = 0;

		for (unsigned i = 0; i < 6; i++) {
			data.args[i] = values[i].items[at[i]];
		}
		hold(proof, &data);
		while (a < 6 && ++at[a] == values[a].count) {
			at[a++] = 0;
		}
		if (a == 6) {
			return;
		}
	}
}

static void hold_call(struct proof *proof, uint32_t call, struct values values[6])
{
	const struct filter *filter = proof->filter;
	bool tested[6] = { false };
	uint64_t product = 1;

	for (unsigned a = 0; a < 6; a++) {
		values[a].count = 0;
		add_value(&values[a], 0);
	}
	for (unsigned i = 0; i < filter->count; i++) {
		for (unsigned t = 0;
		     filter->rules[i].call == call && t < filter->rules[i].tests_count; t++) {
			const struct filter_test *test = &filter->rules[i].tests[t];

			add_test(&values[test->arg], test);
			tested[test->arg] = true;
		}
	}
	for (unsigned a = 0; a < 6; a++) {
		/* An argument that no rule names must not matter, whatever its value. */
		add_value(&values[a], UINT64_MAX);
		if (tested[a]) {
			add_value(&values[a], UINT64_C(0x100000000));
			add_value(&values[a], UINT32_MAX);
		}
		product *= values[a].count;
	}
	assert_true(product < PRODUCT_MAX);
	hold_product(proof, call, values);
}

static void hold_foreign(struct proof *proof)
{
	static const uint32_t beyond[] = { 1024,       1025,       4096,       0x3fffffff,
					   0x40000000, 0x40000001, 0x40000200, 0x7fffffff,
					   0x80000000, 0xbfffffff, 0xffffffff };
	static const uint32_t archs[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, 0,
					  0xffffffff };

	for (unsigned a = 0; a < ARRAY_SIZE(archs); a++) {
		struct seccomp_data data = { .arch = archs[a], .args = { 1, 2, 3, 4, 5, 6 } };

		for (unsigned i = 0; i < ARRAY_SIZE(beyond); i++) {
			data.nr = (int)beyond[i];
			hold(proof, &data);
		}
		for (uint32_t call = 0; call < FILTER_CALLS_MAX; call++) {
			data.nr = (int)call;
			hold(proof, &data);
			data.nr = (int)(call | X32);
			hold(proof, &data);
			if (archs[a] != AUDIT_ARCH_X86_64) {
				assert_int_equal(bpf_evaluate(proof->program, &data),
						 SECCOMP_RET_KILL_PROCESS);
			}
		}
	}
}

static uint64_t prove(const struct filter *filter, bool notify, unsigned *ret_size)
{
	_cleanup_(bpf_program_done)
	struct bpf_program program = { 0 };
	_cleanup_free_ struct values *values = calloc(6, sizeof(*values));
	struct brig_error err = { 0 };

	assert_non_null(values);
	assert_int_equal(filter_compile(filter, notify, &program, &err), 0);

	struct proof proof = { .filter = filter, .program = &program, .notify = notify };

	hold_foreign(&proof);
	for (uint32_t call = 0; call < FILTER_CALLS_MAX; call++) {
		hold_call(&proof, call, values);
	}
	*ret_size = program.count;
	return proof.evaluations;
}

static void test_built_in_policies(void **state)
{
	_cleanup_(strlist_done)
	struct strlist names = { 0 };
	struct policy_source source = { 0 };
	uint64_t start = clock_now_ns();
	uint64_t total = 0;
	unsigned filtered = 0;

	(void)state;
	assert_int_equal(policy_names(&source, &names, NULL), 0);
	assert_true(names.count >= 3);
	for (size_t i = 0; i < names.count; i++) {
		struct policy *policy = NULL;
		struct brig_error err = { 0 };

		if (policy_load(&source, names.items[i], &policy, &err) < 0) {
			fail_msg("%s: %s", names.items[i], err.message);
		}
		/* 2: with all allowed calls watched. */
		for (int notify = 0; policy->filter.count > 0 && notify < 3; notify++) {
			unsigned size = 0;
			struct call_set all;

			call_set_fill(&all);
			if (notify == 2) {
				assert_int_equal(filter_watch(&policy->filter, &all, NULL), 0);
			}
			uint64_t n = prove(&policy->filter, notify > 0, &size);

			print_message(
				"%s, notify %d: %u rules, %u instructions, %llu evaluations\n",
				names.items[i], notify, policy->filter.count, size,
				(unsigned long long)n);
			total += n;
			filtered++;
		}
		policy_free(policy);
	}
	print_message("policy proof: %llu evaluations in %llu ms\n", (unsigned long long)total,
		      (unsigned long long)((clock_now_ns() - start) / 1000000));
	assert_int_equal(filtered, 6);
	assert_true(total > 500000);
}

/* The proof itself can fail: one changed instruction must be detected. */
static void test_proof_notices_a_change(void **state)
{
	struct policy_source source = { 0 };
	struct policy *policy = NULL;
	_cleanup_(bpf_program_done)
	struct bpf_program program = { 0 };
	unsigned noticed = 0, returns = 0;

	(void)state;
	assert_int_equal(policy_load(&source, "default", &policy, NULL), 0);
	assert_int_equal(filter_compile(&policy->filter, true, &program, NULL), 0);
	for (unsigned i = 0; i < program.count; i++) {
		struct sock_filter *insn = &program.code[i];
		uint32_t good = insn->k;

		if (insn->code != (BPF_RET | BPF_K)) {
			continue;
		}
		returns++;
		insn->k = good == SECCOMP_RET_ALLOW ? SECCOMP_RET_TRAP : SECCOMP_RET_ALLOW;

		bool differs = false;

		for (uint32_t call = 0; !differs && call < FILTER_CALLS_MAX; call++) {
			for (uint64_t arg = 0; !differs && arg < 64; arg++) {
				uint64_t bit = arg < 32 ? UINT64_C(1) << arg : arg - 32;
				struct seccomp_data data = { .nr = (int)call,
							     .arch = AUDIT_ARCH_X86_64,
							     .args = { bit, bit, bit, bit, bit,
								       bit } };
				struct filter_decision want =
					filter_decide(&policy->filter, data.arch, call,
						      (const uint64_t *)data.args);

				differs =
					bpf_evaluate(&program, &data) != decision_value(want, true);
			}
		}
		/* the kill of foreign entries is not among these calls */
		noticed += differs;
		insn->k = good;
	}
	assert_true(returns > 5);
	assert_true(noticed >= returns / 2);
	policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_built_in_policies),
		cmocka_unit_test(test_proof_notices_a_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
