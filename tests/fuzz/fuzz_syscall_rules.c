/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the lines of a system-call group. Rules that parse must compile, or be too large,
 * and the compiled program must answer as the table does.
 */
#include <errno.h>
#include <linux/audit.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/syscall_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int by_call(const void *a, const void *b)
{
	const struct filter_rule *x = a, *y = b;

	if (x->call != y->call) {
		return x->call < y->call ? -1 : 1;
	}
	/* Lines keep their order: reasons follow each other in the text. */
	return x->reason < y->reason ? -1 : 1;
}

static void compare(const struct filter *filter, const struct bpf_program *program,
		    const struct seccomp_data *data)
{
	struct filter_decision want =
		filter_decide(filter, data->arch, (uint32_t)data->nr, (const uint64_t *)data->args);
	static const uint32_t values[] = {
		[FILTER_ALLOW] = SECCOMP_RET_ALLOW,
		[FILTER_DENY] = SECCOMP_RET_ERRNO,
		[FILTER_ERRNO] = SECCOMP_RET_ERRNO,
		[FILTER_KILL] = SECCOMP_RET_KILL_PROCESS,
	};

	if (bpf_evaluate(program, data) !=
	    (values[want.action] | (want.action == FILTER_KILL ? 0 : want.errnum))) {
		abort();
	}
}

static void check(const struct filter *filter)
{
	struct bpf_program program = { 0 };
	int r = filter_compile(filter, false, &program, NULL);

	if (r < 0) {
		if (r != -E2BIG) {
			abort();
		}
		return;
	}
	for (unsigned i = 0; i < filter->count; i++) {
		const struct filter_rule *rule = &filter->rules[i];
		struct seccomp_data data = { .nr = rule->call, .arch = AUDIT_ARCH_X86_64 };

		compare(filter, &program, &data);
		for (unsigned t = 0; t < rule->tests_count; t++) {
			for (unsigned v = 0; v < rule->tests[t].values_count; v++) {
				data.args[rule->tests[t].arg] = rule->tests[t].values[v];
				compare(filter, &program, &data);
				data.args[rule->tests[t].arg] ^= UINT64_C(0x100000001);
				compare(filter, &program, &data);
			}
		}
	}
	bpf_program_done(&program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rule_builder *builder = calloc(1, sizeof(*builder));
	struct filter filter = { 0 };
	struct brig_error err = { 0 };

	filter.rules = calloc(FILTER_RULES_MAX, sizeof(*filter.rules));
	filter.tests = calloc(RULE_TESTS_TOTAL_MAX, sizeof(*filter.tests));
	filter.values = calloc(RULE_VALUES_TOTAL_MAX, sizeof(*filter.values));
	filter.texts = malloc(size + 1);
	if (!builder || !filter.rules || !filter.tests || !filter.values || !filter.texts) {
		abort();
	}
	builder->rules = filter.rules;
	builder->tests = filter.tests;
	builder->values = filter.values;
	memcpy(filter.texts, data, size);
	filter.texts[size] = '\0';
	for (size_t i = 0; i < size; i++) {
		if (filter.texts[i] == '\n') {
			filter.texts[i] = '\0';
		}
	}
	if (syscall_rules_parse(builder, "@fuzz", filter.texts, size + 1, &err) == 0) {
		filter.count = builder->count;
		qsort(filter.rules, filter.count, sizeof(*filter.rules), by_call);
		check(&filter);
	} else if (err.message[0] == '\0') {
		abort();
	}
	free(builder);
	filter_done(&filter);
	return 0;
}
