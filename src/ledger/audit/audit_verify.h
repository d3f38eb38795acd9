/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies an audit chain: its hashes, its signatures, and checkpoints that were kept elsewhere. */
#ifndef BRIG_LEDGER_AUDIT_VERIFY_H
#define BRIG_LEDGER_AUDIT_VERIFY_H

#include "ledger/audit/audit_file.h"

#define AUDIT_FINDINGS_MAX 1000 /* reported one by one; the rest is only counted */

/* A checkpoint that was kept outside the database: it must still be on the chain. */
struct audit_known {
	const char *where; /* "audit.head" */
	struct chain_checkpoint checkpoint;
	bool seen; /* found by audit_verify() */
};

struct audit_claims {
	unsigned char public[CHAIN_KEY_SIZE];
	bool keyless;              /* nothing is signed: only the links are checked */
	struct audit_known *known; /* owned */
	size_t known_count, known_room;
};

/* 0 or -ENOMEM. `where` is borrowed. */
int audit_claims_add(struct audit_claims *claims, const char *where,
		     const struct chain_checkpoint *checkpoint);
void audit_claims_done(struct audit_claims *claims);

struct audit_report {
	uint64_t entries;
	struct chain_head head;
	uint64_t first_ms, last_ms;
	uint64_t checkpoints;
	uint64_t signed_entries; /* up to the last valid checkpoint; later ones are only linked */
	uint64_t findings;
	uint64_t in_log;   /* calls in the ledger's log, which have no entries yet */
	uint64_t archived; /* entries before the first file, which were not checked */
};

/* `found` gets the sequence number of the entry, or 0, and a line. 0: read to the end; -errno. */
/* `files`: archives in their order, then the ledger: all as one chain. */
int audit_verify(struct audit_file *files, size_t count, struct audit_claims *claims,
		 void (*found)(void *user, uint64_t sequence, const char *what), void *user,
		 struct audit_report *ret, struct brig_error *error);
#endif
