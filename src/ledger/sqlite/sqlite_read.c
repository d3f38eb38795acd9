/* SPDX-License-Identifier: Apache-2.0 */
/* Reads executions from the ledger, as JSON. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "ledger/sqlite/sqlite_executions.h"
#include "ledger/store/timestamp.h"

#define PENDING_MAX       1000
#define PENDING_BYTES_MAX ((size_t)1 << 20) /* at least one; the client asks again for more */

/* In the order of EXECUTION_COLUMNS. */
enum {
	C_ID,
	C_STATE,
	C_STATUS,
	C_CREATED,
	C_STARTED,
	C_ENDED,
	C_LANGUAGE,
	C_POLICY,
	C_SESSION,
	C_KEPT,
	C_TENANT,
	C_DATA,
	C_SIZE,
	C_NUMBER
};

static const char *text_of(sqlite3_stmt *row, int column)
{
	return (const char *)sqlite3_column_text(row, column);
}

static void add_time(struct json_out *out, const char *key, uint64_t time_ms)
{
	char text[TIMESTAMP_SIZE];

	json_text(out, key, time_ms ? timestamp_format(time_ms, text) : NULL);
}

static void add_execution(struct json_out *out, const struct store *store, sqlite3_stmt *row)
{
	static const char *const states[] = { "queued", "running" };
	int state = sqlite3_column_int(row, C_STATE);
	uint64_t ended = (uint64_t)sqlite3_column_int64(row, C_ENDED);
	bool expires = sqlite3_column_int(row, C_KEPT) && store->limits.result_age_ms;

	json_text(out, "id", text_of(row, C_ID));
	json_text(out, "tenant", text_of(row, C_TENANT));
	json_text(out, "status", state == 0 || state == 1 ? states[state] : text_of(row, C_STATUS));
	add_time(out, "created_at", (uint64_t)sqlite3_column_int64(row, C_CREATED));
	add_time(out, "started_at", (uint64_t)sqlite3_column_int64(row, C_STARTED));
	add_time(out, "ended_at", ended);
	json_text(out, "language", text_of(row, C_LANGUAGE));
	json_text(out, "policy", text_of(row, C_POLICY));
	json_text(out, "session", text_of(row, C_SESSION));
	add_time(out, "expires_at", expires ? ended + store->limits.result_age_ms : 0);
}

/*
 * The blob is an outcome and its JSON, or, for failures and old rows, JSON only. All of it was
 * checked before it was stored; it has no NUL at its end. For a long one it is the beginning.
 */
struct stored_result {
	struct outcome outcome;
	const char *json; /* NULL: there is none */
	size_t size;      /* of the part that is here */
	struct store_more more;
};

static void read_long(sqlite3_stmt *row, const char *data, size_t size, uint64_t whole,
		      struct stored_result *ret)
{
	uint64_t json_size = whole - sizeof(ret->outcome);

	memcpy(&ret->outcome, data, sizeof(ret->outcome));
	if (ret->outcome.json_size == json_size) {
		ret->json = data + sizeof(ret->outcome);
		ret->size = size - sizeof(ret->outcome);
		ret->more = (struct store_more){ .n = sqlite3_column_int64(row, C_NUMBER),
						 .part = 1,
						 .left = whole - size };
		(void)strncat(ret->more.id, text_of(row, C_ID), sizeof(ret->more.id) - 1);
	}
}

static void read_result(sqlite3_stmt *row, struct stored_result *ret)
{
	const char *data = sqlite3_column_blob(row, C_DATA);
	size_t size = (size_t)sqlite3_column_bytes(row, C_DATA);
	uint64_t whole = (uint64_t)sqlite3_column_int64(row, C_SIZE);
	const char *json = data;

	*ret = (struct stored_result){ 0 };
	if (!data || size == 0) {
		return; /* no longer kept */
	}
	if (size < whole && size > sizeof(ret->outcome)) {
		read_long(row, data, size, whole, ret);
	} else if ((data[0] == '{' ? outcome_find(data, size, &ret->outcome)
				   : outcome_read(data, size, &ret->outcome, &json)) == 0) {
		ret->json = json;
		ret->size = (size_t)ret->outcome.json_size;
	}
	if (!ret->json) {
		ret->outcome = (struct outcome){ 0 };
	}
}

int sqlite_execution_get(struct store *store, const char *tenant, const char *id,
			 struct buf *answer, struct store_more *more, struct brig_error *error)
{
	struct json_out out = { .buf = answer };
	bool any = strcmp(tenant, LEDGER_ANY_TENANT) == 0;
	enum statement sql = any ? SQL_GET_ANY : SQL_GET;
	int rc = any ? sqlite_run(store, sql, "t", id) : sqlite_run(store, sql, "tt", tenant, id);
	bool found = rc == SQLITE_ROW;

