/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners of an execution: they are notified of its output once for many parts, and a few at a
 * time, however many there are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "front/execution/execution.h"
#include "front/execution/execution_internal.h"

#define LISTENERS 200
#define AT_ONCE   64 /* notified without a turn for others in between */

struct scene {
	struct front front;
	struct execution execution;
	struct execution_listener listeners[LISTENERS];
	unsigned told, ended, in_one_go;
	bool leaves; /* the first one, while it is notified */
};

static void told(void *user)
{
	struct scene *scene = user;

	assert_true(++scene->in_one_go <= AT_ONCE);
	scene->told++;
	if (scene->leaves) {
		scene->leaves = false;
		execution_unlisten(&scene->listeners[LISTENERS - 1]);
	}
}

static void ended(void *user, struct execution *execution)
{
	struct scene *scene = user;
	const struct problem *problem;

	(void)execution_result(execution, &problem);
	assert_true(++scene->in_one_go <= AT_ONCE);
	scene->ended++;
}

/* Runs in each round of the loop, and ends it when no listener is to be notified any more. */
static void others(void *user, uint32_t events)
{
	struct scene *scene = user;
	const struct execution *execution = scene->front.executions;

	(void)events;
	scene->in_one_go = 0;
	if (!execution || !execution->notify.place) {
		loop_stop(scene->front.loop);
	}
}

static void listen_all(struct scene *scene, struct execution *execution)
{
	for (unsigned i = 0; i < LISTENERS; i++) {
		scene->listeners[i] = (struct execution_listener){ .output = told,
								   .ended = ended,
								   .user = scene };
		execution_listen(execution, &scene->listeners[i]);
	}
}

static void go_on(struct scene *scene)
{
	struct loop *loop = scene->front.loop;
	struct loop_source *source = NULL;
	int always = eventfd(1, EFD_CLOEXEC);

	assert_true(always >= 0);
	assert_int_equal(loop_add(loop, always, EPOLLIN, others, scene, &source), 0);
	assert_int_equal(loop_run(loop), 0);
	loop_remove(source);
	close(always);
}

static void test_many_parts_are_one_word(void **state)
{
	static struct scene scene;
	struct execution *execution = &scene.execution;

	(void)state;
	assert_int_equal(loop_new(&scene.front.loop), 0);
	execution->front = &scene.front;
	execution->kind = EXECUTION_QUEUED;
	scene.front.executions = execution;
	execution_notify_output(execution);
	assert_int_equal(execution->notify.place, 0); /* nobody listens */
	listen_all(&scene, execution);
	for (unsigned i = 0; i < 1000; i++) {
		execution_notify_output(execution);
	}
	assert_int_equal(scene.told, 0);
	go_on(&scene);
	assert_int_equal(scene.told, LISTENERS);
	/* The more listeners there are, the longer the next notification waits. */
	uint64_t now = clock_now_ns();
	execution_notify_output(execution);
	assert_true(execution->notify.place && execution->notify.at_ns == execution->notify_ns);
	assert_true(execution->notify_ns < now + 100000000);
	go_on(&scene);
	assert_int_equal(scene.told, 2 * LISTENERS);
	/* One leaves during its notification: the others are still notified. */
	scene.leaves = true;
	execution_notify_output(execution);
	go_on(&scene);
	assert_int_equal(scene.told, 3 * LISTENERS);
	assert_null(scene.listeners[LISTENERS - 1].execution);
	for (unsigned i = 0; i < LISTENERS; i++) {
		execution_unlisten(&scene.listeners[i]);
	}
	loop_free(scene.front.loop);
}

/* Output that arrives during a notification is also reported to those who were notified before. */
static void test_output_while_they_are_told(void **state)
{
	static struct scene scene;
	struct execution *execution = &scene.execution;

	(void)state;
	assert_int_equal(loop_new(&scene.front.loop), 0);
	execution->front = &scene.front;
	execution->kind = EXECUTION_QUEUED;
	scene.front.executions = execution;
	listen_all(&scene, execution);
	execution_notify_output(execution);
	execution->notify.due(execution->notify.user);
	assert_int_equal(scene.told, AT_ONCE);
	loop_timer_clear(&execution->notify);
	assert_int_equal(loop_timer_set(scene.front.loop, &execution->notify, 0), 0);
	execution_notify_output(execution);
	execution_unlisten(execution->notify_next);
	go_on(&scene);
	assert_int_equal(scene.told, 2 * (LISTENERS - 1));
	/* All listeners in the queue leave: the next notification still comes. */
	execution_notify_output(execution);
	execution->notify.due(execution->notify.user);
	while (execution->notify_next) {
		execution_unlisten(execution->notify_next);
	}
	execution_notify_output(execution);
	go_on(&scene);
	assert_int_equal(scene.told, 2 * (LISTENERS - 1) + 2 * AT_ONCE);
	for (unsigned i = 0; i < LISTENERS; i++) {
		execution_unlisten(&scene.listeners[i]);
	}
	assert_int_equal(execution->listener_count, 0);
	loop_free(scene.front.loop);
}

/* Each listener is notified in a turn of its own; a listener that leaves is not notified. */
static void test_the_end_is_told_in_turns(void **state)
{
	static struct scene scene;
	struct execution *execution = calloc(1, sizeof(*execution));

	(void)state;
	assert_non_null(execution);
	assert_int_equal(loop_new(&scene.front.loop), 0);
	execution->front = &scene.front;
	scene.front.executions = execution;
	listen_all(&scene, execution);
	execution->state = EXECUTION_WAITING;
	execution_notify_output(execution); /* not told any more: whoever hears of the end looks */
	execution_save(execution);
	assert_int_equal(scene.ended, AT_ONCE);
	assert_ptr_equal(scene.front.executions, execution);
	assert_null(execution_find(&scene.front, "", "")); /* the ledger has it now */
	execution_unlisten(&scene.listeners[0]);
	go_on(&scene);
	assert_int_equal(scene.ended, LISTENERS - 1);
	assert_int_equal(scene.told, 0);
	assert_null(scene.front.executions);
	loop_free(scene.front.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_parts_are_one_word),
		cmocka_unit_test(test_output_while_they_are_told),
		cmocka_unit_test(test_the_end_is_told_in_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
