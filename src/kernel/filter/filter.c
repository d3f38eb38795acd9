/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interprets the table of a filter in the simplest way, because the compiled program is checked
 * against this.
 */
#include "kernel/filter/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/filter/filter_abi.h"

void filter_done(struct filter *filter)
{
	free(filter->rules);
	free(filter->tests);
	free(filter->values);
	free(filter->texts);
	*filter = (struct filter){ 0 };
}

void bpf_program_done(struct bpf_program *program)
{
	free(program->code);
	*program = (struct bpf_program){ 0 };
}

static bool test_holds(const struct filter_test *test, const uint64_t args[6])
{
	uint64_t width = test->wide ? UINT64_MAX : UINT32_MAX;
	uint64_t value = args[test->arg] & test->mask & width;

	for (unsigned i = 0; i < test->values_count; i++) {
		if (value == (test->values[i] & width)) {
			return !test->negate;
		}
	}
	return test->negate;
}

static bool rule_holds(const struct filter_rule *rule, const uint64_t args[6])
{
	for (unsigned i = 0; i < rule->tests_count; i++) {
		if (!test_holds(&rule->tests[i], args)) {
			return false;
		}
	}
	return true;
}

/* Index of the first rule of a call, or the position where it would be. */
static unsigned first_rule(const struct filter *filter, uint32_t call)
{
	unsigned low = 0;
	unsigned high = filter->count;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (filter->rules[middle].call < call) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

struct filter_decision filter_decide(const struct filter *filter, uint32_t arch, uint32_t call,
				     const uint64_t args[6])
{
	/*
	 * i386 and x32 reach the same kernel with other numbers (seccomp(2), "arch"): no table
	 * applies to them.
	 */
	if (arch != AUDIT_ARCH_X86_64 || call >= FILTER_X32_BIT) {
		return (struct filter_decision){ .action = FILTER_KILL };
	}

	unsigned i = first_rule(filter, call);

	if (call >= FILTER_CALLS_MAX || i == filter->count || filter->rules[i].call != call) {
		return (struct filter_decision){ .action = FILTER_ERRNO, .errnum = ENOSYS };
	}
	for (; i < filter->count && filter->rules[i].call == call; i++) {
		const struct filter_rule *rule = &filter->rules[i];

		if (rule_holds(rule, args)) {
			return (struct filter_decision){ rule->action, rule->errnum, rule };
		}
	}
	return (struct filter_decision){ .action = FILTER_DENY, .errnum = EPERM };
}

void filter_kill_calls(const struct filter *filter, char *ret, size_t size)
{
	const char *last = NULL;
	size_t at = 0;

	ret[0] = '\0';
	for (unsigned i = 0; filter && i < filter->count; i++) {
		const struct filter_rule *rule = &filter->rules[i];
		const char *name = rule->action == FILTER_KILL ? syscall_name(rule->call) : NULL;

		if (!name || name == last || at + strlen(name) + 3 > size) {
			continue;
		}
		at += (size_t)snprintf(ret + at, size - at, "%s%s", at ? ", " : "", name);
		last = name;
	}
}
