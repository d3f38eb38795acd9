/* Forks of sessions: to the end, cut off at any moment, and with an engine that goes. */
#include "engine_fixture.h"

#define STEPS 24

static void open_bash(struct fixture *fixture, char id[27])
{
	json_t *root = NULL;

	assert_int_equal(call(fixture,
			      (struct engine_call){ .op = ENGINE_SESSION_OPEN,
						    .run = { .language = "bash" } },
			      &root),
			 0);
	snprintf(id, 27, "%s", text_at(root, "id"));
	json_decref(root);
	json_decref(run_in(fixture, id, "x=7; f() { echo $x; }; echo 1 >a; mkdir b; echo 2 >b/c"));
}

static size_t sessions(struct fixture *fixture)
{
	json_t *root = NULL;

	assert_int_equal(call(fixture, (struct engine_call){ .op = ENGINE_SESSION_LIST }, &root),
			 0);
	size_t count = json_array_size(json_object_get(root, "sessions"));
	json_decref(root);
	return count;
}

/* What was under way in it is interrupted, which may take a moment. */
static void wait_idle(struct fixture *fixture, const char *id)
{
	bool idle = false;

	for (int i = 0; i < 300 && !idle; i++) {
		json_t *root = NULL;
		struct engine_call get = { .op = ENGINE_SESSION_GET, .session = id };

		assert_int_equal(call(fixture, get, &root), 0);
		idle = strcmp(text_at(root, "state"), "idle") == 0;
		json_decref(root);
		run_for(fixture, 10 * MS);
	}
	assert_true(idle);
}

static void test_whole(void **state)
{
	struct fixture fixture;
	json_t *root = NULL;
	char id[27];

	(void)state;
	setup(&fixture, NULL);
	open_bash(&fixture, id);
	struct engine_call fork = { .op = ENGINE_SESSION_FORK, .session = id };
	assert_int_equal(call(&fixture, fork, &root), 0);
	assert_string_equal(text_at(root, "forked_from"), id);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(root, "files"), "copied")), 2);
	json_t *result = run_in(&fixture, text_at(root, "id"), "f; cat a b/c; x=8; f");
	assert_string_equal(text_at(result, "stdout"), "7\n1\n2\n8\n");
	json_decref(result);
	json_decref(root);
	result = run_in(&fixture, id, "f; ls -A /sandbox | wc -l");
	assert_string_equal(text_at(result, "stdout"), "7\n3\n"); /* a, b, out */
	json_decref(result);
	fork.tenant = "bob";
	assert_int_equal(call(&fixture, fork, NULL), -ENOENT);
	/* More than may be had. */
	fork.tenant = "alice";
	fork.run.limits_most.memory_bytes = 1;
	assert_true(call(&fixture, fork, NULL) < 0);
	assert_int_equal(sessions(&fixture), 2);
	teardown(&fixture);
}

/* Wherever it is cut off: the old session is as it was, and there is no other. */
static void test_cut_off(void **state)
{
	struct fixture fixture;
	char id[27];

	(void)state;
	setup(&fixture, NULL);
	open_bash(&fixture, id);
	for (int i = 0; i < STEPS; i++) {
		struct engine_call fork = { .op = ENGINE_SESSION_FORK, .session = id };
		struct outcome outcome = { 0 };

		assert_int_equal(begin(&fixture, &fork, &outcome), 0);
		run_for(&fixture, (uint64_t)i * 2 * MS);
		if (outcome.ended) {
			free(outcome.data);
			break;
		}
		if (i % 2) {
			engine_cancel(outcome.run);
			run_for(&fixture, 20 * MS);
			assert_int_equal(outcome.failed, 1);
			assert_int_equal(outcome.error.errnum, ECANCELED);
		} else {
			engine_forget(outcome.run);
			run_for(&fixture, 20 * MS);
			assert_int_equal(outcome.ended + outcome.failed, 0);
		}
		wait_idle(&fixture, id);
		assert_int_equal(sessions(&fixture), 1);
		json_t *result = run_in(&fixture, id, "f");
		assert_string_equal(text_at(result, "stdout"), "7\n");
		json_decref(result);
	}
	teardown(&fixture);
}

/* One of the two is closed, or the engine goes. */
static void test_gone(void **state)
{
	(void)state;
	for (int i = 0; i < STEPS; i++) {
		struct fixture fixture;
		struct outcome outcome = { 0 };
		char id[27];

		setup(&fixture, NULL);
		open_bash(&fixture, id);
		struct engine_call fork = { .op = ENGINE_SESSION_FORK, .session = id };
		assert_int_equal(begin(&fixture, &fork, &outcome), 0);
		run_for(&fixture, (uint64_t)(i / 2) * 3 * MS);
		if (i % 2 && !outcome.ended) {
			struct engine_call close = { .op = ENGINE_SESSION_CLOSE, .session = id };
			assert_int_equal(call(&fixture, close, NULL), 0);
			while (!outcome.ended && !outcome.failed) {
				run_for(&fixture, 5 * MS);
			}
			run_for(&fixture, 300 * MS);
			assert_int_equal(sessions(&fixture), (size_t)outcome.ended);
		}
		teardown(&fixture);
		free(outcome.data);
	}
}

/* So many at once; each is a session of its own. */
static void test_many(void **state)
{
	enum { MANY = 6 };
	struct fixture fixture;
	struct outcome outcomes[MANY] = { 0 };
	char ids[MANY][27];
	int begun = 0;

	(void)state;
	setup(&fixture, NULL);
	for (int i = 0; i < MANY; i++) {
		open_bash(&fixture, ids[i]);
	}
	for (int i = 0; i < MANY; i++) {
		struct engine_call fork = { .op = ENGINE_SESSION_FORK, .session = ids[i] };
		int r = begin(&fixture, &fork, &outcomes[i]);
		assert_true(r == 0 || r == -EAGAIN);
		begun += r == 0;
	}
	assert_int_equal(begun, 4);
	for (int i = 0; i < begun; i++) {
		while (!outcomes[i].ended) {
			run_for(&fixture, 5 * MS);
			assert_int_equal(outcomes[i].failed, 0);
		}
		free(outcomes[i].data);
	}
	assert_int_equal(sessions(&fixture), MANY + 4);
	teardown(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
