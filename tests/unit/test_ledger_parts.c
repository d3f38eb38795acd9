/* SPDX-License-Identifier: Apache-2.0 */
/* Long results in the ledger: stored, read and deleted in parts, with other calls in between. */
#include "ledger_fixture.h"

#define LONG_BYTES ((size_t)5 << 20)
#define MANY       24 /* more than are handled at a time */

/* Each position has another character, so that parts in a wrong order are detected. */
static char *long_result(unsigned seed)
{
	char *result = malloc(LONG_BYTES + 64);

	assert_non_null(result);
	int head = sprintf(result, "{\"status\":\"ok\",\"stdout\":\"");
	for (size_t i = 0; i < LONG_BYTES; i++) {
		result[(size_t)head + i] = (char)('a' + (i / 1000 + i + seed) % 26);
	}
	strcpy(result + (size_t)head + LONG_BYTES, "\"}");
	return result;
}

static bool is_long_result(const struct place *place, unsigned seed)
{
	char *result = long_result(seed);
	json_t *expected = json_loads(result, 0, NULL);
	bool equal = json_equal(expected, json_object_get(place->data, "result"));

	assert_non_null(expected);
	json_decref(expected);
	free(result);
	return equal;
}

static int end_long(struct place *place, const char *id, unsigned seed, ledger_done *told)
{
	char *result = long_result(seed);
	int r = ledger_ended(place->ledger, id, result, strlen(result), told, place);

	free(result);
	return r;
}

/* While the database is not open. */
static int64_t count_of(struct place *place, const char *sql)
{
	char path[80];
	sqlite3 *db = NULL;
	sqlite3_stmt *row = NULL;
	int64_t count = -1;

	(void)snprintf(path, sizeof(path), "%s/%s", place->path, STORE_NAME);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
	if (sqlite3_step(row) == SQLITE_ROW) {
		count = sqlite3_column_int64(row, 0);
	}
	sqlite3_finalize(row);
	sqlite3_close(db);
	return count;
}

static void long_done(void *user, const struct brig_error *error, const char *data, size_t size)
{
	struct place *place = user;

	(void)data;
	(void)size;
	place->long_errnum = error ? error->errnum : 0;
	place->long_answers++;
	loop_stop(place->loop);
}

static void wait_for_long(struct place *place, int answers)
{
	while (place->long_answers < answers && !place->client_gone) {
		loop_run(place->loop);
	}
	assert_int_equal(place->long_answers, answers);
}

/* A call behind a long one does not wait for all of it, whether it is stored or read. */
static void others_between_parts(void **state)
{
	struct place *place = *state;
	char id[27], other[27];

	assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	assert_int_equal(end_long(place, id, 1, long_done), 0);
	assert_int_equal(begin(place, other, false, NULL, NULL), 0);
	assert_int_equal(place->long_answers, 0);
	/* It has not ended before all of it is stored. */
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)), 0);
	assert_string_equal(text(place, "status"), "running");
	wait_for_long(place, 1);
	assert_int_equal(place->long_errnum, 0);
	assert_int_equal(ledger_get(place->ledger, "one", id, long_done, place), 0);
	assert_int_equal(end(place, other), 0);
	assert_int_equal(place->long_answers, 1);
	wait_for_long(place, 2);
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)), 0);
	assert_true(is_long_result(place, 1));
	assert_int_equal(answer(place, end_long(place, id, 1, done)), EALREADY);
}

/* More than are handled by turns: all of them are completed. */
static void many_long_ones(void **state)
{
	struct place *place = *state;
	char ids[MANY][27];

	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(begin(place, ids[i], false, NULL, NULL), 0);
	}
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(end_long(place, ids[i], i, long_done), 0);
	}
	wait_for_long(place, MANY);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(ledger_get(place->ledger, "one", ids[i], long_done, place), 0);
	}
	wait_for_long(place, 2 * MANY);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(
			answer(place, ledger_get(place->ledger, "one", ids[i], done, place)), 0);
		assert_true(is_long_result(place, i));
	}
}

/* However many there are, no result takes one turn: a call behind all of them is answered first. */
static void more_stores_than_places(void **state)
{
	struct place *place = *state;
	char ids[MANY][27];

	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(begin(place, ids[i], false, NULL, NULL), 0);
	}
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(end_long(place, ids[i], i, long_done), 0);
	}
	assert_int_equal(answer(place, ledger_stats(place->ledger, done, place)), 0);
	assert_int_equal(place->long_answers, 0);
	wait_for_long(place, MANY);
}

static void more_reads_than_places(void **state)
{
	struct place *place = *state;
	char id[27];

	assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	assert_int_equal(answer(place, end_long(place, id, 1, done)), 0);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(ledger_get(place->ledger, "one", id, long_done, place), 0);
	}
	assert_int_equal(answer(place, ledger_stats(place->ledger, done, place)), 0);
	assert_int_equal(place->long_answers, 0);
	wait_for_long(place, MANY);
	assert_int_equal(place->long_errnum, 0);
}

