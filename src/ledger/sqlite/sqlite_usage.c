/* SPDX-License-Identifier: Apache-2.0 */
/* The processor time of callers with a daily limit: stored, so that a restart does not reset it. */
#include "base/json/json_out.h"
#include "ledger/sqlite/sqlite_store.h"

static int64_t bounded(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

int sqlite_usage_put(struct store *store, const char *caller, uint64_t day, uint64_t cpu_ns,
		     struct brig_error *error)
{
	return sqlite_write(store, error, SQL_USAGE_PUT, "tii", caller, bounded(day),
			    bounded(cpu_ns));
}

int sqlite_usage_list(struct store *store, uint64_t day, struct buf *answer,
		      struct brig_error *error)
{
	struct json_out out = { .buf = answer };
	sqlite3_stmt *row = sqlite_of(store)->statements[SQL_USAGE_LIST];
	int r = sqlite_write(store, error, SQL_USAGE_FORGET, "i", bounded(day));

	if (r < 0) {
		return r;
	}
	json_open(&out, NULL, '{');
	json_open(&out, "used", '[');
	int rc = sqlite_run(store, SQL_USAGE_LIST, "ii", bounded(day), (int64_t)LEDGER_USAGE_MAX);
	for (; rc == SQLITE_ROW; rc = sqlite3_step(row)) {
		json_open(&out, NULL, '{');
		json_text(&out, "caller", (const char *)sqlite3_column_text(row, 0));
		json_u64(&out, "cpu_ns", (uint64_t)sqlite3_column_int64(row, 1));
		json_close(&out, '}');
	}
	json_close(&out, ']');
	json_close(&out, '}');
	return sqlite_result(store, rc, SQL_USAGE_LIST, error);
}
