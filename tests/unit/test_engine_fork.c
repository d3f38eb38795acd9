/* SPDX-License-Identifier: Apache-2.0 */
/* Forks of sessions: completed, cancelled at any moment, and with an engine that is freed. */
#include "engine/fork/engine_fork.h"
#include "engine_fixture.h"

#define STEPS 24

static void open_as(struct fixture *fixture, const char *tenant, char id[27])
{
	json_t *root = NULL;

	assert_int_equal(call(fixture,
			      (struct engine_call){ .op = ENGINE_SESSION_OPEN,
						    .tenant = tenant,
						    .run = { .language = "bash" } },
			      &root),
			 0);
	snprintf(id, 27, "%s", text_at(root, "id"));
	json_decref(root);
}

static void open_bash(struct fixture *fixture, char id[27])
{
	open_as(fixture, "alice", id);
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

/* The fork that was in progress is interrupted, which may take a moment. */
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
	/* More than the limit. */
	fork.tenant = "alice";
	fork.run.limits_most.memory_bytes = 1;
	assert_true(call(&fixture, fork, NULL) < 0);
	assert_int_equal(sessions(&fixture), 2);
	teardown(&fixture);
}

/* Cancelled at any point: the old session is unchanged, and there is no new one. */
static void test_cut_off(void **state)
{
	struct fixture fixture;
	char id[27];

	(void)state;
	setup(&fixture, NULL);
	open_bash(&fixture, id);
	for (int i = 0; i < STEPS; i++) {
		struct engine_call fork = { .op = ENGINE_SESSION_FORK, .session = id };
		struct heard outcome = { 0 };

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

/* One of the two is closed, or the engine is freed. */
static void test_gone(void **state)
{
	(void)state;
	for (int i = 0; i < STEPS; i++) {
		struct fixture fixture;
		struct heard outcome = { 0 };
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

static const struct list *all_forks(const struct fixture *fixture)
{
	return &((const struct local *)(const void *)fixture->engine)->forks;
}

static unsigned under_way(const struct fixture *fixture, const char *tenant)
{
	unsigned count = 0;

	LIST_EACH(const struct local_fork, f, all_forks(fixture), node) {
		count += f->state != FORK_WAITING && strcmp(f->tenant, tenant) == 0;
	}
	return count;
}

/*
 * Forks of a tenant wait for each other, but not for other tenants; each is a session of its own.
 */
static void test_many(void **state)
{
	enum { MANY = FORKS_WAITING_TENANT };
	struct fixture fixture;
	struct heard outcomes[MANY + 1] = { 0 };
	char ids[MANY + 1][27];
	unsigned most = 0;

	(void)state;
	setup(&fixture, NULL);
	for (int i = 0; i <= MANY; i++) {
		open_as(&fixture, i < MANY ? "alice" : "bob", ids[i]);
	}
	for (int i = 0; i <= MANY; i++) {
		struct engine_call fork = { .op = ENGINE_SESSION_FORK, .session = ids[i] };

		fork.tenant = i < MANY ? "alice" : "bob"; /* the last one to come */
		assert_int_equal(begin(&fixture, &fork, &outcomes[i]), 0);
	}
	/* Turns are given by the loop: until then all of them wait, and no more are accepted. */
	struct engine_call more = { .op = ENGINE_SESSION_FORK, .session = ids[0] };
	assert_int_equal(call(&fixture, more, NULL), -EAGAIN);
	for (int ended = 0; ended <= MANY;) {
		run_for(&fixture, 0);
		unsigned own = under_way(&fixture, "alice");
		most = own > most ? own : most;
		if (own == FORKS_TENANT) {
			assert_true(under_way(&fixture, "bob") || outcomes[MANY].ended);
		}
		ended = 0;
		for (int i = 0; i <= MANY; i++) {
			assert_int_equal(outcomes[i].failed, 0);
			ended += outcomes[i].ended;
		}
	}
	assert_int_equal(most, FORKS_TENANT);
	assert_int_equal(sessions(&fixture), 2 * MANY);
	for (int i = 0; i <= MANY; i++) {
		free(outcomes[i].data);
	}
	teardown(&fixture);
}

/* A large file, and many small ones, take many turns: other work runs in between. */
static void test_copied_in_slices(void **state)
{
	enum { MEGABYTES = 32, FILES = 400 };
	struct fixture fixture;
	struct heard outcome = { 0 };
	unsigned turns = 0;
	char id[27];

	(void)state;
	setup(&fixture, NULL);
	open_bash(&fixture, id);
	json_decref(run_in(&fixture, id,
			   "yes | head -c 32M >large; mkdir d; for i in {1..400}; do >d/$i; done; "
			   "truncate -s 60M zero"));
	struct engine_call fork = { .op = ENGINE_SESSION_FORK, .session = id };
	assert_int_equal(begin(&fixture, &fork, &outcome), 0);
	while (!outcome.ended) {
		run_for(&fixture, 0);
		assert_int_equal(outcome.failed, 0);
		const struct local_fork *under =
			LIST_FIRST(all_forks(&fixture), const struct local_fork, node);
		turns += under && fork_is_copying(under);
	}
	assert_true(turns >= MEGABYTES + FILES / 16);
	json_t *root = json_loadb(outcome.data, outcome.size, 0, NULL);
	json_t *files = json_object_get(root, "files");
	assert_int_equal(json_integer_value(json_object_get(files, "copied")), 2 + 1 + FILES);
	assert_int_equal(json_array_size(json_object_get(files, "left")), 1); /* it does not fit */
	json_t *result = run_in(&fixture, text_at(root, "id"),
				"cmp large <(yes | head -c 32M) && ls d | wc -l; ls -A | wc -l");
	assert_string_equal(text_at(result, "stdout"), "400\n5\n"); /* a b d large out */
	json_decref(result);
	json_decref(root);
	free(outcome.data);
	teardown(&fixture);
}

static void take_names(struct fixture *fixture, const char *text, struct local_fork *fork)
{
	struct local *local = (struct local *)(void *)fixture->engine;
	struct local_session *session = LIST_FIRST(&local->sessions, struct local_session, node);

	*fork = (struct local_fork){ .names_path = "names" };
	assert_int_equal(
		brig_session_put(session->session, "names", text, strlen(text), false, NULL), 0);
	assert_int_equal(fork_take_names(fork, session), 0);
}

static void drop_names(struct local_fork *fork)
{
	strlist_done(&fork->carried);
	strlist_done(&fork->left);
}

/* The session itself wrote the list: only as much of it is read as there is room for. */
static void test_names(void **state)
{
	struct fixture fixture;
	struct local_fork fork;
	struct buf text = { 0 };
	char id[27];

	(void)state;
	setup(&fixture, NULL);
	open_bash(&fixture, id);
	take_names(&fixture, "+a\n+ab\n\nx\n-a\twhy\n-abc\twhy", &fork);
	assert_int_equal(fork.carried.count, 1);
	assert_string_equal(fork.carried.items[0], "ab");
	assert_int_equal(fork.left.count, 2);
	assert_string_equal(fork.left.items[0], "a\twhy");
	assert_false(fork.truncated);
	drop_names(&fork);

	for (int i = 0; i < FORK_NAMES_MAX; i++) {
		buf_addf(&text, "+n%d\n", i);
	}
	for (int i = 0; i < 60000; i++) {
		buf_addf(&text, "-x\n");
	}
	buf_addf(&text, "-n0\tlate\n");
	take_names(&fixture, text.data, &fork);
	assert_true(fork.truncated);
	assert_int_equal(fork.carried.count, FORK_NAMES_MAX);
	assert_string_equal(fork.carried.items[0], "n0");
	drop_names(&fork);
	buf_done(&text);
	teardown(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_copied_in_slices),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
