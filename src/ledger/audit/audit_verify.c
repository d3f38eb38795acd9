/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies an audit chain: see audit_verify.h. One pass over entries and checkpoints together. */
#include "ledger/audit/audit_verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/sqlite/sqlite_store.h"

struct verifier {
	struct audit_claims *claims;
	size_t known_at; /* the first known checkpoint that was not passed yet; they are sorted */
	void (*found)(void *user, uint64_t sequence, const char *what);
	void *user;
	struct audit_report *report;
	sqlite3_stmt *checkpoints;
	struct chain_checkpoint next; /* the next checkpoint */
	bool has_next;
	uint64_t number; /* of the last checkpoint */
};

__attribute__((format(printf, 3, 4))) static void
finding(struct verifier *verifier, uint64_t sequence, const char *format, ...)
{
	char text[256];
	va_list args;

	if (++verifier->report->findings > AUDIT_FINDINGS_MAX) {
		return;
	}
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	verifier->found(verifier->user, sequence, text);
}

static bool good_checkpoint(struct verifier *verifier, const char *line, size_t size,
			    uint64_t number, struct chain_checkpoint *ret)
{
	if (number != verifier->number + 1) {
		finding(verifier, 0, "checkpoint %" PRIu64 " follows %" PRIu64 ": some are missing",
			number, verifier->number);
	}
	verifier->number = number;
	if (!line || !chain_line_parse(line, size, ret) || ret->number != number) {
		finding(verifier, 0, "checkpoint %" PRIu64 " is damaged", number);
		return false;
	}
	if (!chain_signed_by(verifier->claims->public, ret)) {
		finding(verifier, ret->sequence,
			"checkpoint %" PRIu64 " was not signed with this key", number);
		return false;
	}
	return true;
}

/* To the next valid checkpoint; invalid ones are reported and skipped. */
static void advance(struct verifier *verifier)
{
	uint64_t before = verifier->next.sequence;

	verifier->has_next = false;
	while (!verifier->has_next && sqlite3_step(verifier->checkpoints) == SQLITE_ROW) {
		sqlite3_stmt *row = verifier->checkpoints;
		if (sqlite3_column_type(row, 1) != SQLITE_TEXT) {
			finding(verifier, 0, "a checkpoint is not stored as the ledger stores it");
		}
		const char *line = (const char *)sqlite3_column_text(row, 1);

		verifier->report->checkpoints++;
		verifier->has_next =
			good_checkpoint(verifier, line, (size_t)sqlite3_column_bytes(row, 1),
					(uint64_t)sqlite3_column_int64(row, 0), &verifier->next);
		if (verifier->has_next && verifier->next.sequence < before) {
			finding(verifier, verifier->next.sequence,
				"checkpoint %" PRIu64 " is about an earlier entry than the one "
				"before it",
				verifier->next.number);
			verifier->has_next = false;
		}
	}
}

static void hold_checkpoints(struct verifier *verifier, const struct chain_head *head)
{
	while (verifier->has_next && verifier->next.sequence <= head->sequence) {
		if (verifier->next.sequence < head->sequence) {
			finding(verifier, verifier->next.sequence,
				"an entry that checkpoint %" PRIu64 " signs is missing",
				verifier->next.number);
		} else if (memcmp(verifier->next.hash, head->hash, CHAIN_HASH_SIZE) != 0) {
			finding(verifier, head->sequence,
				"differs from the entry that checkpoint %" PRIu64
				" signs: this or an entry before it was changed",
				verifier->next.number);
		} else {
			verifier->report->signed_entries = head->sequence;
		}
		advance(verifier);
	}
}

static void hold_known(struct verifier *verifier, const struct chain_head *head)
{
	struct audit_claims *claims = verifier->claims;

	for (; verifier->known_at < claims->known_count; verifier->known_at++) {
		struct audit_known *known = &claims->known[verifier->known_at];

		if (known->checkpoint.sequence > head->sequence) {
			return;
		}
		if (known->checkpoint.sequence < head->sequence) {
			continue;
		}
		known->seen = true;
		if (memcmp(known->checkpoint.hash, head->hash, CHAIN_HASH_SIZE) != 0) {
			finding(verifier, head->sequence,
				"%s has another hash: this entry or one before it was changed",
				known->where);
		}
	}
}

static int each_entry(void *user, const struct audit_row *row)
{
	struct verifier *verifier = user;
	struct audit_report *report = verifier->report;
	const struct chain_entry *entry = &row->entry;
	unsigned char hash[CHAIN_HASH_SIZE];
	struct chain_head head = { .sequence = entry->sequence };

	if (entry->sequence != report->head.sequence + 1) {
		finding(verifier, entry->sequence,
			"follows entry %" PRIu64 ": the entries between are missing",
			report->head.sequence);
	}
	chain_hash(&report->head, entry, hash);
	if (memcmp(hash, row->hash, CHAIN_HASH_SIZE) != 0) {
		finding(verifier, entry->sequence,
			"its hash does not match: this entry or the one before it was changed");
	}
	if (row->odd) {
		finding(verifier, entry->sequence,
			"its %s is not stored as the ledger stores it: lists may not show it",
			row->odd);
	}
	/* From here on with the file's hash: one change is one finding, not many. */
	memcpy(head.hash, row->hash, CHAIN_HASH_SIZE);
	report->first_ms = report->entries ? report->first_ms : entry->time_ms;
	report->last_ms = entry->time_ms;
	report->entries++;
	report->head = head;
	hold_checkpoints(verifier, &head);
	hold_known(verifier, &head);
	return 0;
}

