/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of the engine's thread by tenant: which tenants have credit, which wait, and how long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/local/engine_share.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)

/* Short runs, in any number: never in debt. */
static void test_who_needs_little_never_waits(void **state)
{
	struct shares shares = { 0 };
	struct share *share = shares_of(&shares, "a");

	(void)state;
	assert_ptr_equal(shares_of(&shares, "a"), share);
	for (uint64_t now = SECOND; now < 20 * SECOND; now += 25 * MS) {
		assert_int_equal(share_charge(&shares, share, MS / 2, now), 0);
	}
	shares_free(&shares);
}

/* A tenant that is always busy gets half of the thread. */
static void test_a_debtor_pays(void **state)
{
	struct shares shares = { 0 };
	struct share *share = shares_of(&shares, "a");
	uint64_t now = SECOND, used = 0;

	(void)state;
	while (now < 11 * SECOND) {
		uint64_t wait = share_charge(&shares, share, MS, now += MS);
		used += MS;
		assert_true(wait == 0 || (wait >= SHARE_LEAST_NS && wait <= SHARE_MOST_NS));
		now += wait;
	}
	assert_in_range(used, 3 * SECOND, 6 * SECOND);
	shares_free(&shares);
}

/* All debtors together get that half; the share of another tenant is unchanged. */
static void test_debtors_share(void **state)
{
	struct shares shares = { 0 };
	struct share *many[8];
	uint64_t ready[8] = { 0 }, used = 0;

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		many[i] = shares_of(&shares, (const char[]){ (char)('a' + i), 0 });
		share_wait(&shares, many[i]);
	}
	assert_int_equal(shares.debtors, 8);
	for (uint64_t now = SECOND; now < 11 * SECOND; now += MS) {
		for (size_t i = 0; i < 8; i++) {
			if (now >= ready[i]) {
				ready[i] = now + share_charge(&shares, many[i], MS, now);
				used += MS;
			}
		}
	}
	assert_in_range(used, 3 * SECOND, 9 * SECOND);
	assert_int_equal(share_charge(&shares, shares_of(&shares, "other"), 5 * MS, SECOND), 0);
	for (size_t i = 0; i < 8; i++) {
		share_waited(&shares, many[i]);
	}
	assert_int_equal(shares.debtors, 0);
	shares_free(&shares);
}

/* One long turn does not count against a tenant for ever, and no single wait is long. */
static void test_debts_are_bounded(void **state)
{
	struct shares shares = { 0 };
	struct share *share = shares_of(&shares, "a");

	(void)state;
	assert_int_equal(share_charge(&shares, share, 100 * SECOND, SECOND), SHARE_MOST_NS);
	assert_int_equal(share_charge(&shares, share, 0, 2 * SECOND), 0);
	assert_int_equal(share_charge(&shares, NULL, SECOND, SECOND), 0);
	shares_free(&shares);
}

/* Many short runs make a tenant old; half of a fair part of the cores does not. */
static void test_short_runs_add_up(void **state)
{
	struct shares shares = { .cores = 2 };
	struct share *busy = shares_of(&shares, "busy"), *modest = shares_of(&shares, "modest");
	uint64_t now = SECOND;

	(void)state;
	for (; now < 5 * SECOND; now += 10 * MS) {
		share_run_begins(&shares, busy);
		share_run_begins(&shares, modest);
		assert_int_equal(shares.active, 2);
		share_run_ends(&shares, busy, 9 * MS, now + 9 * MS);
		share_run_ends(&shares, modest, 2 * MS, now + 9 * MS);
		assert_true(share_spent(&shares, modest, now + 10 * MS) < 10 * MS);
	}
	assert_int_equal(shares.active, 0);
	assert_true(share_spent(&shares, busy, now) > 500 * MS);
	/* Alone, a tenant has all cores. */
	for (uint64_t end = now + 10 * SECOND; now < end; now += 10 * MS) {
		share_run_begins(&shares, busy);
		share_run_ends(&shares, busy, 9 * MS, now + 9 * MS);
	}
	assert_true(share_spent(&shares, busy, now) < 20 * MS);
	shares_free(&shares);
}

/* The memory of past use is limited, and clocks may have any value. */
static void test_spent_is_bounded(void **state)
{
	struct shares shares = { 0 };
	struct share *share = shares_of(&shares, "a");

	(void)state;
	for (int i = 0; i < 10; i++) {
		share_run_begins(&shares, share);
		share_run_ends(&shares, share, UINT64_MAX, SECOND);
	}
	assert_int_equal(share_spent(&shares, share, 0), SECOND);
	assert_int_equal(share_spent(&shares, share, UINT64_MAX), 0);
	assert_int_equal(share_spent(&shares, NULL, SECOND), 0);
	share_run_begins(&shares, NULL);
	share_run_ends(&shares, NULL, SECOND, SECOND);
	assert_int_equal(shares.active, 0);
	shares_free(&shares);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_needs_little_never_waits),
		cmocka_unit_test(test_a_debtor_pays),
		cmocka_unit_test(test_debtors_share),
		cmocka_unit_test(test_debts_are_bounded),
		cmocka_unit_test(test_short_runs_add_up),
		cmocka_unit_test(test_spent_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
