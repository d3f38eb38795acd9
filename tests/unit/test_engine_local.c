/* SPDX-License-Identifier: Apache-2.0 */
/* The local engine: calls and answers, tenants, leases, and the state of ended sessions. */
#include "engine_fixture.h"

static void test_execute(void **state)
{
	struct fixture fixture;
	json_t *root = NULL;

	(void)state;
	setup(&fixture, NULL);
	root = run_in(&fixture, NULL, "print(6 * 7)");
	assert_string_equal(text_at(root, "status"), "ok");
	assert_string_equal(text_at(root, "stdout"), "42\n");
	assert_true(json_is_null(json_object_get(root, "expires_at")));
	json_decref(root);
	/* Fields that only the host itself may set are ignored. */
	const char *const command[] = { "/bin/true", NULL };
	assert_int_equal(
		call(&fixture,
		     (struct engine_call){ .op = ENGINE_EXECUTE, .run = { .command = command } },
		     NULL),
		-EINVAL);
	struct brig_file_in file = { .name = "x", .path = "/etc/passwd" };
	assert_int_equal(call(&fixture,
			      (struct engine_call){
				      .op = ENGINE_EXECUTE,
				      .run = { .code = "1", .files = &file, .files_count = 1 } },
			      NULL),
			 -EINVAL);
	assert_true(call(&fixture, (struct engine_call){ .op = 99 }, NULL) < 0);

	/* Streamed, paused, cancelled. */
	struct heard outcome = { .pauses = true };
	struct engine_call flood = { .op = ENGINE_EXECUTE,
				     .stream = true,
				     .run = { .code = "while True: print('y' * 1000)",
					      .limits = { .stdout_bytes = 64 << 20 } } };
	assert_int_equal(begin(&fixture, &flood, &outcome), 0);
	for (int i = 0; i < 300 && outcome.streamed == 0; i++) {
		run_for(&fixture, 100 * MS); /* a busy host starts it late */
	}
	run_for(&fixture, 1000 * MS);
	size_t before = outcome.streamed;
	assert_true(before > 0 && before <= 2 << 20);
	run_for(&fixture, 200 * MS);
	assert_int_equal(outcome.streamed, before);
	assert_int_equal(outcome.ended, 0);
	engine_cancel(outcome.run);
	while (!outcome.ended) {
		loop_run(fixture.loop);
	}
	assert_non_null(strstr(outcome.data, "\"status\":\"cancelled\""));
	free(outcome.data);

	/* Forgotten: no callback comes any more. */
	outcome = (struct heard){ 0 };
	assert_int_equal(begin(&fixture, &flood, &outcome), 0);
	engine_forget(outcome.run);
	run_for(&fixture, 200 * MS);
	assert_int_equal(outcome.ended + outcome.failed, 0);
	assert_int_equal(outcome.streamed, 0);
	teardown(&fixture);
}

