/* SPDX-License-Identifier: Apache-2.0 */
/* Forks of sessions that wait in the queue, and the end of the service. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/error.h"
#include "front/front_internal.h"

#define FORKS 4

struct scene {
	struct front front;
	struct engine_run *runs[FORKS];
	unsigned failed[FORKS];
};

struct asker {
	struct scene *scene;
	unsigned number;
};

static int start_nothing(struct engine *engine, const struct engine_call *call,
			 struct engine_run **ret, struct brig_error *error)
{
	(void)engine;
	(void)call;
	(void)ret;
	return error_set(error, BRIG_E_SYSTEM, EIO, "nothing begins here");
}

/* The connection of the first one that is answered has also sent the next two: it is closed. */
static void on_fail(void *user, const struct brig_error *error)
{
	struct asker *asker = user;
	struct scene *scene = asker->scene;

	(void)error;
	scene->failed[asker->number]++;
	scene->runs[asker->number] = NULL;
	for (unsigned i = FORKS - 2; i > 0 && asker->number == FORKS - 1; i--) {
		engine_forget(scene->runs[i]);
		scene->runs[i] = NULL;
	}
}

static void test_the_end_of_one_frees_others(void **state)
{
	static const struct engine_class class = { .start = start_nothing };
	struct engine inner = { .class = &class };
	struct asker askers[FORKS];
	struct scene scene = { 0 };
	struct front *front = &scene.front;

	(void)state;
	assert_int_equal(loop_new(&front->loop), 0);
	admission_init(&front->admission, &(struct admission_limits){ .running = 1 });
	front->admission.memory_now = UINT64_MAX;
	assert_int_equal(fork_engine_new(front, &inner, &front->forks), 0);
	for (unsigned i = 0; i < FORKS; i++) {
		struct engine_call call = { .op = ENGINE_SESSION_FORK,
					    .tenant = "uid:0",
					    .caller = "uid:0",
					    .session = "01ARZ3NDEKTSV4RRFFQ69G5FAV",
					    .fail = on_fail,
					    .user = &askers[i] };

		askers[i] = (struct asker){ .scene = &scene, .number = i };
		assert_int_equal(engine_start(front->forks, &call, &scene.runs[i], NULL), 0);
	}
	/* The newest comes first, and takes two others with it. */
	admission_close(&front->admission);
	fork_engine_close(front->forks);
	assert_int_equal(scene.failed[3], 1);
	assert_int_equal(scene.failed[2], 0);
	assert_int_equal(scene.failed[1], 0);
	assert_int_equal(scene.failed[0], 1);
	assert_int_equal(front->admission.waiting, 0);
	engine_free(front->forks);
	admission_done(&front->admission);
	loop_free(front->loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_end_of_one_frees_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
