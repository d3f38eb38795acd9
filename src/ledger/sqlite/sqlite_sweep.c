/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletes results that are too old, or exceed the total size: then those of the tenant with the
 * most bytes first. A little at a time, because other calls wait. The pages stay in the file, for
 * new data: it does not outgrow the limits.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "ledger/sqlite/sqlite_executions.h"

#define RESULTS_AT_ONCE 64
#define BYTES_AT_ONCE   (4u << 20)
#define PARTS_AT_ONCE   16u
#define ROWS_AT_ONCE    256

struct old_result {
	int64_t n;
	uint64_t size;
};

struct sweep_choice {
	struct old_result list[RESULTS_AT_ONCE];
	size_t count;
	uint64_t bytes;
};

static void add(struct sweep_choice *choice, sqlite3_stmt *row)
{
	uint64_t size = (uint64_t)sqlite3_column_int64(row, 1);

	choice->list[choice->count++] = (struct old_result){ sqlite3_column_int64(row, 0), size };
	choice->bytes += size;
}

/* A result whose deletion has begun is deleted completely. */
static int choose_half_gone(struct store *store, struct sweep_choice *choice,
			    struct brig_error *error)
{
	sqlite3_stmt *row = sqlite_of(store)->statements[SQL_HALF_GONE];
	int rc = sqlite_run(store, SQL_HALF_GONE, "i", (int64_t)RESULTS_AT_ONCE);

	for (; rc == SQLITE_ROW && choice->bytes < BYTES_AT_ONCE; rc = sqlite3_step(row)) {
		add(choice, row);
	}
	return sqlite_result(store, rc, SQL_HALF_GONE, error);
}

static int choose_old(struct store *store, struct sweep_choice *choice, struct brig_error *error)
{
	sqlite3_stmt *row = sqlite_of(store)->statements[SQL_OLDEST];
	uint64_t now = store_now_ms(store);
	int rc = sqlite_run(store, SQL_OLDEST, "i", (int64_t)RESULTS_AT_ONCE);

	for (; rc == SQLITE_ROW && choice->bytes < BYTES_AT_ONCE; rc = sqlite3_step(row)) {
		uint64_t ended = (uint64_t)sqlite3_column_int64(row, 2);

		if (store->limits.result_age_ms && ended + store->limits.result_age_ms <= now) {
			add(choice, row);
		}
	}
	return sqlite_result(store, rc, SQL_OLDEST, error);
}

struct largest {
	char tenant[129];
	uint64_t bytes;
	uint64_t next; /* of the second largest */
};

static int find_largest(struct store *store, struct largest *ret, struct brig_error *error)
{
	sqlite3_stmt *row = sqlite_of(store)->statements[SQL_LARGEST];
	int rc = sqlite_run(store, SQL_LARGEST, "");

	if (rc == SQLITE_ROW) {
		const char *tenant = (const char *)sqlite3_column_text(row, 0);
		(void)snprintf(ret->tenant, sizeof(ret->tenant), "%s", tenant ? tenant : "");
		ret->bytes = (uint64_t)sqlite3_column_int64(row, 1);
		rc = sqlite3_step(row);
	}
	if (rc == SQLITE_ROW) {
		ret->next = (uint64_t)sqlite3_column_int64(row, 1);
		rc = sqlite3_step(row);
	}
	return sqlite_result(store, rc, SQL_LARGEST, error);
}

/*
 * The total is too large: the oldest results of the tenant with the most bytes are deleted, until
 * another tenant has the most. So a tenant that fills the ledger loses its own results.
 */
static int choose_of_largest(struct store *store, struct sweep_choice *choice,
			     struct brig_error *error)
{
	sqlite3_stmt *row = sqlite_of(store)->statements[SQL_OLDEST_OF];
	uint64_t total = store->now.result_bytes;
	struct largest largest = { 0 };

