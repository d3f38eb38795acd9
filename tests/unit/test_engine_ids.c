/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of runs: from the call to result and cell, and those that a broken front sends. */
#include <sys/socket.h>

#include "base/id.h"
#include "engine_fixture.h"
#include "lib/api/api_run.h"

static struct {
	unsigned count;
	char id[27], session[27], cell[65];
} begun;

static void on_begun(const struct engine_begun *one)
{
	begun.count++;
	snprintf(begun.id, sizeof(begun.id), "%s", one->id ? one->id : "");
	snprintf(begun.session, sizeof(begun.session), "%s", one->session ? one->session : "");
	snprintf(begun.cell, sizeof(begun.cell), "%s", one->cell);
	assert_string_equal(one->tenant, "alice");
}

static const struct engine_options watched = { .begun = on_begun };

static json_t *run_as(struct fixture *fixture, const char *id, struct brig_request run)
{
	json_t *root = NULL;

	assert_int_equal(call(fixture,
			      (struct engine_call){ .op = ENGINE_EXECUTE, .id = id, .run = run },
			      &root),
			 0);
	return root;
}

static void test_result_and_cell(void **state)
{
	struct fixture fixture;
	char id[27];

	(void)state;
	setup(&fixture, &watched);
	for (int i = 0; i < 2; i++) {
		/* An id may be used again after its run. */
		memcpy(id, "01J9Z3NDEKTSV4RRFFQ69G5FAV", sizeof(id));
		json_t *root = run_as(&fixture, id, (struct brig_request){ .code = "print(1)" });
		assert_string_equal(text_at(root, "id"), id);
		assert_string_equal(begun.id, id);
		assert_string_equal(begun.cell, id);
		assert_string_equal(begun.session, "");
		json_decref(root);
	}
	/* The cells of compiler and program exist at the same time. */
	json_t *root = run_as(
		&fixture, id,
		(struct brig_request){ .language = "c", .code = "int main(void) { return 0; }" });
	assert_string_equal(text_at(root, "status"), "ok");
	assert_string_equal(text_at(root, "id"), id);
	assert_string_equal(begun.cell, "01J9Z3NDEKTSV4RRFFQ69G5FAV.compile");
	json_decref(root);
	root = run_as(&fixture, id, (struct brig_request){ .language = "c", .code = "int main(" });
	assert_string_equal(text_at(root, "status"), "compile_failed");
	assert_string_equal(text_at(root, "id"), id);
	json_decref(root);
	/* Without one it is the engine's own. */
	root = run_as(&fixture, NULL, (struct brig_request){ .code = "print(1)" });
	assert_true(id_valid(text_at(root, "id")));
	assert_string_equal(text_at(root, "id"), begun.id);
	assert_string_not_equal(text_at(root, "id"), id);
	json_decref(root);
	teardown(&fixture);
}

static void test_sessions(void **state)
{
	struct fixture fixture;
	char session[27], id[27];
	json_t *root = NULL;

	(void)state;
	setup(&fixture, &watched);
	open_session(&fixture, NULL, 0, session);
	assert_string_equal(begun.session, session);
	assert_string_equal(begun.cell, session);
	assert_string_equal(begun.id, "");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(id_make(id), 0);
		struct engine_call run = { .op = ENGINE_EXECUTE,
					   .id = id,
					   .session = session,
					   .run = { .code = i ? "import os; os._exit(3)" : "1" } };
		assert_int_equal(call(&fixture, run, &root), 0);
		assert_string_equal(text_at(root, "id"), id);
		assert_string_equal(begun.id, id);
		assert_string_equal(begun.session, session);
		assert_string_equal(begun.cell, session);
		json_decref(root);
	}
	teardown(&fixture);
}

/* The result of a run that never began is that of its cell, but for the id. */
static void test_lost_before_it_began(void **state)
{
	static const char id[] = "01J9Z3NDEKTSV4RRFFQ69G5FAV";
	struct brig_context_options options = { .size = sizeof(options), .no_cache = true };
	struct brig_request open = { .size = sizeof(open), .language = "python" };
	struct brig_request code = { .size = sizeof(code), .code = "1", .id = id };
	struct brig_context *context = NULL;
	struct brig_session *session = NULL;
	struct brig_run *run = NULL;
	struct brig_error error = { 0 };

	(void)state;
	assert_int_equal(brig_context_new(&options, &context, &error), 0);
	assert_int_equal(brig_session_open(context, &open, &session, &error), 0);
	assert_int_equal(brig_session_start(session, &code, &run, &error), 0);
	brig_session_end(session, "a test");
	assert_int_equal(brig_run_wait(run, &error), 0);
	struct brig_result *result = brig_run_take_result(run);
	assert_string_equal(result->id, id);
	assert_int_equal(result->status, BRIG_CANCELLED);
	brig_result_free(result);
	brig_run_free(run);
	brig_session_close(session);

	open.id = code.id = "../../escape";
	assert_int_equal(brig_session_open(context, &open, &session, &error), -EINVAL);
	assert_int_equal(brig_run_start(context, &code, &run, &error), -EINVAL);
	assert_int_equal(error.code, BRIG_E_INPUT);
	assert_true(error.message[0] && error.remedy[0]);
	brig_context_free(context);
}

