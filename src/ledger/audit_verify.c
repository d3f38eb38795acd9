/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying an audit chain: see audit_verify.h. One pass, entries and checkpoints side by side. */
#include "ledger/audit_verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ledger/store.h"

struct verifier {
	const struct audit_claims *claims;
	void (*found)(void *user, uint64_t sequence, const char *what);
	void *user;
	struct audit_report *report;
	sqlite3_stmt *checkpoints;
	struct chain_checkpoint next; /* the next one to come */
	bool has_next;
	uint64_t number; /* of the last checkpoint */
	bool known_seen[AUDIT_KNOWN_MAX];
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

/* To the next checkpoint that says something; bad ones are told and passed over. */
static void advance(struct verifier *verifier)
{
	uint64_t before = verifier->next.sequence;

	verifier->has_next = false;
	while (!verifier->has_next && sqlite3_step(verifier->checkpoints) == SQLITE_ROW) {
		sqlite3_stmt *row = verifier->checkpoints;
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
				"not what checkpoint %" PRIu64
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
	for (unsigned i = 0; i < verifier->claims->known_count; i++) {
		const struct audit_known *known = &verifier->claims->known[i];

		if (known->checkpoint.sequence != head->sequence) {
			continue;
		}
		verifier->known_seen[i] = true;
		if (memcmp(known->checkpoint.hash, head->hash, CHAIN_HASH_SIZE) != 0) {
			finding(verifier, head->sequence,
				"%s knows another entry: this or one before it was changed",
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
			"follows entry %" PRIu64 ": those between are missing",
			report->head.sequence);
	}
	chain_hash(&report->head, entry, hash);
	if (memcmp(hash, row->hash, CHAIN_HASH_SIZE) != 0) {
		finding(verifier, entry->sequence,
			"does not have its hash: it was changed, or the one before it");
	}
	/* From here on as the file has it: one change is one finding, not many. */
	memcpy(head.hash, row->hash, CHAIN_HASH_SIZE);
	report->first_ms = report->entries ? report->first_ms : entry->time_ms;
	report->last_ms = entry->time_ms;
	report->entries++;
	report->head = head;
	hold_checkpoints(verifier, &head);
	hold_known(verifier, &head);
	return 0;
}

/* What nothing on the chain has answered. */
static void hold_rest(struct verifier *verifier)
{
	const struct audit_report *report = verifier->report;

	for (; verifier->has_next; advance(verifier)) {
		finding(verifier, verifier->next.sequence,
			"checkpoint %" PRIu64 " signs this entry, but the chain ends at %" PRIu64,
			verifier->next.number, report->head.sequence);
	}
	for (unsigned i = 0; i < verifier->claims->known_count; i++) {
		const struct audit_known *known = &verifier->claims->known[i];

		if (!chain_signed_by(verifier->claims->public, &known->checkpoint)) {
			finding(verifier, known->checkpoint.sequence,
				"the checkpoint in %s was not signed with this key", known->where);
		} else if (!verifier->known_seen[i]) {
			finding(verifier, known->checkpoint.sequence,
				"%s knows this entry, but the chain has none: it was cut, or is "
				"another",
				known->where);
		}
	}
	if (report->entries && !report->checkpoints) {
		finding(verifier, 0, "no checkpoint: the ledger signs when it starts");
	}
}

/* Entries are numbered from 1: what is below would be on no list. */
static void look_below(struct verifier *verifier, sqlite3 *db)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(db, "SELECT 1 FROM audit NOT INDEXED WHERE sequence < 1", -1,
			       &statement, NULL) != SQLITE_OK ||
	    sqlite3_step(statement) != SQLITE_DONE) {
		finding(verifier, 0, "there are entries in front of the first");
	}
	sqlite3_finalize(statement);
}

int audit_verify(struct audit_file *file, const struct audit_claims *claims,
		 void (*found)(void *user, uint64_t sequence, const char *what), void *user,
		 struct audit_report *ret, struct brig_error *error)
{
	const struct audit_query all = { 0 };
	struct verifier verifier = {
		.claims = claims, .found = found, .user = user, .report = ret
	};
	int rc = sqlite3_prepare_v2(
		file->db, "SELECT number, line FROM checkpoints NOT INDEXED ORDER BY number", -1,
		&verifier.checkpoints, NULL);

	*ret = (struct audit_report){ 0 };
	if (rc != SQLITE_OK) {
		return store_error(file->db, rc, error, "cannot read the checkpoints");
	}
	if (file->foreign) {
		finding(&verifier, 0, "%s", file->what);
	}
	look_below(&verifier, file->db);
	advance(&verifier);
	int r = audit_file_query(file, &all, each_entry, &verifier, error);
	if (r == 0) {
		hold_rest(&verifier);
	}
	sqlite3_finalize(verifier.checkpoints);
	return r;
}
