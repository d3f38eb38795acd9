/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop: descriptors, deadlines, and callbacks that change both. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "loop/loop.h"

#define MS UINT64_C(1000000)

struct fixture {
	struct loop *loop;
	int pipes[2][2];
	struct loop_source *sources[2];
	unsigned calls[2];
	uint32_t events;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(loop_new(&f->loop), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pipe2(f->pipes[i], O_CLOEXEC | O_NONBLOCK), 0);
	}
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 2; i++) {
		loop_remove(f->sources[i]);
		close(f->pipes[i][0]);
		if (f->pipes[i][1] >= 0) {
			close(f->pipes[i][1]);
		}
	}
	loop_free(f->loop);
	free(f);
	return 0;
}

static void stop(void *user)
{
	loop_stop(((struct fixture *)user)->loop);
}

/* Runs the loop for this long. */
static void turn(struct fixture *f, unsigned ms)
{
	struct loop_timer timer = { .due = stop, .user = f };

	assert_int_equal(loop_timer_set(f->loop, &timer, clock_now_ns() + ms * MS), 0);
	assert_int_equal(loop_run(f->loop), 0);
}

static void take(struct fixture *f, int which, uint32_t events)
{
	char byte;

	f->calls[which]++;
	f->events = events;
	(void)!read(f->pipes[which][0], &byte, 1);
}

static void on_first(void *user, uint32_t events)
{
	take(user, 0, events);
}

static void on_second(void *user, uint32_t events)
{
	take(user, 1, events);
}

static void descriptors(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(loop_add(f->loop, f->pipes[0][0], EPOLLIN, on_first, f, &f->sources[0]),
			 0);
	turn(f, 5);
	assert_int_equal(f->calls[0], 0);
	assert_int_equal(write(f->pipes[0][1], "ab", 2), 2);
	turn(f, 20);
	assert_int_equal(f->calls[0], 2); /* level-triggered: once for each byte */
	assert_int_equal(f->events, EPOLLIN);
}

static void changing_what_is_wanted(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(loop_add(f->loop, f->pipes[0][0], 0, on_first, f, &f->sources[0]), 0);
	assert_int_equal(write(f->pipes[0][1], "a", 1), 1);
	turn(f, 5);
	assert_int_equal(f->calls[0], 0);
	assert_int_equal(loop_change(f->sources[0], EPOLLIN), 0);
	turn(f, 20);
	assert_int_equal(f->calls[0], 1);
}

static void on_hang_up(void *user, uint32_t events)
{
	struct fixture *f = user;

	take(f, 0, events);
	loop_remove(f->sources[0]);
	f->sources[0] = NULL;
}

/* Arrives although it was not requested; and a source may remove itself. */
static void hang_up(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(loop_add(f->loop, f->pipes[0][0], 0, on_hang_up, f, &f->sources[0]), 0);
	close(f->pipes[0][1]);
	f->pipes[0][1] = -1;
	turn(f, 20);
	assert_int_equal(f->calls[0], 1);
	assert_true(f->events & EPOLLHUP);
}

static void remove_both(struct fixture *f)
{
	for (int i = 0; i < 2; i++) {
		loop_remove(f->sources[i]);
		f->sources[i] = NULL;
	}
}

static void first_removes_both(void *user, uint32_t events)
{
	take(user, 0, events);
	remove_both(user);
}

static void second_removes_both(void *user, uint32_t events)
{
	take(user, 1, events);
	remove_both(user);
}

/* The first to come removes the other, whose event is in the same round and must not count. */
static void removed_by_another(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(
		loop_add(f->loop, f->pipes[0][0], EPOLLIN, first_removes_both, f, &f->sources[0]),
		0);
	assert_int_equal(
		loop_add(f->loop, f->pipes[1][0], EPOLLIN, second_removes_both, f, &f->sources[1]),
		0);
	assert_int_equal(write(f->pipes[0][1], "a", 1), 1);
	assert_int_equal(write(f->pipes[1][1], "a", 1), 1);
	turn(f, 20);
	assert_int_equal(f->calls[0] + f->calls[1], 1);
}

static void both_at_once(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(loop_add(f->loop, f->pipes[0][0], EPOLLIN, on_first, f, &f->sources[0]),
			 0);
	assert_int_equal(loop_add(f->loop, f->pipes[1][0], EPOLLIN, on_second, f, &f->sources[1]),
			 0);
	assert_int_equal(write(f->pipes[0][1], "a", 1), 1);
	assert_int_equal(write(f->pipes[1][1], "a", 1), 1);
	turn(f, 20);
	assert_int_equal(f->calls[0], 1);
	assert_int_equal(f->calls[1], 1);
}

static void wrong_descriptors(void **state)
{
	struct fixture *f = *state;
	struct loop_source *source = NULL;

	assert_int_equal(loop_add(f->loop, -1, EPOLLIN, on_first, f, &source), -EBADF);
	assert_null(source);
	loop_remove(NULL);
}