static void test_session(void **state)
{
	struct fixture fixture;
	json_t *root = NULL;
	char id[27];

	(void)state;
	setup(&fixture, NULL);
	open_session(&fixture, NULL, 0, id);
	json_decref(run_in(&fixture, id, "x = 20"));
	root = run_in(&fixture, id, "x + 1");
	assert_int_equal(json_integer_value(json_object_get(root, "value")), 21);
	assert_string_equal(text_at(root, "start"), "session");
	assert_int_equal(strlen(text_at(root, "expires_at")), 24);
	json_decref(root);
	assert_int_equal(call(&fixture,
			      (struct engine_call){ .op = ENGINE_EXECUTE,
						    .session = id,
						    .run = { .language = "bash", .code = "1" } },
			      NULL),
			 -EINVAL);

	/* One run at a time; an interrupt ends it and leaves the rest. */
	struct heard outcome = { 0 };
	struct engine_call loop = { .op = ENGINE_EXECUTE,
				    .session = id,
				    .run = { .code = "while True: pass" } };
	assert_int_equal(begin(&fixture, &loop, &outcome), 0);
	assert_int_equal(call(&fixture,
			      (struct engine_call){
				      .op = ENGINE_EXECUTE, .session = id, .run = { .code = "1" } },
			      NULL),
			 -EBUSY);
	assert_int_equal(call(&fixture,
			      (struct engine_call){ .op = ENGINE_SESSION_INTERRUPT, .session = id },
			      &root),
			 0);
	assert_string_equal(text_at(root, "state"), "busy");
	json_decref(root);
	while (!outcome.ended) {
		loop_run(fixture.loop);
	}
	assert_non_null(strstr(outcome.data, "\"status\":\"cancelled\""));
	free(outcome.data);

	assert_int_equal(call(&fixture,
			      (struct engine_call){ .op = ENGINE_FILE_PUT,
						    .session = id,
						    .path = "d/f",
						    .data = "{}",
						    .size = 2 },
			      NULL),
			 0);
	assert_int_equal(call(&fixture,
			      (struct engine_call){ .op = ENGINE_FILE_LIST, .session = id }, &root),
			 0);
	json_t *file = json_array_get(json_object_get(root, "files"), 0);
	assert_string_equal(text_at(file, "path"), "d/f");
	json_decref(root);
	assert_int_equal(
		call(&fixture,
		     (struct engine_call){ .op = ENGINE_FILE_GET, .session = id, .path = "d/f" },
		     &root),
		0);
	json_decref(root);
	assert_int_equal(
		call(&fixture,
		     (struct engine_call){ .op = ENGINE_FILE_DELETE, .session = id, .path = "d/f" },
		     NULL),
		0);
	assert_int_equal(
		call(&fixture,
		     (struct engine_call){ .op = ENGINE_FILE_GET, .session = id, .path = "d/f" },
		     NULL),
		-ENOENT);

	/* The session has ended, and the remaining record gives the reason. */
	json_decref(run_in(&fixture, id, "import os; os._exit(7)"));
	run_for(&fixture, 100 * MS);
	assert_int_equal(call(&fixture,
			      (struct engine_call){ .op = ENGINE_SESSION_GET, .session = id },
			      &root),
			 0);
	assert_string_equal(text_at(root, "state"), "gone");
	assert_non_null(strstr(text_at(root, "reason"), "status 7"));
	json_decref(root);
	assert_int_equal(call(&fixture,
			      (struct engine_call){
				      .op = ENGINE_EXECUTE, .session = id, .run = { .code = "1" } },
			      NULL),
			 -ESTALE);

	/* Closed while it is busy. */
	open_session(&fixture, NULL, 0, id);
	outcome = (struct heard){ 0 };
	loop.session = id;
	assert_int_equal(begin(&fixture, &loop, &outcome), 0);
	assert_int_equal(call(&fixture,
			      (struct engine_call){ .op = ENGINE_SESSION_CLOSE, .session = id },
			      &root),
			 0);
	assert_string_equal(text_at(root, "reason"), "it was closed");
	json_decref(root);
	while (!outcome.ended) {
		loop_run(fixture.loop);
	}
	free(outcome.data);
	assert_int_equal(call(&fixture, (struct engine_call){ .op = ENGINE_SESSION_LIST }, &root),
			 0);
	assert_int_equal(json_array_size(json_object_get(root, "sessions")), 0);
	json_decref(root);
	teardown(&fixture);
}

/* Another tenant's session is not found by any call, whether open or ended. */
static void test_other_tenant(void **state)
{
	static const enum engine_op ops[] = {
		ENGINE_EXECUTE,           ENGINE_SESSION_GET, ENGINE_SESSION_CLOSE,
		ENGINE_SESSION_INTERRUPT, ENGINE_FILE_LIST,   ENGINE_FILE_GET,
		ENGINE_FILE_PUT,          ENGINE_FILE_DELETE,
	};
	const char *const forged[] = { "", "x", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "../alice" };
	struct fixture fixture;
	json_t *root = NULL;
	char id[27];

	(void)state;
	setup(&fixture, NULL);
	open_session(&fixture, "alice", 0, id);
	for (int dead = 0; dead < 2; dead++) {
		for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
			struct engine_call what = { .op = ops[i],
						    .tenant = "mallory",
						    .session = id,
						    .path = "f",
						    .data = "x",
						    .size = 1,
						    .run = { .code = "1" } };
			assert_int_equal(call(&fixture, what, NULL), -ENOENT);
			for (size_t j = 0; j < ARRAY_SIZE(forged); j++) {
				what.tenant = "alice";
				what.session = forged[j];
				assert_int_equal(call(&fixture, what, NULL), -ENOENT);
			}
		}
		assert_int_equal(
			call(&fixture,
			     (struct engine_call){ .op = ENGINE_SESSION_LIST, .tenant = "mallory" },
			     &root),
			0);
		assert_int_equal(json_array_size(json_object_get(root, "sessions")), 0);
		json_decref(root);
		assert_int_equal(
			call(&fixture,
			     (struct engine_call){ .op = ENGINE_SESSION_CLOSE, .session = id },
			     NULL),
			dead ? -ESTALE : 0);
	}
	teardown(&fixture);
}

