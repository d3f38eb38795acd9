/* SPDX-License-Identifier: Apache-2.0 */
/* Turns, rates and refusals, without a running clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "front/access/admission.h"

struct run {
	struct ticket ticket;
	char *order; /* where its turn is recorded */
	char letter;
	bool quick; /* ends within its grant */
	struct admission *admission;
};

static void granted(void *user)
{
	struct run *run = user;

	run->order[strlen(run->order)] = run->letter;
	if (run->quick) {
		admission_leave(run->admission, &run->ticket, 1000, 0);
	}
}

static struct caller caller_of(const char *name)
{
	struct caller caller = { 0 };

	snprintf(caller.name, sizeof(caller.name), "%s", name);
	snprintf(caller.tenant, sizeof(caller.tenant), "%s", name);
	return caller;
}

static int enter(struct admission *admission, struct run *run, const struct caller *caller,
		 char *order, char letter)
{
	struct problem problem = { 0 };

	run->order = order;
	run->letter = letter;
	run->admission = admission;
	run->ticket.granted = granted;
	run->ticket.user = run;
	if (admission_reserve(admission, caller, false, &run->ticket, &problem) < 0) {
		return problem.kind;
	}
	admission_enter(admission, &run->ticket);
	return 0;
}

static void test_lines_take_turns(void **state)
{
	struct admission admission;
	struct admission_limits limits = { .running = 1 };
	struct caller a = caller_of("a"), b = caller_of("b"), c = caller_of("c");
	struct run runs[8] = { 0 };
	char order[16] = "";

	(void)state;
	admission_init(&admission, &limits);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(enter(&admission, &runs[i], &a, order, 'a'), 0);
	}
	assert_int_equal(enter(&admission, &runs[5], &b, order, 'b'), 0);
	assert_int_equal(enter(&admission, &runs[6], &b, order, 'b'), 0);
	assert_int_equal(enter(&admission, &runs[7], &c, order, 'c'), 0);
	assert_string_equal(order, "a");
	for (size_t done = 0; done < 8; done++) {
		for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
			if (runs[i].ticket.state == TICKET_RUNNING) {
				admission_leave(&admission, &runs[i].ticket, 1000, 0);
				break;
			}
		}
	}
	/* A tenant that comes late does not wait for all requests of one other tenant. */
	assert_int_equal(strlen(order), 8);
	assert_true(strchr(order, 'b') - order <= 2 && strchr(order, 'c') - order <= 3);
	assert_int_equal(admission.running + admission.waiting, 0);
	admission_done(&admission);
}

/* Long runs of others do not prevent a tenant's first run; a second one waits as usual. */
static void test_a_first_run_has_room(void **state)
{
	struct admission admission;
	struct admission_limits limits = { .running = 2, .reserve = 1, .memory_floor = 1000 };
	struct caller a = caller_of("a"), b = caller_of("b"), c = caller_of("c");
	struct run runs[6] = { 0 };
	char order[16] = "";

	(void)state;
	admission_init(&admission, &limits);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(enter(&admission, &runs[i], &a, order, 'a'), 0);
	}
	assert_string_equal(order, "aa");
	assert_int_equal(enter(&admission, &runs[3], &b, order, 'b'), 0);
	assert_int_equal(enter(&admission, &runs[4], &b, order, 'b'), 0);
	assert_int_equal(enter(&admission, &runs[5], &c, order, 'c'), 0);
	assert_string_equal(order, "aab");
	/* The reserve is free again: it is not for a tenant that has a run already. */
	admission_leave(&admission, &runs[3].ticket, 1000, 0);
	assert_string_equal(order, "aabc");
	admission_leave(&admission, &runs[5].ticket, 1000, 0);
	assert_string_equal(order, "aabcb");
	/* Nor where the host is short of memory. */
	admission_leave(&admission, &runs[4].ticket, 1000, 0);
	admission.memory_now = 999;
	runs[5] = (struct run){ 0 };
	struct problem problem;
	assert_true(admission_reserve(&admission, &c, true, &runs[5].ticket, &problem) == 0);
	admission_leave(&admission, &runs[5].ticket, 0, 0);
	for (size_t i = 0; i < 3; i++) {
		admission_leave(&admission, &runs[i].ticket, 1000, 0);
	}
	assert_int_equal(admission.running + admission.waiting, 0);
	admission_done(&admission);
}

static void test_runs_that_end_at_once(void **state)
{
	struct admission admission;
	struct admission_limits limits = { .running = 1 };
	struct caller a = caller_of("a");
	struct run runs[9] = { 0 };
	char order[16] = "";

	(void)state;
	admission_init(&admission, &limits);
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		runs[i].quick = i > 0;
		assert_int_equal(enter(&admission, &runs[i], &a, order, (char)('0' + i)), 0);
	}
	admission_leave(&admission, &runs[0].ticket, 1000, 0);
	assert_string_equal(order, "012345678");
	assert_int_equal(admission.running, 0);
	admission_done(&admission);
}

static void test_a_queue_has_an_end(void **state)
{
	struct admission admission;
	struct admission_limits limits = { .running = 1, .queue = 3, .queue_tenant = 2 };
	struct caller a = caller_of("a"), b = caller_of("b"), c = caller_of("c");
	struct run runs[6] = { 0 };
	char order[16] = "";

	(void)state;
	admission_init(&admission, &limits);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(enter(&admission, &runs[i], &a, order, 'a'), 0);
	}
	assert_int_equal(enter(&admission, &runs[3], &a, order, 'a'), PROBLEM_QUEUE_FULL);
	assert_int_equal(enter(&admission, &runs[4], &b, order, 'b'), 0);
	assert_int_equal(enter(&admission, &runs[5], &c, order, 'c'), PROBLEM_QUEUE_FULL);
	/* Removed from the middle of the queue. */
	admission_leave(&admission, &runs[1].ticket, 0, 0);
	assert_int_equal(enter(&admission, &runs[5], &c, order, 'c'), 0);
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		admission_leave(&admission, &runs[i].ticket, 0, 0);
		admission_leave(&admission, &runs[i].ticket, 0, 0);
	}
	assert_int_equal(admission.running + admission.waiting, 0);
	admission_done(&admission);
}

