/* Parsing the lines of data/syscalls: CALL | ACTION | CONDITION | REASON. */
#ifndef BRIG_POLICY_SYSCALL_RULES_H
#define BRIG_POLICY_SYSCALL_RULES_H

#include "base/error.h"
#include "kernel/filter.h"

#define RULE_TESTS_TOTAL_MAX 512 /* conditions of all rules together */

/* A filter that grows: rules in the order of their lines, not sorted yet. */
struct rule_builder {
	struct filter_rule *rules; /* FILTER_RULES_MAX of them */
	unsigned count;
	struct filter_test *tests; /* RULE_TESTS_TOTAL_MAX of them */
	unsigned tests_count;
	bool skip[FILTER_CALLS_MAX]; /* calls that the policy decides by name */
};

/*
 * Adds the rules of one group. `text` is cut up: rules point into it, so it must live as long as
 * they do; likewise `origin` ("@basic"), which also names the file in messages.
 */
int syscall_rules_parse(struct rule_builder *builder, const char *origin, char *text,
			struct brig_error *err);

/* One CONDITION field, cut up as well. Fills at most FILTER_TESTS_MAX; returns how many, or -1. */
int syscall_condition_parse(char *text, struct filter_test *tests, const char **why);
#endif