	if (!store->limits.result_total_max || total <= store->limits.result_total_max) {
		return 0;
	}
	int r = find_largest(store, &largest, error);
	if (r < 0) {
		return r;
	}
	uint64_t over = total - store->limits.result_total_max;
	int rc = sqlite_run(store, SQL_OLDEST_OF, "ti", largest.tenant, (int64_t)RESULTS_AT_ONCE);
	for (; rc == SQLITE_ROW && choice->bytes < BYTES_AT_ONCE && choice->bytes < over &&
	       (choice->count == 0 || choice->bytes + largest.next <= largest.bytes);
	     rc = sqlite3_step(row)) {
		add(choice, row);
	}
	return sqlite_result(store, rc, SQL_OLDEST_OF, error);
}

/* Chooses results to delete: of one kind at a time, the other kinds later. */
static int choose(struct store *store, struct sweep_choice *choice, struct brig_error *error)
{
	static int (*const kinds[])(struct store * store, struct sweep_choice * choice,
				    struct brig_error * error) = {
		choose_half_gone,
		choose_old,
		choose_of_largest,
	};
	int r = 0;

	for (size_t i = 0; r == 0 && choice->count == 0 && i < ARRAY_SIZE(kinds); i++) {
		r = kinds[i](store, choice, error);
	}
	return r;
}

/* Its parts first, while readers see it as empty. 1: there are more of them. */
static int drop_parts(struct store *store, const struct old_result *one, struct brig_error *error)
{
	int gone = sqlite_parts_drop(store, one->n, PARTS_AT_ONCE, error);
	if (gone <= 0) {
		return gone;
	}
	int r = sqlite_write(store, error, SQL_RESULT_EMPTY, "i", one->n);
	return r < 0 ? r : gone == (int)PARTS_AT_ONCE;
}

static int drop(struct store *store, const struct sweep_choice *choice, struct brig_error *error)
{
	const struct old_result *old = choice->list;

	for (size_t i = 0; i < choice->count; i++) {
		int r = drop_parts(store, &old[i], error);
		if (r != 0) {
			return r < 0 ? r : 0; /* the others are deleted later */
		}
		r = sqlite_write(store, error, SQL_RESULT_DROP, "i", old[i].n);
		if (r < 0) {
			return r;
		}
		uint64_t have = store->now.result_bytes;
		store->now.result_bytes -= old[i].size < have ? old[i].size : have;
	}
	return 0;
}

static int forget(struct store *store, bool *more, struct brig_error *error)
{
	if (!store->limits.history_age_ms) {
		return 0;
	}
	int r = sqlite_write(store, error, SQL_FORGET, "ii", (int64_t)ROWS_AT_ONCE,
			     (int64_t)(store_now_ms(store) - store->limits.history_age_ms));
	if (r < 0) {
		return r;
	}
	uint64_t gone = (uint64_t)sqlite3_changes64(sqlite_of(store)->db);
	store->now.executions -= gone < store->now.executions ? gone : 0;
	*more = *more || gone == ROWS_AT_ONCE;
	return 0;
}

static int sweep_results(struct store *store, bool *more, struct brig_error *error)
{
	struct sweep_choice choice = { 0 };
	int r = choose(store, &choice, error);

	if (r < 0) {
		return r;
	}
	*more = *more || choice.count > 0;
	return drop(store, &choice, error);
}

/* A little of each kind, within a transaction. */
static int sweep_all(struct store *store, bool *more, struct brig_error *error)
{
	static int (*const kinds[])(struct store * store, bool *more, struct brig_error *error) = {
		sweep_results,        forget, sqlite_request_sweep, sqlite_session_sweep,
		sqlite_archive_sweep,
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		int r = kinds[i](store, more, error);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

int sqlite_sweep(struct store *store, struct brig_error *error)
{
	bool more = false;
	int r = sqlite_begin(store, error);

	if (r < 0) {
		return r;
	}
	r = sweep_all(store, &more, error);
	if (r < 0) {
		sqlite_rollback(store);
		return r;
	}
	r = sqlite_commit(store, error);
	if (r < 0) {
		return r;
	}
	sqlite_archive_done(store);
	return more;
}
