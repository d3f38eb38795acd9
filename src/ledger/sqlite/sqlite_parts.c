/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long results are stored in parts. Each is written, read and deleted in a turn of its own, so that
 * other calls do not wait for a whole result. The first part is in the result's own row, which is
 * written last: a result exists completely, or not at all.
 */
#include <errno.h>

#include "ledger/sqlite/sqlite_executions.h"

static int64_t key_of(int64_t n, unsigned part)
{
	return n * (int64_t)STORE_PARTS_MAX + part;
}

int sqlite_part_put(struct store *store, int64_t n, unsigned part, const void *data, size_t size,
		    struct brig_error *error)
{
	return sqlite_write(store, error, SQL_PART_PUT, "ib", key_of(n, part), data, size);
}

int sqlite_parts_drop(struct store *store, int64_t n, unsigned most, struct brig_error *error)
{
	int r = sqlite_write(store, error, SQL_PARTS_DROP, "iii", key_of(n, 0),
			     key_of(n, STORE_PARTS_MAX - 1), (int64_t)most);

	return r < 0 ? r : (int)sqlite3_changes64(sqlite_of(store)->db);
}

int sqlite_more_read(struct store *store, struct store_more *more, struct buf *out,
		     struct brig_error *error)
{
	sqlite3_stmt *row = sqlite_of(store)->statements[SQL_PART_GET];
	int rc = sqlite_run(store, SQL_PART_GET, "i", key_of(more->n, more->part));
	size_t size = rc == SQLITE_ROW ? (size_t)sqlite3_column_bytes(row, 0) : 0;
	bool fits = size > 0 && size <= more->left;

	if (fits) {
		buf_add(out, sqlite3_column_blob(row, 0), size);
	}
	int r = sqlite_result(store, rc, SQL_PART_GET, error);
	if (r < 0) {
		return r;
	}
	if (!fits) {
		return error_set(error, BRIG_E_SYSTEM, ESTALE,
				 "the result was deleted while it was read");
	}
	more->part++;
	more->left -= size;
	return more->left == 0;
}