/* A stop loses neither the calls in progress nor those that wait. */
static void many_at_a_stop(void **state)
{
	struct place *place = *state;
	char ids[MANY][27];

	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(begin(place, ids[i], false, NULL, NULL), 0);
	}
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(end_long(place, ids[i], i, long_done), 0);
	}
	assert_int_equal(answer(place, ledger_stats(place->ledger, done, place)), 0);
	stop(place);
	start(place);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(
			answer(place, ledger_get(place->ledger, "one", ids[i], done, place)), 0);
		assert_true(is_long_result(place, i));
	}
}

/* Another tenant's result is not found, also by a call that had to wait. */
static void long_of_another(void **state)
{
	struct place *place = *state;
	char id[27];

	assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	assert_int_equal(answer(place, end_long(place, id, 1, done)), 0);
	assert_int_equal(answer(place, ledger_get(place->ledger, "two", id, done, place)), ENOENT);
}

/* A long message that is no result ends the connection, as a short one does. */
static void long_and_no_result(void **state)
{
	struct place *place = *state;
	char id[27];
	char *data = calloc(1, LONG_BYTES);

	assert_non_null(data);
	assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	assert_int_equal(ledger_ended(place->ledger, id, data, LONG_BYTES, done, place), 0);
	free(data);
	while (!place->role_gone && !place->client_gone) {
		loop_run(place->loop);
	}
	assert_true(place->role_gone);
}

/* A stop does not lose a result that was handed over. */
static void long_at_a_stop(void **state)
{
	struct place *place = *state;
	char id[27];

	assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	assert_int_equal(end_long(place, id, 7, long_done), 0);
	assert_int_equal(answer(place, ledger_stats(place->ledger, done, place)),
			 0); /* it is accepted */
	assert_int_equal(place->long_answers, 0);
	stop(place);
	start(place);
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)), 0);
	assert_string_equal(text(place, "status"), "ok");
	assert_true(is_long_result(place, 7));
}

/* Makes an execution whose result is half stored, directly in the store: the role is stopped. */
struct half {
	char id[27];
	char *result; /* owned */
	struct store *store;
	struct store_ended *ended;
	struct brig_error error;
};

/* In a transaction, with one part stored. */
static void begin_half(struct place *place, struct half *half)
{
	struct store_limits limits = { .result_max = 16 << 20 };
	struct ended_result result;

	*half = (struct half){ .result = long_result(3) };
	assert_int_equal(begin(place, half->id, false, NULL, NULL), 0);
	stop(place);
	assert_int_equal(sqlite_store_class.open(place->dir, &limits, &half->store, &half->error),
			 0);
	assert_int_equal(ended_result_read(&result, half->id, half->result, strlen(half->result),
					   &half->error),
			 0);
	assert_int_equal(
		store_ended_open(half->store, half->id, &result, &half->ended, &half->error), 0);
	assert_int_equal(store_begin(half->store, &half->error), 0);
	assert_int_equal(store_ended_step(half->store, half->ended, &half->error), 0);
}

static void end_half(struct half *half)
{
	sqlite_ended_free(half->ended);
	store_close(half->store);
	free(half->result);
}

/* After a crash between two parts it is lost, and nothing of it is left. */
static void long_in_a_crash(void **state)
{
	struct place *place = *state;
	struct half half;

	begin_half(place, &half);
	struct store *store = half.store;
	assert_int_equal(store_ended_step(store, half.ended, &half.error), 0);
	assert_int_equal(store_commit(store, &half.error), 0);
	end_half(&half);
	assert_int_equal(count_of(place, "SELECT count(*) FROM result_parts"), 2);
	start(place);
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", half.id, done, place)), 0);
	assert_string_equal(text(place, "status"), "lost");
	stop(place);
	assert_int_equal(count_of(place, "SELECT count(*) FROM result_parts"), 0);
	start(place);
}

/*
 * Its parts are deleted before it is; a reader meanwhile gets all of it, none of it, or an error.
 */
static void long_and_old(void **state)
{
	struct place *place = *state;
	char id[27];

	assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	assert_int_equal(answer(place, end_long(place, id, 5, done)), 0);
	stop(place);
	assert_true(count_of(place, "SELECT count(*) FROM result_parts") > 10);
	place->options.result_age_ms = 1;
	place->options.history_age_ms = 3600000;
	start(place);
	bool kept = true;
	for (int i = 0; i < 300 && kept; i++) {
		idle(place);
		int errnum = answer(place, ledger_get(place->ledger, "one", id, done, place));
		assert_true(errnum == 0 || errnum == ESTALE);
		kept = errnum != 0 || !json_is_null(json_object_get(place->data, "result"));
		assert_true(errnum != 0 || !kept || is_long_result(place, 5));
	}
	assert_false(kept);
	for (int i = 0; i < 20; i++) {
		idle(place);
	}
	stop(place);
	assert_int_equal(count_of(place, "SELECT count(*) FROM result_parts"), 0);
	assert_int_equal(count_of(place, "SELECT count(*) FROM results"), 0);
	start(place);
}

