/* SPDX-License-Identifier: Apache-2.0 */
/* Results are kept for so long, and up to so many bytes. A little at a time: others wait.
 * The pages stay in the file, for what comes next: it is no larger than the limits make it. */
#include "ledger/store_executions.h"

#define RESULTS_AT_ONCE 64
#define BYTES_AT_ONCE   (4u << 20)
#define PARTS_AT_ONCE   16u
#define ROWS_AT_ONCE    256

struct doomed {
	int64_t n;
	uint64_t size;
};

/* Which of the oldest must go. */
static int choose(struct store *store, struct doomed *doomed, size_t *ret_count,
		  struct brig_error *error)
{
	sqlite3_stmt *row = store->statements[SQL_OLDEST];
	uint64_t now = store_time_ms(), total = store->now.result_bytes, bytes = 0;
	size_t count = 0;
	int rc = store_run(store, SQL_OLDEST, "i", (int64_t)RESULTS_AT_ONCE);

	for (; rc == SQLITE_ROW && bytes < BYTES_AT_ONCE; rc = sqlite3_step(row)) {
		uint64_t size = (uint64_t)sqlite3_column_int64(row, 1);
		uint64_t ended = (uint64_t)sqlite3_column_int64(row, 2);
		bool old = store->result_age_ms && ended + store->result_age_ms <= now;
		bool begun = sqlite3_column_int(row, 3); /* its parts have begun to go */

		if (old || begun || (store->result_total_max && total > store->result_total_max)) {
			doomed[count++] = (struct doomed){ sqlite3_column_int64(row, 0), size };
			total -= size < total ? size : total;
			bytes += size;
		}
	}
	*ret_count = count;
	return store_result(store, rc, SQL_OLDEST, error);
}

/* Its parts first, while it is empty for readers. 1: there are more of them. */
static int drop_parts(struct store *store, const struct doomed *one, struct brig_error *error)
{
	int gone = store_parts_drop(store, one->n, PARTS_AT_ONCE, error);
	if (gone <= 0) {
		return gone;
	}
	int rc = store_run(store, SQL_RESULT_EMPTY, "i", one->n);
	int r = store_result(store, rc, SQL_RESULT_EMPTY, error);
	return r < 0 ? r : gone == (int)PARTS_AT_ONCE;
}

static int drop(struct store *store, const struct doomed *doomed, size_t count,
		struct brig_error *error)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		r = drop_parts(store, &doomed[i], error);
		if (r != 0) {
			return r < 0 ? r : 0; /* the others have their turn later */
		}
		int rc = store_run(store, SQL_RESULT_DROP, "i", doomed[i].n);
		r = store_result(store, rc, SQL_RESULT_DROP, error);
		uint64_t have = store->now.result_bytes;
		store->now.result_bytes -= doomed[i].size < have ? doomed[i].size : have;
	}
	return r;
}

static int forget(struct store *store, bool *more, struct brig_error *error)
{
	if (!store->history_age_ms) {
		return 0;
	}
	int rc = store_run(store, SQL_FORGET, "ii", (int64_t)ROWS_AT_ONCE,
			   (int64_t)(store_time_ms() - store->history_age_ms));
	int r = store_result(store, rc, SQL_FORGET, error);
	if (r == 0) {
		uint64_t gone = (uint64_t)sqlite3_changes64(store->db);
		store->now.executions -= gone < store->now.executions ? gone : 0;
		*more = *more || gone == ROWS_AT_ONCE;
	}
	return r;
}

int store_sweep(struct store *store, struct brig_error *error)
{
	struct doomed doomed[RESULTS_AT_ONCE];
	size_t count = 0;
	bool more = false;
	int r = store_begin(store, error);

	if (r == 0) {
		r = choose(store, doomed, &count, error);
	}
	if (r == 0) {
		r = drop(store, doomed, count, error);
	}
	if (r == 0) {
		r = forget(store, &more, error);
	}
	if (r == 0) {
		r = store_request_sweep(store, &more, error);
	}
	if (r == 0) {
		r = store_session_sweep(store, &more, error);
	}
	if (r == 0) {
		r = store_archive_sweep(store, &more, error);
	}
	if (r < 0) {
		store_rollback(store);
		return r;
	}
	r = store_commit(store, error);
	if (r < 0) {
		return r;
	}
	store_archive_done(store);
	return count > 0 || more;
}
