/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: that they were opened, and why they are gone. The sessions themselves end with the
 * service; these records let it report so afterwards.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "ledger/sqlite/sqlite_store.h"
#include "ledger/store/timestamp.h"

#define ROWS_AT_ONCE 256

/* In the order of SESSION_COLUMNS. */
enum { C_ID, C_LANGUAGE, C_POLICY, C_IDLE, C_RUNS, C_CREATED, C_ENDED, C_REASON };

static int append(struct store *store, const char *kind, const char *tenant, struct buf *facts,
		  struct brig_error *error)
{
	return facts->failed ? error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory")
			     : sqlite_append(store, kind, tenant, facts->data, error);
}

int sqlite_session_opened(struct store *store, const struct ledger_text *texts, uint64_t idle_ms,
			  struct brig_error *error)
{
	_cleanup_(buf_done)
	struct buf facts = { 0 };
	struct json_out out = { .buf = &facts };
	int64_t idle = idle_ms > INT64_MAX ? INT64_MAX : (int64_t)idle_ms;
	int rc = sqlite_run(store, SQL_SESSION_PUT, "tttttii", texts[OPENED_ID].data,
			    texts[OPENED_TENANT].data, texts[OPENED_CALLER].data,
			    texts[OPENED_LANGUAGE].data, texts[OPENED_POLICY].data, idle,
			    (int64_t)store_now_ms(store));

	if ((rc & 0xff) == SQLITE_CONSTRAINT) {
		sqlite_done(store, SQL_SESSION_PUT);
		return error_set(error, BRIG_E_INPUT, EEXIST, "session %s already exists",
				 texts[OPENED_ID].data);
	}
	int r = sqlite_result(store, rc, SQL_SESSION_PUT, error);
	if (r < 0) {
		return r;
	}
	/* Sorted: that is the canonical form. */
	json_open(&out, NULL, '{');
	json_text(&out, "caller", texts[OPENED_CALLER].data);
	json_text(&out, "language", texts[OPENED_LANGUAGE].data);
	json_text(&out, "policy", texts[OPENED_POLICY].data);
	json_text(&out, "session", texts[OPENED_ID].data);
	json_close(&out, '}');
	return append(store, "session.opened", texts[OPENED_TENANT].data, &facts, error);
}

int sqlite_session_ended(struct store *store, const char *tenant, const char *id,
			 const char *reason, uint64_t runs, struct brig_error *error)
{
	_cleanup_(buf_done)
	struct buf facts = { 0 };
	struct json_out out = { .buf = &facts };
	int64_t count = runs > INT64_MAX ? INT64_MAX : (int64_t)runs;
	int r = sqlite_write(store, error, SQL_SESSION_END, "ititt", (int64_t)store_now_ms(store),
			     reason, count, tenant, id);

	if (r < 0) {
		return r;
	}
	if (sqlite3_changes64(sqlite_of(store)->db) == 0) {
		return error_set(error, BRIG_E_INPUT, ENOENT, "no session %s is open", id);
	}
	r = sqlite_write(store, error, SQL_SESSION_TRIM, "ti", tenant,
			 (int64_t)STORE_SESSIONS_A_TENANT);
	if (r < 0) {
		return r;
	}
	json_open(&out, NULL, '{');
	json_text(&out, "reason", reason);
	json_text(&out, "session", id);
	json_close(&out, '}');
	return append(store, "session.ended", tenant, &facts, error);
}

/* --- reading --------------------------------------------------------------------------------- */

static void add_session(struct json_out *out, sqlite3_stmt *row)
{
	uint64_t created = (uint64_t)sqlite3_column_int64(row, C_CREATED);
	uint64_t ended = (uint64_t)sqlite3_column_int64(row, C_ENDED);
	char time[TIMESTAMP_SIZE];

	json_open(out, NULL, '{');
	json_text(out, "id", (const char *)sqlite3_column_text(row, C_ID));
	json_text(out, "language", (const char *)sqlite3_column_text(row, C_LANGUAGE));
	json_text(out, "policy", (const char *)sqlite3_column_text(row, C_POLICY));
	json_text(out, "state", ended ? "gone" : "open");
	json_text(out, "created_at", timestamp_format(created, time));
	json_text(out, "expires_at", ended ? timestamp_format(ended, time) : NULL);
	json_u64(out, "idle_timeout_ms", (uint64_t)sqlite3_column_int64(row, C_IDLE));
	json_u64(out, "runs", (uint64_t)sqlite3_column_int64(row, C_RUNS));
	json_text(out, "reason", (const char *)sqlite3_column_text(row, C_REASON));
	json_close(out, '}');
}