	if (found) {
		struct stored_result result;

		read_result(sqlite_of(store)->statements[sql], &result);
		buf_add(answer, &result.outcome, sizeof(result.outcome));
		json_open(&out, NULL, '{');
		add_execution(&out, store, sqlite_of(store)->statements[sql]);
		json_raw(&out, "result", "");
		buf_add(answer, result.json ? result.json : "null", result.json ? result.size : 4);
		if (!result.more.n) {
			json_close(&out, '}');
		}
		*more = result.more;
	}
	int r = sqlite_result(store, rc, sql, error);
	if (r == 0 && !found) {
		r = error_set(error, BRIG_E_INPUT, ENOENT, "execution %s not found", id);
	}
	return r;
}

int sqlite_execution_list(struct store *store, const char *tenant, const char *before,
			  unsigned limit, struct buf *answer, struct brig_error *error)
{
	struct json_out out = { .buf = answer };
	bool any = strcmp(tenant, LEDGER_ANY_TENANT) == 0;
	enum statement sql = any ? SQL_LIST_ANY : SQL_LIST;
	sqlite3_stmt *row = sqlite_of(store)->statements[sql];
	char last[27] = "";
	unsigned count = 0;

	limit = limit == 0 || limit > LEDGER_LIST_MAX ? LEDGER_LIST_MAX : limit;
	json_open(&out, NULL, '{');
	json_open(&out, "executions", '[');
	/* One more than the limit shows whether there are more. '~' is above every id. */
	before = before ? before : "~";
	int rc = any ? sqlite_run(store, sql, "ti", before, (int64_t)limit + 1)
		     : sqlite_run(store, sql, "tti", tenant, before, (int64_t)limit + 1);
	for (; rc == SQLITE_ROW && count < limit; rc = sqlite3_step(row), count++) {
		json_open(&out, NULL, '{');
		add_execution(&out, store, row);
		json_close(&out, '}');
		(void)snprintf(last, sizeof(last), "%s", text_of(row, C_ID));
	}
	bool more = rc == SQLITE_ROW;
	json_close(&out, ']');
	json_text(&out, "next", more ? last : NULL);
	json_close(&out, '}');
	return sqlite_result(store, rc, sql, error);
}

/* In the order of SQL_PENDING, behind the texts. */
enum { P_CREATED = 9, P_REQUEST, P_LONG, P_SIZE };

/* The request of a row: as stored there, or assembled from its parts. */
static int read_request(struct store *store, sqlite3_stmt *row, struct buf *out,
			struct brig_error *error)
{
	int64_t m = sqlite3_column_int64(row, P_LONG);

	if (m) {
		return sqlite_request_read(store, m, (uint64_t)sqlite3_column_int64(row, P_SIZE),
					   out, error);
	}
	buf_add(out, sqlite3_column_blob(row, P_REQUEST),
		(size_t)sqlite3_column_bytes(row, P_REQUEST));
	return 0;
}

static void add_pending(struct json_out *out, sqlite3_stmt *row, const struct buf *request)
{
	static const char *const names[] = { "id",       "tenant", "caller",      "session",
					     "language", "policy", "code_sha256", "key" };

	json_open(out, NULL, '{');
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		json_text(out, names[i], text_of(row, 1 + (int)i));
	}
	add_time(out, "created_at", (uint64_t)sqlite3_column_int64(row, P_CREATED));
	json_base64(out, "request_base64", request->data ? request->data : "", request->size);
	json_close(out, '}');
}

int sqlite_execution_pending(struct store *store, struct buf *answer, struct brig_error *error)
{
	struct json_out out = { .buf = answer };
	sqlite3_stmt *row = sqlite_of(store)->statements[SQL_PENDING];
	size_t bytes = 0;
	int r = 0;

	json_open(&out, NULL, '{');
	json_open(&out, "pending", '[');
	int rc = sqlite_run(store, SQL_PENDING, "iii", sqlite_of(store)->pending_after,
			    sqlite_of(store)->pending_last, (int64_t)PENDING_MAX);
	while (r == 0 && rc == SQLITE_ROW && bytes < PENDING_BYTES_MAX) {
		_cleanup_(buf_done)
		struct buf request = { 0 };

		r = read_request(store, row, &request, error);
		add_pending(&out, row, &request);
		answer->failed |= request.failed;
		bytes += request.size;
		sqlite_of(store)->pending_after = sqlite3_column_int64(row, 0);
		rc = sqlite3_step(row);
	}
	json_close(&out, ']');
	json_close(&out, '}');
	int ended = sqlite_result(store, rc, SQL_PENDING, error);
	return r < 0 ? r : ended;
}

uint64_t sqlite_execution_pending_count(struct store *store)
{
	int rc = sqlite_run(store, SQL_PENDING_COUNT, "ii", sqlite_of(store)->pending_after,
			    sqlite_of(store)->pending_last);
	uint64_t count = rc == SQLITE_ROW
				 ? (uint64_t)sqlite3_column_int64(
					   sqlite_of(store)->statements[SQL_PENDING_COUNT], 0)
				 : 0;

	sqlite_done(store, SQL_PENDING_COUNT);
	return count;
}
