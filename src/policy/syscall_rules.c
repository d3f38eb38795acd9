/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a system-call group. Parsed in place: this runs at every start. */
#include "policy/syscall_rules.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

enum field { FIELD_CALL, FIELD_ACTION, FIELD_CONDITION, FIELD_REASON, FIELD_COUNT };

static char *trim(char *start, char *end)
{
	while (start < end && (*start == ' ' || *start == '\t')) {
		start++;
	}
	while (end > start && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) {
		end--;
	}
	*end = '\0';
	return start;
}

static bool split(char *line, char *end, char *fields[FIELD_COUNT])
{
	for (unsigned i = 0; i < FIELD_COUNT; i++) {
		char *bar = memchr(line, '|', (size_t)(end - line));

		if ((bar == NULL) != (i == FIELD_COUNT - 1)) {
			return false;
		}
		fields[i] = trim(line, bar ? bar : end);
		line = bar ? bar + 1 : end;
	}
	return true;
}

/* Errors that a rule may answer with, the commonest first. */
static const struct {
	char name[16];
	uint16_t errnum;
} errors[] = {
	{ "EPERM", EPERM },
	{ "ENOSYS", ENOSYS },
	{ "EOPNOTSUPP", EOPNOTSUPP },
	{ "EAFNOSUPPORT", EAFNOSUPPORT },
	{ "ENOPROTOOPT", ENOPROTOOPT },
	{ "EPROTONOSUPPORT", EPROTONOSUPPORT },
	{ "EINVAL", EINVAL },
	{ "ENOMEM", ENOMEM },
	{ "EACCES", EACCES },
	{ "ENOENT", ENOENT },
	{ "ENODEV", ENODEV },
	{ "ENOTTY", ENOTTY },
	{ "ESRCH", ESRCH },
	{ "EAGAIN", EAGAIN },
	{ "0", 0 }, /* the call does nothing and succeeds */
};

static bool parse_errno(const char *text, uint16_t *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		if (strcmp(text, errors[i].name) == 0) {
			*ret = errors[i].errnum;
			return true;
		}
	}
	return false;
}

static const struct {
	char word[8];
	size_t length;
	enum filter_action action;
} actions[] = {
	{ "allow", 5, FILTER_ALLOW },
	{ "deny ", 5, FILTER_DENY },
	{ "errno ", 6, FILTER_ERRNO },
	{ "kill", 4, FILTER_KILL },
};

static const char *parse_action(const char *text, struct filter_rule *rule)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		const char *rest = text + actions[i].length;

		if (strncmp(text, actions[i].word, actions[i].length) != 0) {
			continue;
		}
		rule->action = actions[i].action;
		if (rest[-1] != ' ') {
			return *rest == '\0' ? NULL : "nothing may follow allow or kill";
		}
		if (!parse_errno(rest, &rule->errnum)) {
			return "unknown error name";
		}
		/* A refusal that looks like success would hide itself. */
		if (rule->errnum == 0 && rule->action == FILTER_DENY) {
			return "only errno may answer 0";
		}
		return NULL;
	}
	return "the action is allow, deny ERROR, errno ERROR or kill";
}

static const char *parse_rule(struct rule_builder *builder, const char *origin,
			      char *fields[FIELD_COUNT])
{
	struct filter_rule rule = { .reason = fields[FIELD_REASON], .origin = origin };
	struct filter_test *tests = builder->tests + builder->tests_count;
	int number = syscall_number(fields[FIELD_CALL]);
	const char *why = NULL;

	if (number < 0 || number >= FILTER_CALLS_MAX) {
		return "unknown system call";
	}
	if (builder->skip[number]) {
		return NULL;
	}
	why = parse_action(fields[FIELD_ACTION], &rule);
	if (why) {
		return why;
	}

	size_t reason = strlen(fields[FIELD_REASON]);

	if (reason == 0 || reason >= FILTER_REASON_MAX) {
		return "a reason is missing, or too long";
	}
	if (*fields[FIELD_CONDITION] != '\0') {
		if (builder->tests_count > RULE_TESTS_TOTAL_MAX - FILTER_TESTS_MAX) {
			return "too many conditions in all";
		}

		int count = syscall_condition_parse(fields[FIELD_CONDITION], tests, &why);

		if (count < 0) {
			return why;
		}
		rule.tests = tests;
		rule.tests_count = (uint8_t)count;
		builder->tests_count += (unsigned)count;
	}
	if (builder->count == FILTER_RULES_MAX) {
		return "too many rules in all";
	}
	rule.call = (uint16_t)number;
	builder->rules[builder->count++] = rule;
	return NULL;
}

int syscall_rules_parse(struct rule_builder *builder, const char *origin, char *text,
			struct brig_error *err)
{
	unsigned number = 0;
	char *next;

	for (char *line = text; *line != '\0'; line = next) {
		char *end = strchrnul(line, '\n');
		char *fields[FIELD_COUNT];

		next = *end == '\0' ? end : end + 1;
		number++;
		while (line < end && (*line == ' ' || *line == '\t' || *line == '\r')) {
			line++;
		}
		if (line == end || *line == '#') {
			continue;
		}

		const char *why = "a line is CALL | ACTION | CONDITION | REASON";

		if (split(line, end, fields)) {
			why = parse_rule(builder, origin, fields);
		}
		if (why) {
			return error_set(err, BRIG_E_POLICY, EINVAL,
					 "system-call group %s, line %u: %s", origin, number, why);
		}
	}
	return 0;
}