/* Reports known checkpoints that were not found on the chain. */
static void hold_rest(struct verifier *verifier)
{
	const struct audit_report *report = verifier->report;

	for (size_t i = 0; i < verifier->claims->known_count; i++) {
		const struct audit_known *known = &verifier->claims->known[i];

		if (!chain_signed_by(verifier->claims->public, &known->checkpoint)) {
			finding(verifier, known->checkpoint.sequence,
				"the checkpoint in %s was not signed with this key", known->where);
		} else if (!known->seen && known->checkpoint.sequence > report->archived) {
			finding(verifier, known->checkpoint.sequence,
				"%s knows this entry, but the chain has none: it was cut, or is "
				"another",
				known->where);
		}
	}
	if (report->entries && !report->checkpoints && !verifier->claims->keyless) {
		finding(verifier, 0, "there is no checkpoint, but the ledger signs when it starts");
	}
}

/* Entries are numbered from 1: entries below would be on no list. */
static void look_below(struct verifier *verifier, sqlite3 *db)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(db, "SELECT 1 FROM audit NOT INDEXED WHERE sequence < 1", -1,
			       &statement, NULL) != SQLITE_OK ||
	    sqlite3_step(statement) != SQLITE_DONE) {
		finding(verifier, 0, "there are entries before the first");
	}
	sqlite3_finalize(statement);
}

int audit_claims_add(struct audit_claims *claims, const char *where,
		     const struct chain_checkpoint *checkpoint)
{
	if (claims->known_count == claims->known_room) {
		size_t room = claims->known_room ? 2 * claims->known_room : 64;
		struct audit_known *known =
			reallocarray(claims->known, room, sizeof(*claims->known));
		if (!known) {
			return -ENOMEM;
		}
		claims->known = known;
		claims->known_room = room;
	}
	claims->known[claims->known_count++] =
		(struct audit_known){ .where = where, .checkpoint = *checkpoint };
	return 0;
}

void audit_claims_done(struct audit_claims *claims)
{
	free(claims->known);
	*claims = (struct audit_claims){ 0 };
}

static int by_sequence(const void *a, const void *b)
{
	uint64_t left = ((const struct audit_known *)a)->checkpoint.sequence;
	uint64_t right = ((const struct audit_known *)b)->checkpoint.sequence;

	return left < right ? -1 : left > right;
}

/* The start of a file: the end of the previous one, or an anchor that a checkpoint signs. */
static void begin_at(struct verifier *verifier, struct audit_file *file, bool first)
{
	struct audit_report *report = verifier->report;
	struct chain_checkpoint anchor = { 0 };
	int r = audit_file_anchor(file, &anchor);

	if (r < 0 || (r == 1 && !chain_signed_by(verifier->claims->public, &anchor))) {
		finding(verifier, 0, "the anchor is damaged, or was not signed with this key");
	} else if (r == 1 && first) {
		report->archived = report->signed_entries = anchor.sequence;
		report->head.sequence = anchor.sequence;
		memcpy(report->head.hash, anchor.hash, CHAIN_HASH_SIZE);
		verifier->number = anchor.number;
		hold_known(verifier, &report->head);
	} else if (r == 1 && anchor.sequence > report->head.sequence) {
		finding(verifier, anchor.sequence,
			"the ledger begins behind this entry, but the archives end at %" PRIu64,
			report->head.sequence);
	} else if (r == 1 && anchor.sequence == report->head.sequence &&
		   memcmp(anchor.hash, report->head.hash, CHAIN_HASH_SIZE) != 0) {
		finding(verifier, anchor.sequence, "differs from the archived entry");
	}
}

static int verify_file(struct verifier *verifier, struct audit_file *file, bool first,
		       struct brig_error *error)
{
	if (file->foreign) {
		finding(verifier, 0, "%s", file->what);
	}
	look_below(verifier, file->db);
	begin_at(verifier, file, first);
	/* After the entries that were already read: archived entries may still be there. */
	const struct audit_query rest = { .after = verifier->report->head.sequence };
	int rc = sqlite3_prepare_v2(file->db,
				    "SELECT number, line FROM checkpoints NOT INDEXED "
				    "WHERE number > ?1 ORDER BY number",
				    -1, &verifier->checkpoints, NULL);
	if (rc == SQLITE_OK) {
		rc = sqlite3_bind_int64(verifier->checkpoints, 1, (sqlite3_int64)verifier->number);
	}
	if (rc != SQLITE_OK) {
		return sqlite_error(file->db, rc, error, "cannot read the checkpoints");
	}
	advance(verifier);
	int r = audit_file_query(file, &rest, each_entry, verifier, error);
	if (r < 0) {
		return r;
	}
	/* Each file is complete: the entries that its checkpoints sign must be in it. */
	for (; verifier->has_next; advance(verifier)) {
		finding(verifier, verifier->next.sequence,
			"checkpoint %" PRIu64 " signs this entry, but the chain ends at %" PRIu64,
			verifier->next.number, verifier->report->head.sequence);
	}
	return 0;
}

int audit_verify(struct audit_file *files, size_t count, struct audit_claims *claims,
		 void (*found)(void *user, uint64_t sequence, const char *what), void *user,
		 struct audit_report *ret, struct brig_error *error)
{
	struct verifier verifier = {
		.claims = claims, .found = found, .user = user, .report = ret
	};

	*ret = (struct audit_report){ 0 };
	if (claims->known_count) {
		qsort(claims->known, claims->known_count, sizeof(*claims->known), by_sequence);
	}
	for (size_t i = 0; i < count; i++) {
		int r = verify_file(&verifier, &files[i], i == 0, error);
		ret->in_log += files[i].in_log;
		sqlite3_finalize(verifier.checkpoints);
		verifier.checkpoints = NULL;
		if (r < 0) {
			return r;
		}
	}
	hold_rest(&verifier);
	return 0;
}
