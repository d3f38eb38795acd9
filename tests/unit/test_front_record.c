/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A failure that the ledger did not report is not attributed to it: one caller's error stops no
 * other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "front/execution/execution.h"
#include "front/execution/execution_record.h"

struct scene {
	struct front front;
	int role; /* the ledger's end of its socket: there is no reader */
	unsigned ended;
	enum problem_kind kind;
};

static void gone(void *user, const char *why)
{
	(void)user;
	(void)why;
}

static void begin_scene(struct scene *scene)
{
	int pair[2];
	struct front *front = &scene->front;

	*scene = (struct scene){ 0 };
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	scene->role = pair[1];
	assert_int_equal(loop_new(&front->loop), 0);
	assert_int_equal(ledger_new(front->loop, pair[0], gone, scene, &front->ledger), 0);
	admission_init(&front->admission, &(struct admission_limits){ .running = 1 });
	front->admission.memory_now = UINT64_MAX;
}

static void end_scene(struct scene *scene)
{
	executions_drop(&scene->front);
	admission_done(&scene->front.admission);
	ledger_free(scene->front.ledger);
	loop_free(scene->front.loop);
	close(scene->role);
}

static void ended(void *user, struct execution *execution)
{
	struct scene *scene = user;
	const struct problem *problem = NULL;

	assert_null(execution_result(execution, &problem));
	scene->kind = problem->kind;
	scene->ended++;
}

static int begin(struct scene *scene, const char *language, struct execution **ret,
		 struct problem *problem)
{
	struct caller caller = { .name = "mallory", .tenant = "mallory" };
	struct submission submission = { .caller = &caller };
	struct engine_call call = { .op = ENGINE_EXECUTE,
				    .tenant = "mallory",
				    .run = { .size = sizeof(struct brig_request),
					     .language = language,
					     .code = "1",
					     .code_size = 1 } };

	assert_int_equal(execution_request_copy(&call, &submission.execution_request), 0);
	return execution_new(&scene->front, &submission, ret, problem);
}

static void test_a_name_that_the_ledger_refuses(void **state)
{
	static const char *const names[] = { "\a", "", "\xc3\xa4\n", "\x7f" };
	struct scene scene;

	(void)state;
	begin_scene(&scene);
	for (unsigned i = 0; i < 4; i++) {
		struct execution_listener listener = { .ended = ended, .user = &scene };
		struct execution *execution = NULL;
		struct problem problem = { 0 };

		assert_int_equal(begin(&scene, names[i], &execution, &problem), 0);
		execution_listen(execution, &listener);
		execution_submit(execution);
		assert_int_equal(scene.ended, i + 1);
		assert_int_equal(scene.kind, PROBLEM_INVALID_REQUEST);
		assert_int_equal(scene.front.ledger_failed_ns, 0);
		assert_int_equal(record_room(&scene.front, &problem), 0);
	}
	end_scene(&scene);
}

/* No room for another call means "later" for the caller, and nothing about the ledger's disk. */
static void test_no_room_for_another_call(void **state)
{
	struct execution_listener listener = { 0 };
	struct execution *execution = NULL;
	struct problem problem = { 0 };
	struct scene scene;

	(void)state;
	begin_scene(&scene);
	listener = (struct execution_listener){ .ended = ended, .user = &scene };
	assert_int_equal(begin(&scene, "python", &execution, &problem), 0);
	execution_listen(execution, &listener);
	while (ledger_stats(scene.front.ledger, NULL, NULL) == 0) {
	}
	execution_submit(execution);
	assert_int_equal(scene.ended, 1);
	assert_int_equal(scene.kind, PROBLEM_LEDGER_UNAVAILABLE);
	assert_int_equal(record_room(&scene.front, &problem), 0);
	end_scene(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_name_that_the_ledger_refuses),
		cmocka_unit_test(test_no_room_for_another_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