static void test_leases(void **state)
{
	struct engine_options options = { .idle_max_ns = 10000 * MS, .life_max_ns = 9000 * MS };
	struct fixture fixture;
	json_t *root = NULL;
	char id[27], other[27];

	(void)state;
	setup(&fixture, &options);
	open_session(&fixture, NULL, 2500 * MS, id);
	open_session(&fixture, NULL, 0, other);
	run_for(&fixture, 1000 * MS);
	json_decref(run_in(&fixture, id, "1"));
	run_for(&fixture, 1700 * MS); /* its lease began anew */
	assert_int_equal(call(&fixture,
			      (struct engine_call){ .op = ENGINE_SESSION_GET, .session = id },
			      &root),
			 0);
	assert_string_equal(text_at(root, "state"), "idle");
	json_decref(root);
	run_for(&fixture, 2000 * MS);
	assert_int_equal(call(&fixture,
			      (struct engine_call){ .op = ENGINE_SESSION_GET, .session = id },
			      &root),
			 0);
	assert_string_equal(text_at(root, "state"), "gone");
	assert_non_null(strstr(text_at(root, "reason"), "it was idle"));
	json_decref(root);
	/* A run in progress does not save it from the end of its maximum lifetime. */
	root = run_in(&fixture, other, "import time; time.sleep(20)");
	assert_string_equal(text_at(root, "status"), "cancelled");
	json_decref(root);
	assert_int_equal(call(&fixture,
			      (struct engine_call){ .op = ENGINE_FILE_LIST, .session = other },
			      NULL),
			 -ESTALE);
	teardown(&fixture);
}

static void test_flood(void **state)
{
	struct engine_options options = { .sessions_max = 4, .sessions_per_tenant = 3 };
	struct engine_call open = { .op = ENGINE_SESSION_OPEN, .run = { .language = "bash" } };
	struct heard outcomes[16] = { 0 };
	struct fixture fixture;
	int open_count = 0;

	(void)state;
	setup(&fixture, &options);
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++) {
		open.tenant = i < 8 ? "alice" : "bob";
		int r = begin(&fixture, &open, &outcomes[i]);
		assert_true(r == 0 || r == -EAGAIN);
		open_count += r == 0;
	}
	assert_int_equal(open_count, 4);
	run_for(&fixture, 500 * MS);
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++) {
		free(outcomes[i].data);
	}
	teardown(&fixture);

	/* Opened for a client that does not wait: closed again. */
	struct heard forgotten = { 0 };
	json_int_t left = -1;
	setup(&fixture, &options);
	open.tenant = NULL;
	assert_int_equal(begin(&fixture, &open, &forgotten), 0);
	engine_forget(forgotten.run);
	for (int i = 0; i < 100 && left != 0; i++) {
		json_t *root = NULL;
		run_for(&fixture, 100 * MS);
		assert_int_equal(call(&fixture, (struct engine_call){ .op = ENGINE_STATS }, &root),
				 0);
		json_t *sessions = json_object_get(root, "sessions");
		left = json_integer_value(json_object_get(sessions, "open"));
		json_decref(root);
	}
	assert_int_equal(left, 0);
	assert_int_equal(forgotten.ended + forgotten.failed, 0);
	teardown(&fixture);
}

