/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletes the front of the audit chain when it has been archived, or when it is older than the
 * operator wants. The rest begins at an anchor: a checkpoint, signed long ago, with the hash that
 * the first entry links to. So the rest can be verified by itself, and together with the archives
 * as one chain. A little at a time, because other calls wait.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ledger/chain_key.h"
#include "ledger/sqlite/sqlite_store.h"

#define ROWS_AT_ONCE 256

/* The last signed entry stays: the ledger continues from it when it starts. */
static bool may_go(const struct store *store, const struct chain_checkpoint *until)
{
	return until->sequence > store->now.anchor.sequence &&
	       until->sequence < store->now.checkpoint.sequence &&
	       chain_signed_by(store->key.public, until);
}

/* From here on all entries up to this checkpoint may be deleted; the chain itself records it. */
static int move_anchor(struct store *store, const struct chain_checkpoint *until, const char *kind,
		       struct brig_error *error)
{
	char line[CHAIN_LINE_MAX], facts[CHAIN_LINE_MAX], hash[CHAIN_HEX_SIZE];

	chain_line(until, line);
	chain_hex(until->hash, CHAIN_HASH_SIZE, hash);
	(void)snprintf(facts, sizeof(facts),
		       "{\"first\":%" PRIu64 ",\"hash\":\"%s\",\"last\":%" PRIu64 "}",
		       store->now.anchor.sequence + 1, hash, until->sequence);
	int r = sqlite_write(store, error, SQL_ANCHOR_PUT, "iit", (int64_t)until->sequence,
			     (int64_t)until->number, line);
	if (r < 0) {
		return r;
	}
	store->now.anchor = *until;
	return sqlite_append(store, kind, "", facts, error);
}

/*
 * brig audit archive has left a checkpoint: all entries up to it are in a file that was verified.
 */
static int take_archived(struct store *store, bool *taken, struct brig_error *error)
{
	char line[CHAIN_LINE_MAX];
	struct chain_checkpoint until;
	struct chain_head head = { 0 };
	long size = chain_file_read(sqlite_of(store)->dir, CHAIN_ARCHIVED_NAME, line, sizeof(line));

	if (size < 0) {
		return 0; /* not found */
	}
	*taken = true;
	if (!chain_line_parse(line, (size_t)size, &until) || !may_go(store, &until)) {
		return 0; /* already done, or not ours */
	}
	int r = sqlite_head_at(store, until.sequence, &head, error);
	if (r < 0 || memcmp(head.hash, until.hash, CHAIN_HASH_SIZE) != 0) {
		return r < 0 ? r : 0;
	}
	return move_anchor(store, &until, "ledger.archived", error);
}

/* The newest checkpoint that is old enough, among the oldest ones. */
static int take_old(struct store *store, struct brig_error *error)
{
	sqlite3_stmt *row = sqlite_of(store)->statements[SQL_CHECKPOINTS_OLD];
	uint64_t now = store_now_ms(store);
	struct chain_checkpoint until = { 0 }, next;

	if (!store->limits.audit_age_ms || store->limits.audit_age_ms > now) {
		return 0;
	}
	int rc = sqlite_run(store, SQL_CHECKPOINTS_OLD, "ii", (int64_t)store->now.anchor.number,
			    (int64_t)ROWS_AT_ONCE);
	for (; rc == SQLITE_ROW; rc = sqlite3_step(row)) {
		const char *line = (const char *)sqlite3_column_text(row, 0);
		if (!line || !chain_line_parse(line, strlen(line), &next) ||
		    next.time_ms > now - store->limits.audit_age_ms || !may_go(store, &next)) {
			break;
		}
		until = next;
	}
	int r = sqlite_result(store, rc, SQL_CHECKPOINTS_OLD, error);
	return r < 0 || !until.number ? r : move_anchor(store, &until, "ledger.dropped", error);
}

static int drop_rows(struct store *store, enum statement which, uint64_t until, bool *more,
		     struct brig_error *error)
{
	int r = sqlite_write(store, error, which, "ii", (int64_t)until, (int64_t)ROWS_AT_ONCE);

	*more = *more || (r == 0 && sqlite3_changes64(sqlite_of(store)->db) == ROWS_AT_ONCE);
	return r;
}

int sqlite_archive_sweep(struct store *store, bool *more, struct brig_error *error)
{
	const struct chain_checkpoint *anchor = &store->now.anchor;

	sqlite_of(store)->archived_taken = false;
	int r = take_archived(store, &sqlite_of(store)->archived_taken, error);
	if (r < 0) {
		return r;
	}
	r = take_old(store, error);
	if (r < 0 || !anchor->number) {
		return r;
	}
	r = drop_rows(store, SQL_AUDIT_DROP, anchor->sequence, more, error);
	return r < 0 ? r : drop_rows(store, SQL_CHECKPOINTS_DROP, anchor->number, more, error);
}

void sqlite_archive_done(struct store *store)
{
	if (sqlite_of(store)->archived_taken) {
		(void)unlinkat(sqlite_of(store)->dir, CHAIN_ARCHIVED_NAME, 0);
	}
	sqlite_of(store)->archived_taken = false;
}

int sqlite_anchor_read(struct store *store, struct brig_error *error)
{
	int rc = sqlite_run(store, SQL_ANCHOR_GET, "");
	bool good = true;

	if (rc == SQLITE_ROW) {
		sqlite3_stmt *row = sqlite_of(store)->statements[SQL_ANCHOR_GET];
		const char *line = (const char *)sqlite3_column_text(row, 0);
		good = line && chain_line_parse(line, strlen(line), &store->now.anchor);
	}
	int r = sqlite_result(store, rc, SQL_ANCHOR_GET, error);
	return r < 0 || good
		       ? r
		       : error_set(error, BRIG_E_SYSTEM, EBADMSG,
				   "the audit chain cannot be continued: its anchor is damaged");
}
