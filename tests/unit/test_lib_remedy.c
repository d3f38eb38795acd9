/* SPDX-License-Identifier: Apache-2.0 */
/* The advice about a limit: it names the person who can still raise it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "lib/remedy.h"

#define MS 1000000ull

static struct brig_result remedy_of(uint64_t had, uint64_t gives, uint64_t ceiling, uint64_t token,
				    bool compiler)
{
	struct policy policy = { .name = "p", .limits.wall_ns = gives, .ceiling.wall_ns = ceiling };
	struct brig_result result = { .limit_name = "wall_ms",
				      .remedy = "Do less.",
				      .operator_remedy = "old",
				      .limits.wall_ns = had };
	struct remedy_for who = { .policy = &policy, .most.wall_ns = token, .compiler = compiler };

	remedy_limit(&who, &result);
	return result;
}

static void the_one_who_can_raise_it_is_named(void **state)
{
	static const struct {
		uint64_t had, gives, ceiling, token;
		bool compiler;
		const char *remedy, *operator_remedy;
	} rows[] = {
		{ 5, 5, 9, 0, false, "Do less. Or ask for more: --timeout (wall_ms), up to 9ms.",
		  "Raise limits.wall in policy p." },
		{ 3, 5, 9, 7, false, "Do less. Or ask for more: --timeout (wall_ms), up to 7ms.",
		  "The request asked for less than policy p gives, 5ms." },
		{ 9, 5, 9, 0, false, "Do less.",
		  "The run had all that the operator's ceiling allows, 9ms: raise ceiling.wall of "
		  "policy p." },
		{ 7, 5, 9, 7, false, "Do less.",
		  "The run had all that its caller may have, 7ms: raise wall_ms of the caller's "
		  "token." },
		{ 5, 5, 9, 0, true, "Do less.", "Raise compile.limits.wall in policy p." },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct brig_result result =
			remedy_of(rows[i].had * MS, rows[i].gives * MS, rows[i].ceiling * MS,
				  rows[i].token * MS, rows[i].compiler);
		assert_string_equal(result.remedy, rows[i].remedy);
		assert_string_equal(result.operator_remedy, rows[i].operator_remedy);
	}
}

static void what_is_no_limit_stays(void **state)
{
	struct policy policy = { .name = "p" };
	struct brig_result result = { .remedy = "a", .operator_remedy = "b" };

	(void)state;
	remedy_limit(&(struct remedy_for){ .policy = &policy }, &result);
	assert_string_equal(result.remedy, "a");
	assert_string_equal(result.operator_remedy, "b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_one_who_can_raise_it_is_named),
		cmocka_unit_test(what_is_no_limit_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
