/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a system-call group. Parsed in place: this runs at every start. */
#include "policy/syscall_rules.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

#define WORD_MAX 32

/* A field of a line, without the blanks around it. */
struct rule_field {
	const char *start;
	const char *end;
};

enum { FIELD_CALL, FIELD_ACTION, FIELD_CONDITION, FIELD_REASON, FIELD_COUNT };

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct rule_field trim(const char *start, const char *end)
{
	while (start < end && blank(*start)) {
		start++;
	}
	while (end > start && blank(end[-1])) {
		end--;
	}
	return (struct rule_field){ start, end };
}

static bool split(const char *line, const char *end, struct rule_field fields[FIELD_COUNT])
{
	for (unsigned i = 0; i < FIELD_REASON; i++) {
		const char *bar = line;

		while (*bar != '|') {
			if (bar++ == end) {
				return false;
			}
		}
		fields[i] = trim(line, bar);
		line = bar + 1;
	}
	fields[FIELD_REASON] = trim(line, end);
	return memchr(line, '|', (size_t)(end - line)) == NULL;
}

/* For functions that need a NUL at the end. */
static const char *word(struct rule_field field, char text[WORD_MAX])
{
	size_t length = (size_t)(field.end - field.start);

	if (length >= WORD_MAX) {
		return "";
	}
	memcpy(text, field.start, length);
	text[length] = '\0';
	return text;
}

/* Errors that a rule may return, the most common first. */
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
		/* A refusal that returns success could not be noticed. */
		if (rule->errnum == 0 && rule->action == FILTER_DENY) {
			return "only errno may return 0";
		}
		return NULL;
	}
	return "the action is allow, deny ERROR, errno ERROR or kill";
}

/* The policy's own condition, after those of the line: its tests follow them in the builder. */
static const char *narrow(struct rule_builder *builder, struct filter_rule *rule)
{
	struct filter_rule own = { 0 };
	const char *why = syscall_condition_parse(builder, builder->where,
						  builder->where + strlen(builder->where), &own);

	if (why) {
		return why;
	}
	if (rule->tests_count + own.tests_count > FILTER_TESTS_MAX) {
		return "too many conditions in one rule";
	}
	rule->tests = rule->tests_count ? rule->tests : own.tests;
	rule->tests_count = (uint8_t)(rule->tests_count + own.tests_count);
	return NULL;
}

static const char *parse_rule(struct rule_builder *builder, const char *origin,
			      const struct rule_field fields[FIELD_COUNT])
{
	struct filter_rule rule = { .reason = fields[FIELD_REASON].start, .origin = origin };
	size_t reason = (size_t)(fields[FIELD_REASON].end - rule.reason);
	char text[WORD_MAX];
	int number = syscall_number(word(fields[FIELD_CALL], text));
	const char *why;

	if (number < 0 || number >= FILTER_CALLS_MAX) {
		return "unknown system call";
	}
	if (builder->single ? number != builder->only : builder->skip[number]) {
		return NULL;
	}
	if (builder->count == FILTER_RULES_MAX) {
		return "too many rules in all";
	}
	why = parse_action(word(fields[FIELD_ACTION], text), &rule);
	if (why) {
		return why;
	}
	/* It is used in place, so nothing may come between it and the NUL. */
	if (reason == 0 || reason >= FILTER_REASON_MAX || rule.reason[reason] != '\0') {
		return "a reason is missing, too long, or has trailing blanks";
	}
	if (fields[FIELD_CONDITION].start != fields[FIELD_CONDITION].end) {
		why = syscall_condition_parse(builder, fields[FIELD_CONDITION].start,
					      fields[FIELD_CONDITION].end, &rule);
	}
	if (!why && builder->where && rule.action == FILTER_ALLOW) {
		why = narrow(builder, &rule);
	}
	if (why) {
		return why;
	}
	rule.call = (uint16_t)number;
	builder->rules[builder->count++] = rule;
	return NULL;
}

int syscall_rules_parse(struct rule_builder *builder, const char *origin, const char *text,
			size_t size, struct brig_error *err)
{
	const char *stop = text + size;
	unsigned number = 0;

	if (size > 0 && stop[-1] != '\0') {
		return error_set(err, BRIG_E_POLICY, EINVAL,
				 "system-call group %s: unterminated text", origin);
	}
	while (text < stop) {
		const char *end = text + strlen(text);
		struct rule_field line = trim(text, end);
		struct rule_field fields[FIELD_COUNT];

		number++;
		text = end + 1;
		if (line.start == line.end || *line.start == '#') {
			continue;
		}

		const char *why = "a line is CALL | ACTION | CONDITION | REASON";

		if (split(line.start, end, fields)) {
			why = parse_rule(builder, origin, fields);
		}
		if (why) {
			return error_set(err, BRIG_E_POLICY, EINVAL,
					 "system-call group %s, line %u: %s", origin, number, why);
		}
	}
	return 0;
}