int sqlite_session_get(struct store *store, const char *tenant, const char *id, struct buf *answer,
		       struct brig_error *error)
{
	struct json_out out = { .buf = answer };
	int rc = sqlite_run(store, SQL_SESSION_ONE, "tt", tenant, id);
	bool found = rc == SQLITE_ROW;

	if (found) {
		add_session(&out, sqlite_of(store)->statements[SQL_SESSION_ONE]);
	}
	int r = sqlite_result(store, rc, SQL_SESSION_ONE, error);
	return r == 0 && !found ? error_set(error, BRIG_E_INPUT, ENOENT, "session %s not found", id)
				: r;
}

int sqlite_session_list(struct store *store, const char *tenant, const char *before, unsigned limit,
			struct buf *answer, struct brig_error *error)
{
	struct json_out out = { .buf = answer };
	sqlite3_stmt *row = sqlite_of(store)->statements[SQL_SESSION_LIST];
	char last[27] = "";
	unsigned count = 0;

	limit = limit == 0 || limit > LEDGER_LIST_MAX ? LEDGER_LIST_MAX : limit;
	json_open(&out, NULL, '{');
	json_open(&out, "sessions", '[');
	/* One more than the limit shows whether there are more. '~' is above every id. */
	int rc = sqlite_run(store, SQL_SESSION_LIST, "tti", tenant, before ? before : "~",
			    (int64_t)limit + 1);
	for (; rc == SQLITE_ROW && count < limit; rc = sqlite3_step(row), count++) {
		const unsigned char *id = sqlite3_column_text(row, C_ID);
		add_session(&out, row);
		(void)snprintf(last, sizeof(last), "%s", id ? (const char *)id : "");
	}
	bool more = rc == SQLITE_ROW;
	json_close(&out, ']');
	json_text(&out, "next", more ? last : NULL);
	json_close(&out, '}');
	return sqlite_result(store, rc, SQL_SESSION_LIST, error);
}

/* --- after a start, and periodically --------------------------------------------------------- */

/* 1: found one. */
static int next_open(struct store *store, char tenant[129], char id[27], struct brig_error *error)
{
	sqlite3_stmt *row = sqlite_of(store)->statements[SQL_SESSION_OPEN];
	int rc = sqlite_run(store, SQL_SESSION_OPEN, "");
	bool found = rc == SQLITE_ROW;

	if (found) {
		(void)snprintf(tenant, 129, "%s", (const char *)sqlite3_column_text(row, 0));
		(void)snprintf(id, 27, "%s", (const char *)sqlite3_column_text(row, 1));
	}
	int r = sqlite_result(store, rc, SQL_SESSION_OPEN, error);
	return r < 0 ? r : found;
}

int sqlite_session_recover(struct store *store, struct brig_error *error)
{
	char tenant[129], id[27], reason[LEDGER_REASON_MAX], time[TIMESTAMP_SIZE];
	int r;

	(void)snprintf(reason, sizeof(reason), "lost: the service was restarted at %s",
		       timestamp_format(store_now_ms(store), time));
	while ((r = next_open(store, tenant, id, error)) == 1) {
		/* A session that cannot be ended would be found for ever: that is an error. */
		r = sqlite_session_ended(store, tenant, id, reason, 0, error);
		if (r < 0) {
			return r;
		}
	}
	return r;
}

int sqlite_session_sweep(struct store *store, bool *more, struct brig_error *error)
{
	if (!store->limits.history_age_ms) {
		return 0;
	}
	int r = sqlite_write(store, error, SQL_SESSION_FORGET, "ii", (int64_t)ROWS_AT_ONCE,
			     (int64_t)(store_now_ms(store) - store->limits.history_age_ms));
	*more = *more || (r == 0 && sqlite3_changes64(sqlite_of(store)->db) == ROWS_AT_ONCE);
	return r;
}
