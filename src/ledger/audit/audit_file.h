/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the audit chain of a database, or of a text (audit_text.h), while the ledger runs or from a
 * copy. The file is opened read-only and is not trusted: it may have been made to deceive or to
 * harm.
 */
#ifndef BRIG_LEDGER_AUDIT_FILE_H
#define BRIG_LEDGER_AUDIT_FILE_H

#include <sqlite3.h>

#include "base/bytes/chain.h"
#include "base/error.h"

struct audit_file {
	sqlite3 *db;     /* owned */
	bool foreign;    /* it has definitions that are not brig's... */
	char what[512];  /* ...and which */
	uint64_t in_log; /* calls in the log beside it that have no entries yet */
};

/* All later reads see the same snapshot. -EBADMSG: it has no audit chain. */
int audit_file_open(const char *path, struct audit_file *ret, struct brig_error *error);
void audit_file_done(struct audit_file *file);
/* The chain in the file begins behind this checkpoint. 0: with the first entry; 1; -EBADMSG. */
int audit_file_anchor(const struct audit_file *file, struct chain_checkpoint *ret);
/* Takes a new snapshot. */
int audit_file_again(struct audit_file *file, struct brig_error *error);

struct audit_query {
	uint64_t after;    /* only behind this sequence number */
	uint64_t since_ms; /* and not older than this */
	const char *kind;  /* "execution" also means "execution.ended"; or NULL */
	const char *tenant;
	const char *execution; /* its id; or NULL */
	uint64_t sequence;     /* only this one; or 0 */
	uint64_t limit;        /* 0: all */
	bool last;             /* if there are more than `limit`, the last ones */
};

struct audit_row {
	struct chain_entry entry;
	const unsigned char *hash; /* CHAIN_HASH_SIZE bytes */
	/*
	 * A column whose type differs from the ledger's, though it has the same bytes: filtered
	 * lists would not find it. NULL: none
	 */
	const char *odd;
};

/* Oldest first; `each` returns a value other than 0 to stop. Returns that value, 0, or -errno. */
int audit_file_query(struct audit_file *file, const struct audit_query *query,
		     int (*each)(void *user, const struct audit_row *row), void *user,
		     struct brig_error *error);
#endif
