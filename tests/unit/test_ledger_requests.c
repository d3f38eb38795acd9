/* SPDX-License-Identifier: Apache-2.0 */
/* Long requests of queued executions: stored and deleted in parts, with other calls in between. */
#include "ledger_fixture.h"

#include <sodium.h>

#define LONG_BYTES ((size_t)5 << 20)
#define PARTS      20 /* of 256 KiB */
#define MANY       12 /* more than are handled at a time */

/* Each position has another character, so that parts in a wrong order are detected. */
static char *long_request(unsigned seed)
{
	char *request = malloc(LONG_BYTES);

	assert_non_null(request);
	for (size_t i = 0; i < LONG_BYTES; i++) {
		request[i] = (char)('a' + (i / 1000 + i + seed) % 26);
	}
	return request;
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

static int begin_long(struct place *place, char id[27], unsigned seed, const char *key,
		      ledger_done *told)
{
	char *data = long_request(seed);
	const struct block request = { .fd = -1, .data = data, .size = LONG_BYTES };
	struct ledger_execution execution = {
		.id = id,
		.tenant = "one",
		.caller = "uid:1000",
		.language = "python",
		.policy = "default",
		.queued = true,
		.request = &request,
		.key = key,
		.digest = key,
	};

	assert_int_equal(id_make(id), 0);
	int r = ledger_begin(place->ledger, &execution, told, place);
	free(data);
	return r;
}

/* While the database is not open. */
static int64_t count_of(struct place *place, const char *sql)
{
	char path[80];
	sqlite3 *db = NULL;
	sqlite3_stmt *row = NULL;

	(void)snprintf(path, sizeof(path), "%s/%s", place->path, STORE_NAME);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	int64_t count = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	sqlite3_close(db);
	return count;
}

/*
 * How many are left when everything that may be deleted is deleted: a few in each sweep. Restarts
 * the role.
 */
static void assert_parts(struct place *place, int64_t parts)
{
	int64_t found = -1;

	for (int i = 0; i < 50 && found != parts; i++) {
		for (int j = 0; j < 5; j++) {
			assert_int_equal(answer(place, ledger_stats(place->ledger, done, place)),
					 0);
			idle(place);
		}
		stop(place);
		found = count_of(place, "SELECT count(*) FROM request_parts");
		start(place);
	}
	assert_int_equal(found, parts);
}

static void others_between_parts(void **state)
{
	struct place *place = *state;
	char ids[MANY][27], other[27];

	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(begin_long(place, ids[i], i, NULL, long_done), 0);
	}
	assert_int_equal(begin(place, other, false, NULL, NULL), 0);
	assert_int_equal(place->long_answers, 0);
	/* It is not found before all of it is stored. */
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", ids[0], done, place)),
			 ENOENT);
	while (place->long_answers < MANY && !place->client_gone) {
		loop_run(place->loop);
	}
	assert_int_equal(place->long_errnum, 0);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(
			answer(place, ledger_get(place->ledger, "one", ids[i], done, place)), 0);
		assert_string_equal(text(place, "status"), "queued");
	}
}

/* It is complete after a restart, and deleted when it has begun. */
static void read_back_and_dropped(void **state)
{
	struct place *place = *state;
	char id[27], *request = long_request(3);
	unsigned char *bytes = malloc(LONG_BYTES + 1);
	size_t size = 0;

	assert_int_equal(answer(place, begin_long(place, id, 3, NULL, done)), 0);
	stop(place);
	assert_int_equal(count_of(place, "SELECT count(*) FROM request_parts"), PARTS);
	assert_int_equal(count_of(place, "SELECT max(length(data)) FROM requests"), 0);
	start(place);
	assert_int_equal(answer(place, ledger_pending(place->ledger, done, place)), 0);
	const json_t *list = json_object_get(place->data, "pending");
	const json_t *found = json_object_get(json_array_get(list, 0), "request_base64");
	assert_int_equal(json_array_size(list), 1);
	assert_int_equal(sodium_base642bin(bytes, LONG_BYTES + 1, json_string_value(found),
					   json_string_length(found), NULL, &size, NULL,
					   sodium_base64_VARIANT_ORIGINAL),
			 0);
	assert_int_equal(size, LONG_BYTES);
	assert_memory_equal(bytes, request, LONG_BYTES);
	free(bytes);
	free(request);
	assert_int_equal(answer(place, ledger_started(place->ledger, id, done, place)), 0);
	assert_parts(place, 0);
	stop(place);
	assert_int_equal(count_of(place, "SELECT count(*) FROM long_requests"), 0);
	start(place);
}

