/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of queued executions. A long one is stored in parts, like a long result: each is written
 * and deleted in a turn of its own. They are stored before their execution, so they have a number
 * of their own, m.
 */
#include "ledger/sqlite/sqlite_executions.h"

#define PARTS_AT_ONCE 16u

static int64_t key_of(int64_t m, unsigned part)
{
	return m * (int64_t)STORE_PARTS_MAX + part;
}

static int open_long(struct store *store, struct store_request *request, struct brig_error *error)
{
	int r = sqlite_write(store, error, SQL_LONG_PUT, "i", (int64_t)request->size);

	if (r < 0) {
		return r;
	}
	request->m = (int64_t)sqlite3_last_insert_rowid(sqlite_of(store)->db);
	return 0;
}

static int put_part(struct store *store, const struct store_request *request, size_t at,
		    struct brig_error *error)
{
	size_t left = request->size - at;

	return sqlite_write(store, error, SQL_REQUEST_PART_PUT, "ib",
			    key_of(request->m, request->part), request->data + at,
			    left < STORE_PART_BYTES ? left : STORE_PART_BYTES);
}

int sqlite_request_step(struct store *store, struct store_request *request,
			struct brig_error *error)
{
	size_t at = request->part * STORE_PART_BYTES;
	bool first = request->m == 0;

	if (at >= request->size) {
		return 1;
	}
	int r = first ? open_long(store, request, error) : 0;
	r = r < 0 ? r : put_part(store, request, at, error);
	if (r < 0) {
		request->m = first ? 0 : request->m; /* it was rolled back */
		return r;
	}
	request->part++;
	return 0;
}

static int mark_gone(struct store *store, enum statement sql, int64_t number,
		     struct brig_error *error)
{
	int r = sqlite_write(store, error, sql, "i", number);

	if (r < 0) {
		return r;
	}
	store->has_gone |= sqlite3_changes64(sqlite_of(store)->db) > 0;
	return 0;
}

int sqlite_request_undo(struct store *store, const struct store_request *request,
			struct brig_error *error)
{
	return request->m ? mark_gone(store, SQL_LONG_UNDO, request->m, error) : 0;
}

int sqlite_request_put(struct store *store, int64_t n, const struct ledger_text *text,
		       const struct store_request *request, struct brig_error *error)
{
	int r = sqlite_write(store, error, SQL_REQUEST_PUT, "ib", n, request ? "" : text->data,
			     request ? (size_t)0 : text->size);

	if (r < 0 || !request) {
		return r;
	}
	return sqlite_write(store, error, SQL_LONG_TAKEN, "ii", n, request->m);
}

int sqlite_request_drop(struct store *store, int64_t n, struct brig_error *error)
{
	int r = sqlite_write(store, error, SQL_REQUEST_DROP, "i", n);

	if (r < 0 || sqlite3_changes64(sqlite_of(store)->db) == 0) {
		return r;
	}
	r = mark_gone(store, SQL_LONG_DROP, n, error);
	return r < 0 ? r : 1;
}

int sqlite_request_read(struct store *store, int64_t m, uint64_t size, struct buf *out,
			struct brig_error *error)
{
	sqlite3_stmt *row = sqlite_of(store)->statements[SQL_REQUEST_PART_GET];
	size_t got = 1;
	int r = 0;

	/* A request that lacks a part is invalid, and is rejected as such: others are not. */
	for (unsigned part = 0; r == 0 && got > 0 && out->size < size; part++) {
		int rc = sqlite_run(store, SQL_REQUEST_PART_GET, "i", key_of(m, part));
		got = rc == SQLITE_ROW ? (size_t)sqlite3_column_bytes(row, 0) : 0;

		if (got > 0) {
			buf_add(out, sqlite3_column_blob(row, 0), got);
		}
		r = sqlite_result(store, rc, SQL_REQUEST_PART_GET, error);
	}
	return r;
}

int sqlite_request_recover(struct store *store, struct brig_error *error)
{
	store->has_gone = true; /* perhaps from before */
	return sqlite_write(store, error, SQL_LONG_LOST, "");
}

/* The first one to delete; 0: none. */
static int find_gone(struct store *store, int64_t *ret, struct brig_error *error)
{
	int rc = sqlite_run(store, SQL_LONG_GONE, "");

	*ret = rc == SQLITE_ROW
		       ? sqlite3_column_int64(sqlite_of(store)->statements[SQL_LONG_GONE], 0)
		       : 0;
	return sqlite_result(store, rc, SQL_LONG_GONE, error);
}

int sqlite_request_sweep(struct store *store, bool *more, struct brig_error *error)
{
	int64_t m = 0;
	int r = store->has_gone ? find_gone(store, &m, error) : 0;

	store->has_gone = m != 0 || r < 0;
	if (m == 0) {
		return r;
	}
	*more = true;
	r = sqlite_write(store, error, SQL_REQUEST_PARTS_DROP, "iii", key_of(m, 0),
			 key_of(m, STORE_PARTS_MAX - 1), (int64_t)PARTS_AT_ONCE);
	if (r < 0 || sqlite3_changes64(sqlite_of(store)->db) >= PARTS_AT_ONCE) {
		return r;
	}
	return sqlite_write(store, error, SQL_LONG_FORGET, "i", m);
}