static void test_limits_of_a_token(void **state)
{
	struct admission admission;
	struct admission_limits limits = { .running = 10 };
	struct token token = { .concurrency = 2, .rate_per_minute = 3, .cpu_seconds_per_day = 1 };
	struct caller a = caller_of("a"), free_one = caller_of("b");
	struct run runs[4] = { 0 };
	struct problem problem = { 0 };
	char order[16] = "";

	(void)state;
	a.token = &token;
	admission_init(&admission, &limits);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(admission_rate(&admission, &a, &problem), 0);
		assert_int_equal(enter(&admission, &runs[i], &a, order, 'a'), 0);
	}
	assert_string_equal(order, "aa");
	assert_true(admission_rate(&admission, &a, &problem) < 0);
	assert_int_equal(problem.kind, PROBLEM_RATE_LIMITED);
	assert_in_range(problem.retry_s, 1, 20);
	assert_int_equal(admission_rate(&admission, &free_one, &problem), 0);
	admission_leave(&admission, &runs[0].ticket, 1000, UINT64_C(2000000000));
	assert_string_equal(order, "aaa");
	assert_int_equal(enter(&admission, &runs[3], &a, order, 'a'), PROBLEM_QUOTA_EXCEEDED);
	assert_int_equal(enter(&admission, &runs[3], &free_one, order, 'b'), 0);
	admission_done(&admission);
}

static void test_other_tokens(void **state)
{
	struct admission admission;
	struct admission_limits limits = { .running = 10 };
	struct token old[2] = { { .name = "a", .concurrency = 1, .rate_per_minute = 2 },
				{ .name = "b" } };
	struct token fresh = { .name = "a", .concurrency = 2, .rate_per_minute = 2 };
	struct tokens tokens = { .items = &fresh, .count = 1 };
	struct caller a = caller_of("a"), b = caller_of("b"), user = caller_of("uid:5");
	struct run runs[4] = { 0 };
	struct problem problem = { 0 };
	char order[16] = "";

	(void)state;
	a.token = &old[0];
	b.token = &old[1];
	admission_init(&admission, &limits);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(admission_rate(&admission, &a, &problem), 0);
		assert_int_equal(enter(&admission, &runs[i], &a, order, 'a'), 0);
	}
	assert_int_equal(enter(&admission, &runs[2], &b, order, 'b'), 0);
	assert_int_equal(admission_rate(&admission, &user, &problem), 0);
	assert_string_equal(order, "ab");
	/* A run that is allowed now begins at once; counts are kept. */
	admission_tokens(&admission, &tokens);
	a.token = &fresh;
	assert_string_equal(order, "aba");
	assert_true(admission_rate(&admission, &a, &problem) < 0);
	/* A removed tenant is forgotten when nothing of it is left. */
	admission_leave(&admission, &runs[2].ticket, 1000, 0);
	admission_tokens(&admission, &tokens);
	for (const struct account *it = admission.accounts; it; it = it->next) {
		assert_string_not_equal(it->name, "b");
	}
	assert_true(admission_rate(&admission, &a, &problem) < 0);
	admission_done(&admission);
}

static void test_memory_and_the_end(void **state)
{
	struct admission admission;
	struct admission_limits limits = { .running = 1, .memory_floor = 1000 };
	struct caller a = caller_of("a");
	struct run runs[2] = { 0 };
	struct problem problem = { 0 };
	char order[16] = "";

	(void)state;
	admission_init(&admission, &limits);
	admission.memory_now = 999;
	assert_int_equal(enter(&admission, &runs[0], &a, order, 'a'), PROBLEM_MEMORY_LOW);
	admission.memory_now = 1000;
	assert_int_equal(enter(&admission, &runs[0], &a, order, 'a'), 0);
	admission_close(&admission);
	assert_int_equal(enter(&admission, &runs[1], &a, order, 'a'), PROBLEM_UNAVAILABLE);
	/* Requests that were acknowledged before have their place in any case. */
	assert_int_equal(admission_reserve(&admission, &a, true, &runs[1].ticket, &problem), 0);
	admission_done(&admission);
}

static void test_when_to_come_again(void **state)
{
	struct admission admission;
	struct admission_limits limits = { .running = 2 };

	(void)state;
	admission_init(&admission, &limits);
	assert_int_equal(admission_retry_s(&admission), 1);
	admission.run_ns = 10e9;
	admission.waiting = 9;
	assert_int_equal(admission_retry_s(&admission), 50);
	admission.run_ns = 1e15;
	assert_int_equal(admission_retry_s(&admission), 3600);
	admission_processors(&admission, 8);
	assert_int_equal(admission.limits.running, 2);
	admission_done(&admission);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_take_turns),
		cmocka_unit_test(test_a_first_run_has_room),
		cmocka_unit_test(test_runs_that_end_at_once),
		cmocka_unit_test(test_a_queue_has_an_end),
		cmocka_unit_test(test_limits_of_a_token),
		cmocka_unit_test(test_other_tokens),
		cmocka_unit_test(test_memory_and_the_end),
		cmocka_unit_test(test_when_to_come_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
