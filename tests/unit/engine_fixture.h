/* SPDX-License-Identifier: Apache-2.0 */
/* A local engine on a loop of its own, and calls that run to their end. */
#ifndef BRIG_TESTS_ENGINE_FIXTURE_H
#define BRIG_TESTS_ENGINE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "engine/engine.h"

#define MS 1000000ull

struct fixture {
	struct loop *loop;
	struct engine *engine;
};

/* The outcome of one call. */
struct heard {
	struct fixture *fixture;
	struct engine_run *run;
	char *data; /* owned */
	size_t size, streamed;
	struct brig_error error;
	int ended, failed;
	bool pauses; /* pauses the output at its first piece */
	struct loop_timer later;
};

static inline void on_output(void *user, int stream, const void *data, size_t size)
{
	struct heard *outcome = user;

	(void)stream;
	(void)data;
	outcome->streamed += size;
	if (outcome->pauses) {
		engine_pause(outcome->run, true);
	}
}

static inline void on_end(void *user, const char *data, size_t size)
{
	struct heard *outcome = user;

	outcome->ended++;
	outcome->data = malloc(size + 1);
	memcpy(outcome->data, data, size);
	outcome->data[size] = '\0';
	outcome->size = size;
	loop_stop(outcome->fixture->loop);
}

static inline void on_fail(void *user, const struct brig_error *error)
{
	struct heard *outcome = user;

	outcome->failed++;
	outcome->error = *error;
	loop_stop(outcome->fixture->loop);
}

static inline void setup(struct fixture *fixture, const struct engine_options *given)
{
	struct engine_options options = given ? *given : (struct engine_options){ 0 };
	struct brig_error error = { 0 };

	options.context.size = sizeof(options.context);
	options.context.no_cache = true;
	assert_int_equal(loop_new(&fixture->loop), 0);
	if (engine_local_new(fixture->loop, &options, &fixture->engine, &error) < 0) {
		fail_msg("%s", error.message);
	}
}

static inline void teardown(struct fixture *fixture)
{
	engine_free(fixture->engine);
	loop_free(fixture->loop);
}

static inline int begin(struct fixture *fixture, struct engine_call *call, struct heard *outcome)
{
	outcome->fixture = fixture;
	call->tenant = call->tenant ? call->tenant : "alice";
	call->output = on_output;
	call->end = on_end;
	call->fail = on_fail;
	call->user = outcome;
	int r = engine_start(fixture->engine, call, &outcome->run, &outcome->error);
	/* No callback comes before the call has returned. */
	assert_int_equal(outcome->ended + outcome->failed, 0);
	return r;
}

static inline void stop_loop(void *user)
{
	loop_stop(user);
}

static inline void run_for(struct fixture *fixture, uint64_t ns)
{
	struct loop_timer timer = { .due = stop_loop, .user = fixture->loop };

	loop_timer_set(fixture->loop, &timer, clock_now_ns() + ns);
	loop_run(fixture->loop);
	loop_timer_clear(&timer);
}

/* Runs a call to its end. 0, or -errno of either failure; the answer as JSON, if it is JSON. */
static inline int call(struct fixture *fixture, struct engine_call what, json_t **ret)
{
	struct heard outcome = { 0 };
	int r = begin(fixture, &what, &outcome);

	if (r < 0) {
		assert_true(outcome.error.message[0] != 0);
		return r;
	}
	while (!outcome.ended && !outcome.failed) {
		loop_run(fixture->loop);
	}
	assert_int_equal(outcome.ended + outcome.failed, 1);
	if (ret && outcome.ended) {
		*ret = json_loadb(outcome.data, outcome.size, JSON_REJECT_DUPLICATES, NULL);
		assert_non_null(*ret);
	}
	free(outcome.data);
	return outcome.failed ? -outcome.error.errnum : 0;
}

static inline const char *text_at(json_t *root, const char *key)
{
	return json_string_value(json_object_get(root, key));
}

static inline void open_session(struct fixture *fixture, const char *tenant, uint64_t idle_ns,
				char id[27])
{
	json_t *root = NULL;

	assert_int_equal(call(fixture,
			      (struct engine_call){ .op = ENGINE_SESSION_OPEN,
						    .tenant = tenant,
						    .idle_ns = idle_ns,
						    .run = { .language = "python" } },
			      &root),
			 0);
	assert_string_equal(text_at(root, "state"), "idle");
	assert_string_equal(text_at(root, "language"), "python");
	assert_int_equal(strlen(text_at(root, "expires_at")), 24);
	snprintf(id, 27, "%s", text_at(root, "id"));
	json_decref(root);
}

static inline json_t *run_in(struct fixture *fixture, const char *session, const char *code)
{
	json_t *root = NULL;
	int r = call(fixture,
		     (struct engine_call){ .op = ENGINE_EXECUTE,
					   .session = session,
					   .run = { .code = code, .want_value = true } },
		     &root);

	assert_int_equal(r, 0);
	return root;
}
#endif
