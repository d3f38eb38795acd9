/* SPDX-License-Identifier: Apache-2.0 */
/* Filters for tests: from lines of rules, or from a policy's list. */
#ifndef BRIG_TESTS_FILTER_FIXTURE_H
#define BRIG_TESTS_FILTER_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "kernel/filter/filter.h"
#include "policy/syscall_rules.h"

/* Lines must be in order of their call numbers. Returns what the parser returns. */
static inline int filter_from_lines(const char *lines, struct filter *ret, struct brig_error *err)
{
	struct rule_builder *builder = calloc(1, sizeof(*builder));

	if (!builder) {
		abort();
	}
	ret->rules = builder->rules = calloc(FILTER_RULES_MAX, sizeof(*ret->rules));
	ret->tests = builder->tests = calloc(RULE_TESTS_TOTAL_MAX, sizeof(*ret->tests));
	ret->values = builder->values = calloc(RULE_VALUES_TOTAL_MAX, sizeof(*ret->values));
	ret->texts = strdup(lines);
	if (!ret->rules || !ret->tests || !ret->values || !ret->texts) {
		abort();
	}
	for (char *c = ret->texts; (c = strchr(c, '\n')); c++) {
		*c = '\0';
	}

	int r = syscall_rules_parse(builder, "@test", ret->texts, strlen(lines) + 1, err);

	ret->count = builder->count;
	free(builder);
	if (r < 0) {
		filter_done(ret);
	}
	return r;
}

/* The value that the kernel would get for a decision of the table. */
static inline uint32_t decision_value(struct filter_decision decision, bool notify)
{
	if (notify && decision.rule && decision.rule->watch) {
		return SECCOMP_RET_USER_NOTIF;
	}
	switch (decision.action) {
	case FILTER_ALLOW:
		return SECCOMP_RET_ALLOW;
	case FILTER_DENY:
		return notify ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | decision.errnum;
	case FILTER_ERRNO:
		return SECCOMP_RET_ERRNO | decision.errnum;
	case FILTER_KILL:
		break;
	}
	return SECCOMP_RET_KILL_PROCESS;
}
#endif
