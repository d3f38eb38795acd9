/* SPDX-License-Identifier: Apache-2.0 */
/* The audit chain in the database: appending to it, signing it, continuing it after a start. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "ledger/chain_key.h"
#include "ledger/sqlite/sqlite_store.h"
#include "ledger/store/json_facts.h"

int sqlite_append(struct store *store, const char *kind, const char *tenant, const char *facts,
		  struct brig_error *error)
{
	struct chain_entry entry = {
		.sequence = store->now.head.sequence + 1,
		.time_ms = store_now_ms(store),
		.kind = kind,
		.kind_size = strlen(kind),
		.tenant = tenant,
		.tenant_size = strlen(tenant),
		.facts = facts,
		.facts_size = strlen(facts),
	};
	struct chain_head next = { .sequence = entry.sequence };

	chain_hash(&store->now.head, &entry, next.hash);
	int r = sqlite_write(store, error, SQL_APPEND, "iitttb", (int64_t)entry.sequence,
			     (int64_t)entry.time_ms, kind, tenant, facts, next.hash,
			     (size_t)CHAIN_HASH_SIZE);
	if (r < 0) {
		return r;
	}
	store->now.head = next;
	return 0;
}

int sqlite_audit(struct store *store, const char *kind, const char *tenant, const char *facts,
		 size_t facts_size, struct brig_error *error)
{
	json_t *object = NULL;

	if (!facts) {
		return sqlite_append(store, kind, tenant ? tenant : "", "{}", error);
	}
	int r = json_facts_load(facts, facts_size, &object);
	if (r < 0) {
		return error_set(error, BRIG_E_INPUT, -r, "audit facts must be a JSON object");
	}
	_cleanup_free_ char *text = json_canonical(object);
	json_decref(object);
	return text ? sqlite_append(store, kind, tenant ? tenant : "", text, error)
		    : error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
}

static int put_line(struct store *store, const struct chain_checkpoint *checkpoint,
		    struct brig_error *error)
{
	char line[CHAIN_LINE_MAX];

	chain_line(checkpoint, line);
	int r = sqlite_write(store, error, SQL_CHECKPOINT_PUT, "it", (int64_t)checkpoint->number,
			     line);
	/* Progress is noted here because this is called neither too often nor too rarely. */
	return r < 0 ? r : sqlite_write(store, error, SQL_PROGRESS, "");
}

static int put_checkpoint(struct store *store, const struct chain_checkpoint *checkpoint,
			  struct brig_error *error)
{
	int r = sqlite_begin(store, error);

	if (r < 0) {
		return r;
	}
	r = put_line(store, checkpoint, error);
	if (r < 0) {
		sqlite_rollback(store);
		return r;
	}
	store->now.checkpoint = *checkpoint;
	return sqlite_commit(store, error);
}

int sqlite_checkpoint(struct store *store, struct brig_error *error)
{
	struct chain_checkpoint checkpoint = {
		.number = store->now.checkpoint.number + 1,
		.sequence = store->now.head.sequence,
		.time_ms = store_now_ms(store),
	};

	memcpy(checkpoint.hash, store->now.head.hash, CHAIN_HASH_SIZE);
	chain_sign(&store->key, &checkpoint);
	int r = put_checkpoint(store, &checkpoint, error);
	if (r < 0) {
		return r;
	}
	/*
	 * First the database, then the head: a head that is ahead means that entries were
	 * removed, and a power failure must not look like that.
	 */
	r = sqlite_flush(store, false, error);
	return r < 0 ? r : chain_head_write(sqlite_of(store)->dir, &checkpoint, error);
}

/* --- at the start ---------------------------------------------------------------------------- */

static int broken(struct brig_error *error, const char *what)
{
	error_set(error, BRIG_E_SYSTEM, EBADMSG, "the audit chain cannot be continued: %s", what);
	error_remedy(error, "run brig audit verify; restore the state directory from a "
			    "copy that verifies, or start with an empty one");
	return -EBADMSG;
}

static int read_last_checkpoint(struct store *store, struct brig_error *error)
{
	int rc = sqlite_run(store, SQL_CHECKPOINT_LAST, "");
	bool good = true;

	if (rc == SQLITE_ROW) {
		sqlite3_stmt *row = sqlite_of(store)->statements[SQL_CHECKPOINT_LAST];
		const char *line = (const char *)sqlite3_column_text(row, 0);
		good = line && chain_line_parse(line, strlen(line), &store->now.checkpoint);
	}
	int r = sqlite_result(store, rc, SQL_CHECKPOINT_LAST, error);
	return r < 0 || good ? r : broken(error, "its last checkpoint is damaged");
}

int sqlite_head_at(struct store *store, uint64_t sequence, struct chain_head *ret,
		   struct brig_error *error)
{
	sqlite3_stmt *row = sqlite_of(store)->statements[SQL_LAST_ENTRY];
	int rc = sqlite_run(store, SQL_LAST_ENTRY, "i", (int64_t)sequence);
	bool found = rc == SQLITE_ROW;

	if (found) {
		ret->sequence = (uint64_t)sqlite3_column_int64(row, 0);
		const void *hash = sqlite3_column_blob(row, 5);
		if (hash && sqlite3_column_bytes(row, 5) == CHAIN_HASH_SIZE) {
			memcpy(ret->hash, hash, CHAIN_HASH_SIZE);
		}
	}
	int r = sqlite_result(store, rc, SQL_LAST_ENTRY, error);
	return r < 0 ? r : found;
}

/* Is the entry that a checkpoint has signed still in the database, unchanged? */
static int hold_against(struct store *store, const struct chain_checkpoint *checkpoint,
			const char *missing, struct brig_error *error)
{
	struct chain_head head = { 0 };

	if (!chain_signed_by(store->key.public, checkpoint)) {
		return broken(error, "a checkpoint was not signed with " CHAIN_KEY_NAME);
	}
	/* Entries before the anchor are elsewhere; and only the ledger moves the anchor. */
	if (checkpoint->sequence <= store->now.anchor.sequence) {
		return 0;
	}
	int r = sqlite_head_at(store, checkpoint->sequence, &head, error);
	if (r < 0) {
		return r;
	}
	return r == 1 && memcmp(head.hash, checkpoint->hash, CHAIN_HASH_SIZE) == 0
		       ? 0
		       : broken(error, missing);
}

int sqlite_audit_open(struct store *store, struct brig_error *error)
{
	struct chain_checkpoint saved = { 0 };
	int r = sqlite_head_at(store, 0, &store->now.head, error);

	if (r < 0) {
		return r;
	}
	r = read_last_checkpoint(store, error);
	if (r < 0) {
		return r;
	}
	r = sqlite_anchor_read(store, error);
	if (r < 0) {
		return r;
	}
	/* A new key for an old chain would make all signatures worthless. */
	r = chain_key_load(sqlite_of(store)->dir, store->now.checkpoint.number == 0, &store->key,
			   error);
	if (r < 0) {
		return r;
	}
	if (store->now.anchor.number && !chain_signed_by(store->key.public, &store->now.anchor)) {
		return broken(error, "its anchor was not signed with " CHAIN_KEY_NAME);
	}
	if (store->now.checkpoint.number) {
		r = hold_against(store, &store->now.checkpoint,
				 "entries that were signed are gone or changed", error);
	}
	if (r < 0) {
		return r;
	}
	r = chain_head_read(sqlite_of(store)->dir, &saved, error);
	return r <= 0 ? r
		      : hold_against(store, &saved,
				     "entries that " CHAIN_HEAD_NAME
				     " has are gone: the database is older than it, or another one",
				     error);
}
