/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions of a system-call rule: "arg0 in AF_INET,AF_INET6 ; arg1 & SOCK_TYPE_MASK == SOCK_RAW".
 *
 *	condition = test { ";" test }
 *	test      = [ "wide" ] "arg" 0..5 [ "&" value ] ( "==" | "!=" | "in" | "not in" ) value { "," value }
 *	value     = term { "+" term }          the bits of all terms
 *	term      = constant | number
 */
#include <errno.h>
#include <stdlib.h>

#include "policy/syscall_rules.h"

#define NAME_MAX_LENGTH 40

struct cursor {
	struct rule_builder *builder;
	const char *at;
	const char *end; /* the byte at the end is one that no condition has: '|' or NUL */
	const char *why; /* the first error; or NULL */
};

static bool fail(struct cursor *c, const char *why)
{
	if (!c->why) {
		c->why = why;
	}
	return false;
}

static void skip_blanks(struct cursor *c)
{
	while (*c->at == ' ' || *c->at == '\t') {
		c->at++;
	}
}

static bool accept(struct cursor *c, const char *token)
{
	const char *at;

	skip_blanks(c);
	for (at = c->at; *token != '\0'; at++, token++) {
		if (*at != *token) {
			return false;
		}
	}
	c->at = at;
	return true;
}

/* A word only matches when no other letter follows: "in" does not match "interface". */
static bool accept_word(struct cursor *c, const char *word)
{
	const char *before = c->at;

	if (accept(c, word) && (*c->at == ' ' || *c->at == '\t')) {
		return true;
	}
	c->at = before;
	return false;
}

static bool in_name(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
	       (c >= 'a' && c <= 'z');
}

static bool parse_number(const char *name, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(name, &end, 0);
	return errno == 0 && *end == '\0';
}

static bool parse_term(struct cursor *c, uint64_t *ret)
{
	char name[NAME_MAX_LENGTH + 1];
	size_t length = 0;

	skip_blanks(c);
	while (length < NAME_MAX_LENGTH && in_name(*c->at)) {
		name[length++] = *c->at++;
	}
	name[length] = '\0';
	if (length == 0) {
		return fail(c, "a constant or number is missing");
	}

	bool known = *name >= '0' && *name <= '9' ? parse_number(name, ret)
						  : syscall_constant(name, ret) == 0;

	return known || fail(c, "unknown constant or bad number");
}

static bool parse_value(struct cursor *c, uint64_t *ret)
{
	uint64_t bits = 0;

	do {
		uint64_t term = 0;

		if (!parse_term(c, &term)) {
			return false;
		}
		bits |= term;
	} while (accept(c, "+"));
	*ret = bits;
	return true;
}

static bool parse_values(struct cursor *c, struct filter_test *test, bool several)
{
	struct rule_builder *builder = c->builder;
	uint64_t *values = builder->values + builder->values_count;

	if (builder->values_count > RULE_VALUES_TOTAL_MAX - FILTER_VALUES_MAX) {
		return fail(c, "too many values in all");
	}
	test->values = values;
	do {
		if (test->values_count == FILTER_VALUES_MAX) {
			return fail(c, "too many values in one condition");
		}
		if (!parse_value(c, &values[test->values_count])) {
			return false;
		}
		if (values[test->values_count++] & ~test->mask) {
			return fail(c, "a value has bits outside of the mask, or needs 'wide'");
		}
	} while (several && accept(c, ","));
	builder->values_count += test->values_count;
	return true;
}

static bool parse_test(struct cursor *c, struct filter_test *test)
{
	*test = (struct filter_test){ 0 };
	test->wide = accept_word(c, "wide");
	test->mask = test->wide ? UINT64_MAX : UINT32_MAX;
	if (!accept(c, "arg") || *c->at < '0' || *c->at > '5') {
		return fail(c, "a condition starts with arg0 to arg5");
	}
	test->arg = (uint8_t)(*c->at++ - '0');
	if (accept(c, "&")) {
		uint64_t mask;

		if (!parse_value(c, &mask)) {
			return false;
		}
		if (mask & ~test->mask) {
			return fail(c, "the mask needs 'wide'");
		}
		test->mask = mask;
	}
	if (accept(c, "==")) {
		return parse_values(c, test, false);
	}
	if (accept(c, "!=")) {
		test->negate = true;
		return parse_values(c, test, false);
	}
	test->negate = accept_word(c, "not");
	if (!accept_word(c, "in")) {
		return fail(c, "expected ==, !=, in or not in");
	}
	return parse_values(c, test, true);
}

const char *syscall_condition_parse(struct rule_builder *builder, const char *text, const char *end,
				    struct filter_rule *rule)
{
	struct cursor c = { .builder = builder, .at = text, .end = end };
	struct filter_test *tests = builder->tests + builder->tests_count;
	unsigned count = 0;

	if (builder->tests_count > RULE_TESTS_TOTAL_MAX - FILTER_TESTS_MAX) {
		return "too many conditions in all";
	}
	do {
		if (count == FILTER_TESTS_MAX) {
			return "too many conditions in one rule";
		}
		if (!parse_test(&c, &tests[count])) {
			return c.why;
		}
		count++;
	} while (accept(&c, ";"));
	skip_blanks(&c);
	if (c.at < c.end) {
		return "unexpected text after the condition";
	}
	rule->tests = tests;
	rule->tests_count = (uint8_t)count;
	builder->tests_count += count;
	return NULL;
}
