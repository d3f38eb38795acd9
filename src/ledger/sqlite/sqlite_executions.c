/* SPDX-License-Identifier: Apache-2.0 */
/* Executions as they are queued and started. Each step is also an entry of the audit chain. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "ledger/sqlite/sqlite_executions.h"
#include "ledger/store/json_facts.h"

/* 1: the key is known, and the answer names its execution; 0: it is new. */
static int find_key(struct store *store, const struct ledger_text *texts, struct buf *answer,
		    struct brig_error *error)
{
	sqlite3_stmt *row = sqlite_of(store)->statements[SQL_BY_KEY];
	const char *digest = texts[BEGIN_DIGEST].data;

	if (!texts[BEGIN_KEY].data) {
		return 0;
	}
	int rc = sqlite_run(store, SQL_BY_KEY, "tt", texts[BEGIN_TENANT].data,
			    texts[BEGIN_KEY].data);
	bool known = rc == SQLITE_ROW;
	if (known) {
		struct json_out out = { .buf = answer };
		const char *old = (const char *)sqlite3_column_text(row, 1);

		json_open(&out, NULL, '{');
		json_text(&out, "id", (const char *)sqlite3_column_text(row, 0));
		json_bool(&out, "same", strcmp(old ? old : "", digest ? digest : "") == 0);
		json_close(&out, '}');
	}
	int r = sqlite_result(store, rc, SQL_BY_KEY, error);
	return r < 0 ? r : known;
}

static int audit_begin(struct store *store, const struct ledger_text *texts, bool queued,
		       struct brig_error *error)
{
	/* Sorted: that is the canonical form. */
	static const struct {
		const char *name;
		enum begin_field field;
	} facts[] = {
		{ "caller", BEGIN_CALLER }, { "code_sha256", BEGIN_CODE },
		{ "execution", BEGIN_ID },  { "language", BEGIN_LANGUAGE },
		{ "policy", BEGIN_POLICY },
	};
	_cleanup_(buf_done)
	struct buf text = { 0 };
	struct json_out out = { .buf = &text };

	json_open(&out, NULL, '{');
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		json_text(&out, facts[i].name, texts[facts[i].field].data);
	}
	json_bool(&out, "queued", queued);
	json_text(&out, "session", texts[BEGIN_SESSION].data);
	json_close(&out, '}');
	return text.failed ? error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory")
			   : sqlite_append(store, "execution.accepted", texts[BEGIN_TENANT].data,
					   text.data, error);
}

static int insert(struct store *store, const struct ledger_text *texts, bool queued,
		  struct brig_error *error)
{
	int64_t now = (int64_t)store_now_ms(store);
	int rc = sqlite_run(store, SQL_INSERT, "tttttttttiii", texts[BEGIN_ID].data,
			    texts[BEGIN_TENANT].data, texts[BEGIN_CALLER].data,
			    texts[BEGIN_SESSION].data, texts[BEGIN_LANGUAGE].data,
			    texts[BEGIN_POLICY].data, texts[BEGIN_CODE].data, texts[BEGIN_KEY].data,
			    texts[BEGIN_DIGEST].data, (int64_t)(queued ? QUEUED : RUNNING), now,
			    queued ? (int64_t)0 : now);

	if ((rc & 0xff) == SQLITE_CONSTRAINT) {
		sqlite_done(store, SQL_INSERT);
		return error_set(error, BRIG_E_INPUT, EEXIST, "execution %s already exists",
				 texts[BEGIN_ID].data);
	}
	return sqlite_result(store, rc, SQL_INSERT, error);
}

int sqlite_execution_begin(struct store *store, const struct ledger_text *texts, bool queued,
			   const struct store_request *request, struct buf *answer,
			   struct brig_error *error)
{
	const struct ledger_text *text = &texts[BEGIN_REQUEST];
	int r = find_key(store, texts, answer, error);

	if (r != 0) {
		return r < 0 ? r : 0;
	}
	r = insert(store, texts, queued, error);
	if (r < 0) {
		return r;
	}
	/*
	 * An execution that runs now is lost if the service dies: its request would be of no use.
	 */
	if (queued && text->data) {
		r = sqlite_request_put(store,
				       (int64_t)sqlite3_last_insert_rowid(sqlite_of(store)->db),
				       text, request, error);
	}
	if (r < 0) {
		return r;
	}
	if (texts[BEGIN_SESSION].data) {
		r = sqlite_write(store, error, SQL_SESSION_RUN, "tt", texts[BEGIN_TENANT].data,
				 texts[BEGIN_SESSION].data);
	}
	if (r < 0) {
		return r;
	}
	r = audit_begin(store, texts, queued, error);
	if (r < 0) {
		return r;
	}
	store->now.executions++;
	buf_adds(answer, "{}");
	return 0;
}

/* NULL becomes "": none of them is empty when it is given. */
static void keep(sqlite3_stmt *row, int column, char *out, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	out[0] = '\0';
	(void)strncat(out, text ? text : "", size - 1);
}

int execution_find_open(struct store *store, const char *id, enum execution_state before,
			struct open_execution *ret, struct brig_error *error)
{
	sqlite3_stmt *row = sqlite_of(store)->statements[SQL_OPEN_ONE];
	int rc = sqlite_run(store, SQL_OPEN_ONE, "t", id);
	bool found = rc == SQLITE_ROW;

	if (found) {
		ret->n = sqlite3_column_int64(row, 0);
		ret->state = sqlite3_column_int64(row, 1);
		keep(row, 2, ret->tenant, sizeof(ret->tenant));
		keep(row, 3, ret->caller, sizeof(ret->caller));
		keep(row, 4, ret->session, sizeof(ret->session));
		keep(row, 5, ret->language, sizeof(ret->language));
		keep(row, 6, ret->policy, sizeof(ret->policy));
		keep(row, 7, ret->code, sizeof(ret->code));
	}
	int r = sqlite_result(store, rc, SQL_OPEN_ONE, error);
	if (r < 0) {
		return r;
	}
	if (!found) {
		return error_set(error, BRIG_E_INPUT, ENOENT, "execution %s not found", id);
	}
	if (ret->state > (int64_t)before) {
		return error_set(error, BRIG_E_INPUT, EALREADY, "execution %s has already %s", id,
				 ret->state == ENDED ? "ended" : "begun");
	}
	return 0;
}

int sqlite_execution_started(struct store *store, const char *id, struct brig_error *error)
{
	struct open_execution one = { 0 };
	int r = execution_find_open(store, id, QUEUED, &one, error);

	if (r < 0) {
		return r;
	}
	r = sqlite_write(store, error, SQL_START, "ii", (int64_t)store_now_ms(store), one.n);
	if (r < 0) {
		return r;
	}
	/* It contains the code, and is not run a second time. */
	r = sqlite_request_drop(store, one.n, error);
	return r < 0 ? r : 0;
}
