/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit chain of a database, or of a text (audit_text.h), as a reader sees it, while the ledger
 * runs or of a copy. The file is opened read-only and is not believed: it may have been made to
 * deceive, or to harm.
 */
#ifndef BRIG_LEDGER_AUDIT_FILE_H
#define BRIG_LEDGER_AUDIT_FILE_H

#include <sqlite3.h>

#include "base/chain.h"
#include "base/error.h"

struct audit_file {
	sqlite3 *db;    /* owned */
	bool foreign;   /* other things are defined in it than brig defines... */
	char what[512]; /* ...and what */
};

/* All that is read afterwards is of one moment. -EBADMSG: there is no audit chain in it. */
int audit_file_open(const char *path, struct audit_file *ret, struct brig_error *error);
void audit_file_done(struct audit_file *file);
/* What it has begins behind this checkpoint. 0: with the first entry; 1; -EBADMSG. */
int audit_file_anchor(const struct audit_file *file, struct chain_checkpoint *ret);
/* Another moment: now. */
int audit_file_again(struct audit_file *file, struct brig_error *error);

struct audit_query {
	uint64_t after;    /* only behind this sequence */
	uint64_t since_ms; /* and not older than this */
	const char *kind;  /* "execution" is also "execution.ended"; or NULL */
	const char *tenant;
	const char *execution; /* its id; or NULL */
	uint64_t sequence;     /* only this one; or 0 */
	uint64_t limit;        /* 0: all */
	bool last;             /* of more than `limit`, the last ones */
};

struct audit_row {
	struct chain_entry entry;
	const unsigned char *hash; /* CHAIN_HASH_SIZE bytes */
	/* A column that is not stored as the ledger stores it, though it has the same bytes: lists
	 * that are filtered would not find it. NULL: none */
	const char *odd;
};

/* Oldest first; `each` returns other than 0 to end it. That, 0, or -errno. */
int audit_file_query(struct audit_file *file, const struct audit_query *query,
		     int (*each)(void *user, const struct audit_row *row), void *user,
		     struct brig_error *error);
#endif