/* --- deadlines ---------------------------------------------------------------------------- */

#define MANY 200

struct order {
	struct loop_timer timers[MANY];
	unsigned fired;
	uint64_t last_ns;
	bool in_order;
};

struct one {
	struct order *order;
	struct loop_timer *timer;
};

static void on_due(void *user)
{
	struct one *one = user;

	one->order->in_order = one->order->in_order && one->timer->at_ns >= one->order->last_ns &&
			       clock_now_ns() >= one->timer->at_ns;
	one->order->last_ns = one->timer->at_ns;
	one->order->fired++;
}

/* In order, never early, and those that were cleared or moved not at their old time. */
static void deadlines(void **state)
{
	struct fixture *f = *state;
	static struct order order;
	static struct one ones[MANY];
	uint64_t now = clock_now_ns();

	memset(&order, 0, sizeof(order));
	order.in_order = true;
	for (unsigned i = 0; i < MANY; i++) {
		ones[i] = (struct one){ &order, &order.timers[i] };
		order.timers[i] = (struct loop_timer){ .due = on_due, .user = &ones[i] };
		uint64_t at = now + (i * 7919 % MANY) * MS / 4;
		assert_int_equal(loop_timer_set(f->loop, &order.timers[i], at), 0);
	}
	for (unsigned i = 0; i < MANY; i += 4) {
		loop_timer_clear(&order.timers[i]);
		loop_timer_clear(&order.timers[i]); /* clearing twice is harmless */
	}
	for (unsigned i = 1; i < MANY; i += 4) {
		assert_int_equal(loop_timer_set(f->loop, &order.timers[i], now + 60 * MS), 0);
	}
	turn(f, 90);
	assert_int_equal(order.fired, MANY - MANY / 4);
	assert_true(order.in_order);
}

struct again {
	struct loop *loop;
	struct loop_timer timer;
	unsigned fired;
};

static void on_again(void *user)
{
	struct again *again = user;

	again->fired++;
	assert_int_equal(loop_timer_set(again->loop, &again->timer, clock_now_ns()), 0);
}

/* A timer that is always due must not starve the descriptors. */
static void a_busy_timer_starves_nobody(void **state)
{
	struct fixture *f = *state;
	struct again again = { .loop = f->loop, .timer = { .due = on_again, .user = &again } };

	assert_int_equal(loop_add(f->loop, f->pipes[0][0], EPOLLIN, on_first, f, &f->sources[0]),
			 0);
	assert_int_equal(loop_timer_set(f->loop, &again.timer, clock_now_ns()), 0);
	assert_int_equal(write(f->pipes[0][1], "a", 1), 1);
	turn(f, 20);
	loop_timer_clear(&again.timer);
	assert_int_equal(f->calls[0], 1);
	assert_true(again.fired > 1);
}

struct eager {
	struct fixture *fixture;
	struct loop_timer timer;
	unsigned rounds;
};

static void on_eager(void *user)
{
	struct eager *eager = user;

	eager->rounds++;
	if (eager->rounds < 1000) {
		loop_timer_set(eager->fixture->loop, &eager->timer, 0);
	}
	/* The descriptor was ready all the time: its callback comes before this timer's second. */
	if (eager->rounds == 3) {
		assert_true(eager->fixture->calls[0] > 0);
		loop_stop(eager->fixture->loop);
	}
}

/* "At once", set by a timer, means a later round. */
static void at_once_is_a_later_round(void **state)
{
	struct fixture *f = *state;
	struct eager eager = { .fixture = f };

	eager.timer.due = on_eager;
	eager.timer.user = &eager;
	assert_int_equal(loop_add(f->loop, f->pipes[0][0], EPOLLIN, on_first, f, &f->sources[0]),
			 0);
	assert_int_equal(write(f->pipes[0][1], "x", 1), 1);
	assert_int_equal(loop_timer_set(f->loop, &eager.timer, 0), 0);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(eager.rounds, 3);
	loop_timer_clear(&eager.timer);
}

static void clear_user(void *user)
{
	loop_timer_clear(user);
}

/* One that is due may clear another that is due in the same round. */
static void cleared_by_another(void **state)
{
	struct fixture *f = *state;
	struct again again = { .loop = f->loop, .timer = { .due = on_again, .user = &again } };
	struct loop_timer first = { .due = clear_user, .user = &again.timer };
	uint64_t now = clock_now_ns();

	assert_int_equal(loop_timer_set(f->loop, &again.timer, now + 2), 0);
	assert_int_equal(loop_timer_set(f->loop, &first, now + 1), 0);
	turn(f, 10);
	assert_int_equal(again.fired, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(descriptors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(changing_what_is_wanted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(hang_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(removed_by_another, set_up, tear_down),
		cmocka_unit_test_setup_teardown(both_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(wrong_descriptors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(deadlines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_busy_timer_starves_nobody, set_up, tear_down),
		cmocka_unit_test_setup_teardown(at_once_is_a_later_round, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cleared_by_another, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
