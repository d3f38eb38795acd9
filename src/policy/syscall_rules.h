/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the lines of data/syscalls: CALL | ACTION | CONDITION | REASON. */
#ifndef BRIG_POLICY_SYSCALL_RULES_H
#define BRIG_POLICY_SYSCALL_RULES_H

#include "base/error.h"
#include "kernel/filter/filter.h"

#define RULE_TESTS_TOTAL_MAX  512  /* conditions of all rules together */
#define RULE_VALUES_TOTAL_MAX 4096 /* and their values */

/* A filter that grows: rules in the order of their lines, not sorted yet. */
struct rule_builder {
	struct filter_rule *rules; /* FILTER_RULES_MAX of them */
	unsigned count;
	struct filter_test *tests; /* RULE_TESTS_TOTAL_MAX of them */
	unsigned tests_count;
	uint64_t *values; /* RULE_VALUES_TOTAL_MAX of them */
	unsigned values_count;
	bool skip[FILTER_CALLS_MAX]; /* calls that the policy decides by name */
	bool single;                 /* only one call of a group is wanted, this one: */
	int only;
	const char *where; /* its permissions apply only where this condition holds; or NULL */
};

/*
 * Adds the rules of one group. Every line of the text, including the last one, ends with NUL: rules
 * point into it for their reasons, so it must live as long as they do; likewise `origin`
 * ("@basic").
 */
int syscall_rules_parse(struct rule_builder *builder, const char *origin, const char *text,
			size_t size, struct brig_error *err);

/*
 * Parses one CONDITION field, up to `end`: adds to the builder's tests. Returns an error text, or
 * NULL.
 */
const char *syscall_condition_parse(struct rule_builder *builder, const char *text, const char *end,
				    struct filter_rule *rule);
#endif