static void test_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"01J9Z3NDEKTSV4RRFFQ69G5FA",
		"01J9Z3NDEKTSV4RRFFQ69G5FAVX",
		"01j9z3ndektsv4rrffq69g5fav",
		"81J9Z3NDEKTSV4RRFFQ69G5FAV",
		"01J9Z3NDEKTSV4RRFFQ69G5F/.",
		"01J9Z3NDEKTSV4RRFFQ69G5FAU",
	};
	struct fixture fixture;

	(void)state;
	setup(&fixture, &watched);
	begun.count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct engine_call run = { .op = ENGINE_EXECUTE,
					   .id = wrong[i],
					   .run = { .code = "1" } };
		assert_int_equal(call(&fixture, run, NULL), -EINVAL);
	}
	assert_int_equal(begun.count, 0);
	teardown(&fixture);
}

/* --- through the line between front and warden ------------------------------------------------ */

struct line {
	struct fixture fixture;
	struct engine *warden;
	struct engine_service *service;
	bool left;
};

static void warden_leaves(void *user, const char *why)
{
	struct line *line = user;

	assert_non_null(why);
	line->left = true;
	loop_stop(line->fixture.loop);
}

static void front_alone(void *user, const char *why)
{
	(void)user;
	(void)why;
}

/* The fixture's engine is the front's. */
static void connect_line(struct line *line)
{
	int ends[2];

	*line = (struct line){ 0 };
	setup(&line->fixture, &watched);
	line->warden = line->fixture.engine;
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	assert_int_equal(engine_remote_new(line->fixture.loop, ends[0], front_alone, line,
					   &line->fixture.engine),
			 0);
	assert_int_equal(engine_service_new(line->fixture.loop, ends[1], line->warden,
					    warden_leaves, line, &line->service),
			 0);
}

static void disconnect_line(struct line *line)
{
	engine_service_free(line->service);
	engine_free(line->warden);
	teardown(&line->fixture);
}

static void test_duplicate_of_a_broken_front(void **state)
{
	static const char id[] = "01J9Z3NDEKTSV4RRFFQ69G5FAV";
	struct heard first = { 0 };
	struct engine_call sleeps = { .op = ENGINE_EXECUTE,
				      .id = id,
				      .run = { .code = "import time; time.sleep(60)" } };
	struct engine_call other = { .op = ENGINE_EXECUTE, .id = id, .run = { .code = "1" } };
	struct line line;

	(void)state;
	connect_line(&line);
	assert_int_equal(begin(&line.fixture, &sleeps, &first), 0);
	begun.count = 0;
	assert_int_equal(call(&line.fixture, other, NULL), -EEXIST);
	assert_int_equal(begun.count, 1); /* the first one alone */
	/* That run goes on, and ends as itself. */
	assert_int_equal(first.ended + first.failed, 0);
	engine_cancel(first.run);
	while (!first.ended) {
		loop_run(line.fixture.loop);
	}
	assert_non_null(strstr(first.data, "\"status\":\"cancelled\""));
	assert_non_null(strstr(first.data, id));
	free(first.data);
	assert_false(line.left);
	assert_int_equal(call(&line.fixture, other, NULL), 0);
	disconnect_line(&line);
}

static void test_malformed_of_a_broken_front(void **state)
{
	struct heard heard = { 0 };
	struct engine_call run = { .op = ENGINE_EXECUTE,
				   .id = "../01J9Z3NDEKTSV4RRFFQ69G5",
				   .run = { .code = "1" } };
	struct line line;

	(void)state;
	connect_line(&line);
	begun.count = 0;
	assert_int_equal(begin(&line.fixture, &run, &heard), 0);
	while (!line.left) {
		loop_run(line.fixture.loop);
	}
	assert_int_equal(begun.count, 0);
	assert_int_equal(heard.ended + heard.failed, 0);
	disconnect_line(&line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_result_and_cell),
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_lost_before_it_began),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_duplicate_of_a_broken_front),
		cmocka_unit_test(test_malformed_of_a_broken_front),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