/* An older ledger has it in one row. */
static void whole_in_its_row(void **state)
{
	struct place *place = *state;
	char id[27], path[80];
	sqlite3 *db = NULL;

	assert_int_equal(begin(place, id, true, NULL, NULL), 0);
	stop(place);
	(void)snprintf(path, sizeof(path), "%s/%s", place->path, STORE_NAME);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "UPDATE requests SET data = zeroblob(3000000);"
				      "DROP TABLE long_requests; DROP TABLE request_parts;"
				      "DROP TRIGGER results_come; DROP TRIGGER results_go;"
				      "DROP TABLE result_owners; DROP TABLE result_sums;"
				      "DROP INDEX results_half_gone; DROP TABLE logged;"
				      "PRAGMA user_version = 5",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	start(place);
	assert_int_equal(answer(place, ledger_pending(place->ledger, done, place)), 0);
	const json_t *list = json_object_get(place->data, "pending");
	const json_t *found = json_object_get(json_array_get(list, 0), "request_base64");
	assert_int_equal(json_string_length(found), 4000000);
	assert_int_equal(answer(place, ledger_started(place->ledger, id, done, place)), 0);
	stop(place);
	assert_int_equal(count_of(place, "SELECT count(*) FROM requests"), 0);
	start(place);
}

static void ended_before_it_began(void **state)
{
	struct place *place = *state;
	char id[27];

	assert_int_equal(answer(place, begin_long(place, id, 3, NULL, done)), 0);
	assert_int_equal(end(place, id), 0);
	assert_parts(place, 0);
}

/* A second caller is answered with the first; the body of the second is not kept. */
static void known_key(void **state)
{
	struct place *place = *state;
	char first[27], second[27];

	assert_int_equal(answer(place, begin_long(place, first, 1, "key", done)), 0);
	assert_int_equal(answer(place, begin_long(place, second, 1, "key", done)), 0);
	assert_string_equal(text(place, "id"), first);
	assert_true(json_is_true(json_object_get(place->data, "same")));
	assert_parts(place, PARTS);
}

/* After a crash between two parts nothing of it is left. */
static void half_stored(void **state)
{
	struct place *place = *state;
	struct store_limits limits = { 0 };
	struct store_request request = { .data = long_request(1), .size = LONG_BYTES };
	struct store *store = NULL;
	struct brig_error error = { 0 };

	stop(place);
	assert_int_equal(sqlite_store_class.open(place->dir, &limits, &store, &error), 0);
	assert_int_equal(store_begin(store, &error), 0);
	assert_int_equal(store_request_step(store, &request, &error), 0);
	assert_int_equal(store_request_step(store, &request, &error), 0);
	assert_int_equal(store_commit(store, &error), 0);
	store_close(store);
	free((void *)(uintptr_t)request.data);
	assert_int_equal(count_of(place, "SELECT count(*) FROM request_parts"), 2);
	start(place);
	assert_parts(place, 0);
}

/* A stop does not lose a request that was handed over. */
static void at_a_stop(void **state)
{
	struct place *place = *state;
	char ids[MANY][27];

	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(begin_long(place, ids[i], i, NULL, long_done), 0);
	}
	assert_int_equal(answer(place, ledger_stats(place->ledger, done, place)), 0);
	stop(place);
	start(place);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(
			answer(place, ledger_get(place->ledger, "one", ids[i], done, place)), 0);
		assert_string_equal(text(place, "status"), "queued");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(others_between_parts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(read_back_and_dropped, set_up, tear_down),
		cmocka_unit_test_setup_teardown(whole_in_its_row, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ended_before_it_began, set_up, tear_down),
		cmocka_unit_test_setup_teardown(known_key, set_up, tear_down),
		cmocka_unit_test_setup_teardown(half_stored, set_up, tear_down),
		cmocka_unit_test_setup_teardown(at_a_stop, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
