/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit chain of a database as a reader sees it, while the ledger runs or of a copy. The file
 * is opened read-only and is not believed: it may have been made to deceive, or to harm.
 */
#ifndef BRIG_LEDGER_AUDIT_FILE_H
#define BRIG_LEDGER_AUDIT_FILE_H

#include <sqlite3.h>

#include "base/error.h"
#include "ledger/chain.h"

struct audit_file {
	sqlite3 *db;    /* owned */
	bool foreign;   /* other things are defined in it than brig defines... */
	char what[512]; /* ...and what */
};

/* All that is read afterwards is of one moment. -EBADMSG: there is no audit chain in it. */
int audit_file_open(const char *path, struct audit_file *ret, struct brig_error *error);
void audit_file_done(struct audit_file *file);
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
};

/* Oldest first; `each` returns other than 0 to end it. That, 0, or -errno. */
int audit_file_query(struct audit_file *file, const struct audit_query *query,
		     int (*each)(void *user, const struct audit_row *row), void *user,
		     struct brig_error *error);
#endif
