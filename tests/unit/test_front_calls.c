/* SPDX-License-Identifier: Apache-2.0 */
/* Calls other than runs: a few per tenant at a time, the rest in order, and a bounded number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "front/front_internal.h"

#define CALLS 400

/* An engine that answers on command. */
struct engine_run {
	struct engine *engine;
	struct engine_call call;
	char session[16], tenant[16];
	bool forgotten;
};

struct scene {
	struct front front;
	struct engine inner;
	struct engine_run *begun[CALLS]; /* owned, in order; NULL: answered */
	unsigned count, ended, failed;
	bool refuses;
};

static struct scene *scene_of(struct engine *engine)
{
	return (struct scene *)(void *)((char *)engine - offsetof(struct scene, inner));
}

static int start(struct engine *engine, const struct engine_call *call, struct engine_run **ret,
		 struct brig_error *error)
{
	struct scene *scene = scene_of(engine);

	if (scene->refuses) {
		*error = (struct brig_error){ .code = BRIG_E_SYSTEM, .errnum = ENOBUFS };
		return -ENOBUFS;
	}
	struct engine_run *run = calloc(1, sizeof(*run));
	assert_non_null(run);
	run->engine = engine;
	run->call = *call;
	snprintf(run->session, sizeof(run->session), "%s", call->session ? call->session : "");
	snprintf(run->tenant, sizeof(run->tenant), "%s", call->tenant);
	scene->begun[scene->count++] = run;
	*ret = run;
	return 0;
}

static void forget(struct engine_run *run)
{
	run->forgotten = true;
}

static void on_end(void *user, const char *data, size_t size)
{
	(void)data;
	(void)size;
	((struct scene *)user)->ended++;
}

static void on_fail(void *user, const struct brig_error *error)
{
	(void)error;
	((struct scene *)user)->failed++;
}

static void begin_scene(struct scene *scene)
{
	static const struct engine_class class = { .start = start, .forget = forget };

	*scene = (struct scene){ .inner.class = &class };
	assert_int_equal(loop_new(&scene->front.loop), 0);
	assert_int_equal(call_engine_new(&scene->front, &scene->inner, &scene->front.engine), 0);
}

static void end_scene(struct scene *scene)
{
	engine_free(scene->front.engine);
	loop_free(scene->front.loop);
	for (unsigned i = 0; i < scene->count; i++) {
		free(scene->begun[i]);
	}
}

static int ask(struct scene *scene, enum engine_op op, const char *tenant, unsigned number,
	       struct engine_run **ret)
{
	char session[16];
	struct brig_error error = { 0 };

	snprintf(session, sizeof(session), "%u", number);
	struct engine_call call = { .op = op,
				    .tenant = tenant,
				    .session = session,
				    .end = on_end,
				    .fail = on_fail,
				    .user = scene };
	return engine_start(scene->front.engine, &call, ret, &error);
}

static void stop(void *user)
{
	loop_stop(user);
}

static void turn(struct scene *scene)
{
	struct loop_timer timer = { .due = stop, .user = scene->front.loop };

	assert_int_equal(loop_timer_set(scene->front.loop, &timer, clock_now_ns() + 1000000), 0);
	assert_int_equal(loop_run(scene->front.loop), 0);
}

static void answer(struct scene *scene, unsigned number)
{
	struct engine_run *run = scene->begun[number];

	scene->begun[number] = NULL;
	run->call.end(run->call.user, "{}", 2);
	free(run);
	turn(scene);
}

static void test_one_tenant_is_bounded(void **state)
{
	struct scene scene;
	struct engine_run *runs[300] = { NULL }, *other = NULL;
	unsigned taken = 0;

	(void)state;
	begin_scene(&scene);
	while (ask(&scene, ENGINE_RUNTIMES, "mallory", taken, &runs[taken]) == 0) {
		taken++;
	}
	assert_int_equal(scene.count, 4);
	assert_int_equal(taken, 4 + 256);
	/* Other tenants, runs, and long calls do not wait for these. */
	assert_int_equal(ask(&scene, ENGINE_RUNTIMES, "alice", 0, &other), 0);
	assert_int_equal(ask(&scene, ENGINE_EXECUTE, "mallory", 0, &other), 0);
	assert_int_equal(ask(&scene, ENGINE_FILE_GET, "mallory", 0, &other), 0);
	assert_int_equal(scene.count, 7);
	/* In order; a client that leaves while it waits is left out. */
	engine_forget(runs[4]);
	answer(&scene, 0);
	assert_int_equal(scene.count, 8);
	assert_string_equal(scene.begun[7]->session, "5");
	assert_string_equal(scene.begun[7]->tenant, "mallory");
	assert_int_equal(scene.ended, 1);
	/* A call whose client leaves keeps its place until it is answered. */
	engine_forget(runs[1]);
	assert_false(scene.begun[1]->forgotten);
	turn(&scene);
	assert_int_equal(scene.count, 8);
	answer(&scene, 1);
	assert_int_equal(scene.count, 9);
	assert_int_equal(scene.ended, 1);
	end_scene(&scene);
}

/* The waiting ones are answered, one after the other. */
static void test_a_warden_that_refuses(void **state)
{
	struct scene scene;
	struct engine_run *run = NULL;

	(void)state;
	begin_scene(&scene);
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(ask(&scene, ENGINE_SESSION_GET, "mallory", i, &run), 0);
	}
	scene.refuses = true;
	answer(&scene, 2);
	assert_int_equal(scene.failed, 16);
	assert_int_equal(ask(&scene, ENGINE_SESSION_GET, "mallory", 0, &run), -ENOBUFS);
	scene.refuses = false;
	assert_int_equal(ask(&scene, ENGINE_SESSION_GET, "mallory", 0, &run), 0);
	assert_int_equal(scene.count, 5);
	/* A long call ends when its client has left. */
	assert_int_equal(ask(&scene, ENGINE_SESSION_OPEN, "mallory", 0, &run), 0);
	engine_forget(run);
	assert_true(scene.begun[5]->forgotten);
	end_scene(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_tenant_is_bounded),
		cmocka_unit_test(test_a_warden_that_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