static void test_told(void **state)
{
	struct fixture fixture;
	json_t *root = NULL;

	(void)state;
	setup(&fixture, NULL);
	assert_int_equal(call(&fixture, (struct engine_call){ .op = ENGINE_RUNTIMES }, &root), 0);
	assert_true(json_array_size(json_object_get(root, "runtimes")) >= 12);
	json_decref(root);
	assert_int_equal(call(&fixture, (struct engine_call){ .op = ENGINE_POLICIES }, &root), 0);
	assert_true(json_array_size(json_object_get(root, "policies")) >= 3);
	json_decref(root);
	assert_int_equal(call(&fixture,
			      (struct engine_call){ .op = ENGINE_POLICY_CHECK,
						    .run = { .language = "python" } },
			      &root),
			 0);
	assert_true(json_is_true(json_object_get(root, "allowed")));
	json_decref(root);
	assert_int_equal(
		call(&fixture,
		     (struct engine_call){
			     .op = ENGINE_POLICY_CHECK,
			     .run = { .language = "python", .limits = { .wall_ns = 1ull << 60 } } },
		     &root),
		0);
	assert_true(json_is_false(json_object_get(root, "allowed")));
	json_decref(root);
	assert_int_equal(call(&fixture, (struct engine_call){ .op = ENGINE_STATS }, &root), 0);
	json_decref(root);
	teardown(&fixture);
}

/*
 * The keeper of the records receives each end once, for every tenant, and waits if there is none.
 */
static void test_watched(void **state)
{
	struct fixture fixture;
	struct heard outcome = { 0 }, second = { 0 };
	struct engine_call watch = { .op = ENGINE_SESSION_ENDED, .tenant = "brig" };
	json_t *root = NULL;
	char ids[3][27];

	(void)state;
	setup(&fixture, NULL);
	assert_int_equal(begin(&fixture, &watch, &outcome), 0);
	assert_int_equal(begin(&fixture, &watch, &second), -EBUSY);
	open_session(&fixture, "bob", 0, ids[1]);
	assert_int_equal(outcome.ended, 0);
	open_session(&fixture, "alice", 200 * MS, ids[0]);
	while (!outcome.ended) {
		run_for(&fixture, 10 * MS);
	}
	root = json_loadb(outcome.data, outcome.size, 0, NULL);
	const json_t *list = json_object_get(root, "ended");
	assert_int_equal(json_array_size(list), 1);
	assert_string_equal(text_at(json_array_get(list, 0), "tenant"), "alice");
	assert_string_equal(text_at(json_array_get(list, 0), "id"), ids[0]);
	assert_non_null(strstr(text_at(json_array_get(list, 0), "reason"), "it was idle"));
	json_decref(root);
	free(outcome.data);

	/* An end that nobody has asked for yet is reported to the next caller. */
	open_session(&fixture, "alice", 0, ids[2]);
	for (int i = 1; i < 3; i++) {
		struct engine_call close = { .op = ENGINE_SESSION_CLOSE,
					     .tenant = i == 1 ? "bob" : "alice",
					     .session = ids[i] };
		assert_int_equal(call(&fixture, close, NULL), 0);
	}
	assert_int_equal(call(&fixture, watch, &root), 0);
	assert_int_equal(json_array_size(json_object_get(root, "ended")), 2);
	json_decref(root);

	/* A cancelled call is answered; a forgotten one leaves its place to another. */
	outcome = (struct heard){ 0 };
	assert_int_equal(begin(&fixture, &watch, &outcome), 0);
	engine_cancel(outcome.run);
	run_for(&fixture, 10 * MS);
	assert_int_equal(outcome.ended, 1);
	assert_string_equal(outcome.data, "{\"ended\":[],\"used\":[]}");
	free(outcome.data);
	outcome = (struct heard){ 0 };
	assert_int_equal(begin(&fixture, &watch, &outcome), 0);
	engine_forget(outcome.run);
	assert_int_equal(begin(&fixture, &watch, &outcome), 0);
	teardown(&fixture); /* with one that waits */
	assert_int_equal(outcome.ended + outcome.failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_execute),      cmocka_unit_test(test_session),
		cmocka_unit_test(test_other_tenant), cmocka_unit_test(test_leases),
		cmocka_unit_test(test_flood),        cmocka_unit_test(test_told),
		cmocka_unit_test(test_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
