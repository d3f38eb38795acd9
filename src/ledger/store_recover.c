/* SPDX-License-Identifier: Apache-2.0 */
/* After a start: whatever was under way is lost, and gets a result that says so. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "ledger/store.h"

#define NO_HASH "@sha256:0000000000000000000000000000000000000000000000000000000000000000"

struct lost {
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

/* "name@sha256:digits", as results have it; a name alone gets a hash of zeros: not known. */
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

static char *lost_result(const struct lost *lost)
{
	char none[] = "";
	struct brig_result result = {
		.status = BRIG_LOST,
		.exit_code = -1,
		.stdout_data = none,
		.stderr_data = none,
		.cause = "lost",
		.remedy = "The service stopped while this was under way; nobody knows how far it "
			  "came. Run it again if that does no harm.",
		.operator_remedy = "See the service's log for why it stopped.",
		.provider = "native",
		.start = "cold",
	};

	memcpy(result.id, lost->id, sizeof(result.id));
	memcpy(result.language, lost->language, sizeof(result.language));
	policy_of(lost->policy, result.policy, sizeof(result.policy));
	return brig_result_json(&result);
}

/* 1: found one. */
static int next_lost(struct store *store, struct lost *ret, struct brig_error *error)
{
	sqlite3_stmt *row = store->statements[SQL_LOST];
	int rc = store_run(store, SQL_LOST, "i", ret->n);
	bool found = rc == SQLITE_ROW;

	if (found) {
		keep(ret->id, sizeof(ret->id), sqlite3_column_text(row, 0));
		keep(ret->language, sizeof(ret->language), sqlite3_column_text(row, 1));
		keep(ret->policy, sizeof(ret->policy), sqlite3_column_text(row, 2));
		ret->n = sqlite3_column_int64(row, 3);
	}
	int r = store_result(store, rc, SQL_LOST, error);
	return r < 0 ? r : found;
}

int store_recover(struct store *store, uint64_t *ret_lost, struct brig_error *error)
{
	struct lost lost = { 0 };
	uint64_t count = 0;
	int r = store_begin(store, error);

	if (r < 0) {
		return r;
	}
	while ((r = next_lost(store, &lost, error)) == 1) {
		_cleanup_free_ char *result = lost_result(&lost);
		r = result ? store_execution_ended(store, lost.id, result, strlen(result), error)
			   : error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
		if (r < 0) {
			break;
		}
		count++;
	}
	if (r == 0) {
		r = store_session_recover(store, error);
	}
	if (r < 0) {
		store_rollback(store);
		return r;
	}
	*ret_lost = count;
	return store_commit(store, error);
}