/*
 * On a full disk the parts of a result that cannot be finished are deleted, and it can be tried
 * again.
 */
static void long_and_undone(void **state)
{
	struct place *place = *state;
	struct half half;

	begin_half(place, &half);
	struct store *store = half.store;
	struct ended_result result;
	assert_int_equal(store_ended_undo(store, half.ended, &half.error), 0);
	assert_int_equal(store_commit(store, &half.error), 0);
	assert_int_equal(store_begin(store, &half.error), 0);
	assert_int_equal(ended_result_read(&result, half.id, OK, strlen(OK), &half.error), 0);
	assert_int_equal(store_execution_ended(store, half.id, &result, &half.error), 0);
	ended_result_done(&result);
	assert_int_equal(store_commit(store, &half.error), 0);
	end_half(&half);
	assert_int_equal(count_of(place, "SELECT count(*) FROM result_parts"), 0);
	start(place);
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", half.id, done, place)), 0);
	assert_string_equal(text(place, "status"), "ok");
}

/* A result whose deletion has begun is deleted completely, even if there is room by now. */
static void long_and_half_gone(void **state)
{
	struct place *place = *state;
	char id[27];

	assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	assert_int_equal(answer(place, end_long(place, id, 5, done)), 0);
	stop(place);
	(void)count_of(place, "UPDATE results SET data = x''");
	start(place);
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)), 0);
	assert_true(json_is_null(json_object_get(place->data, "result")));
	for (int i = 0; i < 40; i++) { /* the first sweep comes after a second */
		idle(place);
	}
	stop(place);
	assert_int_equal(count_of(place, "SELECT count(*) FROM result_parts"), 0);
	assert_int_equal(count_of(place, "SELECT count(*) FROM results"), 0);
	start(place);
}

static void keep_one(struct place *place, const char *tenant, char id[27])
{
	struct ledger_execution execution = { .id = id,
					      .tenant = tenant,
					      .caller = tenant,
					      .language = "python",
					      .policy = "default" };

	assert_int_equal(id_make(id), 0);
	assert_int_equal(answer(place, ledger_begin(place->ledger, &execution, done, place)), 0);
	assert_int_equal(end(place, id), 0);
}

static bool is_kept(struct place *place, const char *tenant, const char *id)
{
	assert_int_equal(answer(place, ledger_get(place->ledger, tenant, id, done, place)), 0);
	return !json_is_null(json_object_get(place->data, "result"));
}

static void sweep_all(struct place *place, uint64_t total)
{
	struct store_limits limits = { .result_total_max = total };
	struct brig_error error = { 0 };
	struct store *store = NULL;
	int r = 1;

	assert_int_equal(sqlite_store_class.open(place->dir, &limits, &store, &error), 0);
	for (unsigned i = 0; i < 1000 && r == 1; i++) {
		r = store_sweep(store, &error);
	}
	assert_int_equal(r, 0);
	assert_true(store->now.result_bytes <= total);
	store_close(store);
}

/*
 * The tenant that fills the ledger loses its own results, the oldest first; no other tenant does.
 */
static void the_largest_gives_way(void **state)
{
	struct place *place = *state;
	char hers[3][27], his[200][27];

	for (unsigned i = 0; i < 3; i++) {
		keep_one(place, "alice", hers[i]);
	}
	for (unsigned i = 0; i < 200; i++) {
		keep_one(place, "mallory", his[i]);
	}
	stop(place);
	assert_int_equal(count_of(place, "SELECT count(*) FROM result_owners"), 203);
	assert_int_equal(count_of(place, "SELECT sum(bytes) FROM result_sums"),
			 count_of(place, "SELECT sum(size) FROM results"));
	unsigned size = (unsigned)count_of(place, "SELECT max(size) FROM results");
	sweep_all(place, 13 * (uint64_t)size);
	start(place);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(is_kept(place, "alice", hers[i]));
	}
	for (unsigned i = 0; i < 200; i++) {
		assert_int_equal(is_kept(place, "mallory", his[i]), i >= 190);
	}
	/* With less room both tenants have the same. */
	stop(place);
	sweep_all(place, 4 * (uint64_t)size);
	assert_int_equal(count_of(place, "SELECT bytes FROM result_sums WHERE tenant = 'alice'"),
			 2 * size);
	assert_int_equal(count_of(place, "SELECT bytes FROM result_sums WHERE tenant = 'mallory'"),
			 2 * size);
	sweep_all(place, 1);
	assert_int_equal(count_of(place, "SELECT count(*) FROM result_sums"), 0);
	assert_int_equal(count_of(place, "SELECT count(*) FROM result_owners"), 0);
	start(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(others_between_parts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_long_ones, set_up, tear_down),
		cmocka_unit_test_setup_teardown(more_stores_than_places, set_up, tear_down),
		cmocka_unit_test_setup_teardown(more_reads_than_places, set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_at_a_stop, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_of_another, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_and_no_result, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_at_a_stop, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_in_a_crash, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_and_old, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_and_undone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_and_half_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_largest_gives_way, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
