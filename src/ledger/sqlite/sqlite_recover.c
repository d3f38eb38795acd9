/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions that end without a result of their own, and get one that explains it: after a start,
 * those that were running are lost; those that are still queued can be dropped.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "ledger/sqlite/sqlite_executions.h"

#define DROPPED_AT_ONCE 64u
#define NO_HASH         "@sha256:0000000000000000000000000000000000000000000000000000000000000000"

struct unfinished_execution {
	char id[27];
	char language[32];
	char policy[160];
	int64_t n;
};

static void keep(char *out, size_t size, const unsigned char *text)
{
	out[0] = '\0';
	(void)strncat(out, text ? (const char *)text : "", size - 1);
}

/* "name@sha256:digits", as in results; a name alone gets a hash of zeros: unknown. */
static void policy_of(const char *known, char *out, size_t size)
{
	char name[65] = "";
	const char *at = strchr(known, '@');
	size_t length = at ? (size_t)(at - known) : strlen(known);
	bool whole = at && strncmp(at, NO_HASH, 8) == 0 && strlen(at) == strlen(NO_HASH) &&
		     strspn(at + 8, "0123456789abcdef") == 64;

	if (length < sizeof(name)) {
		memcpy(name, known, length);
		name[length] = '\0';
	}
	if (!id_name_valid(name)) {
		strcpy(name, "unknown");
		whole = false;
	}
	(void)snprintf(out, size, "%s%s", name, whole ? at : NO_HASH);
}

/* The reason why it has no result of its own. */
struct unfinished_reason {
	enum brig_status status;
	const char *cause, *remedy, *operator_remedy;
};

static const struct unfinished_reason was_lost = {
	.status = BRIG_LOST,
	.cause = "lost",
	.remedy = "The service stopped while this was under way; it is not known how far it came. "
		  "Run it again if that does no harm.",
	.operator_remedy = "See the service's log for why it stopped.",
};

static const struct unfinished_reason was_dropped = {
	.status = BRIG_CANCELLED,
	.cause = "cancelled",
	.remedy = "The operator dropped the queue before this was run. Send the request again.",
	.operator_remedy = "The queue was held because the service died several times in a row.",
};

static char *result_of(const struct unfinished_execution *lost, const struct unfinished_reason *why)
{
	char none[] = "";
	struct brig_result result = {
		.status = why->status,
		.exit_code = -1,
		.stdout_data = none,
		.stderr_data = none,
		.provider = "unknown", /* the ledger is told with the result */
		.start = "cold",
	};

	(void)snprintf(result.cause, sizeof(result.cause), "%s", why->cause);
	(void)snprintf(result.remedy, sizeof(result.remedy), "%s", why->remedy);
	(void)snprintf(result.operator_remedy, sizeof(result.operator_remedy), "%s",
		       why->operator_remedy);
	memcpy(result.id, lost->id, sizeof(result.id));
	memcpy(result.language, lost->language, sizeof(result.language));
	policy_of(lost->policy, result.policy, sizeof(result.policy));
	return brig_result_json(&result);
}

static int end_unfinished(struct store *store, const struct unfinished_execution *lost,
			  const struct unfinished_reason *why, struct brig_error *error)
{
	_cleanup_free_ char *text = result_of(lost, why);
	_cleanup_(ended_result_done)
	struct ended_result result = { 0 };

	if (!text) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	int r = ended_result_read(&result, lost->id, text, strlen(text), error);
	return r < 0 ? r : sqlite_execution_ended(store, lost->id, &result, error);
}

/* 1: found one. `last`: the last one to consider. */
static int next_of(struct store *store, enum statement which, int64_t last,
		   struct unfinished_execution *ret, struct brig_error *error)
{
	sqlite3_stmt *row = sqlite_of(store)->statements[which];
	int rc = which == SQL_LOST ? sqlite_run(store, which, "i", ret->n)
				   : sqlite_run(store, which, "ii", ret->n, last);
	bool found = rc == SQLITE_ROW;

	if (found) {
		keep(ret->id, sizeof(ret->id), sqlite3_column_text(row, 0));
		keep(ret->language, sizeof(ret->language), sqlite3_column_text(row, 1));
		keep(ret->policy, sizeof(ret->policy), sqlite3_column_text(row, 2));
		ret->n = sqlite3_column_int64(row, 3);
	}
	int r = sqlite_result(store, rc, which, error);
	return r < 0 ? r : found;
}

int sqlite_execution_drop(struct store *store, unsigned *ret_dropped, struct brig_error *error)
{
	struct unfinished_execution lost = { .n = sqlite_of(store)->pending_after };
	unsigned count = 0;
	int r = 1;

	while (r == 1 && count < DROPPED_AT_ONCE) {
		r = next_of(store, SQL_PENDING_NEXT, sqlite_of(store)->pending_last, &lost, error);
		if (r == 1) {
			count++;
			r = end_unfinished(store, &lost, &was_dropped, error) < 0 ? -EIO : 1;
		}
	}
	*ret_dropped = count;
	return r < 0 ? r : 0;
}

static int end_lost(struct store *store, uint64_t *count, struct brig_error *error)
{
	struct unfinished_execution lost = { 0 };
	int r;

	while ((r = next_of(store, SQL_LOST, 0, &lost, error)) == 1) {
		/* A long result without its last part is of no use. */
		r = sqlite_parts_drop(store, lost.n, STORE_PARTS_MAX, error);
		r = r < 0 ? r : end_unfinished(store, &lost, &was_lost, error);
		if (r < 0) {
			return r;
		}
		++*count;
	}
	return r;
}

static int recover_all(struct store *store, uint64_t *count, struct brig_error *error)
{
	int r = end_lost(store, count, error);

	if (r < 0) {
		return r;
	}
	r = sqlite_request_recover(store, error);
	return r < 0 ? r : sqlite_session_recover(store, error);
}

int sqlite_recover(struct store *store, uint64_t *ret_lost, struct brig_error *error)
{
	uint64_t count = 0;
	int r = sqlite_begin(store, error);

	if (r < 0) {
		return r;
	}
	r = recover_all(store, &count, error);
	if (r < 0) {
		sqlite_rollback(store);
		return r;
	}
	*ret_lost = count;
	return sqlite_commit(store, error);
}
