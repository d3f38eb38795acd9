/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger's own process: SQLite, the audit chain and its key, and nothing else. It needs one
 * directory (ledger.db, ledger.lock, audit.key, audit.pub, audit.head and SQLite's two files beside
 * the database), one socket and /proc/self/fd. It trusts the file as little as the front.
 *
 * Calls that come together are one transaction. Nothing is answered before it is committed.
 */
#ifndef BRIG_LEDGER_ROLE_H
#define BRIG_LEDGER_ROLE_H

#include "base/error.h"
#include "loop/loop.h"

/* 0 stands for what the comment says. */
struct ledger_options {
	uint64_t result_age_ms;    /* results are kept so long (a day) */
	uint64_t result_max;       /* bytes of one; more is cut (16 MiB) */
	uint64_t result_total_max; /* bytes of all; the oldest go first (2 GiB) */
	uint64_t history_age_ms;   /* rows of executions are kept so long (30 days) */
	uint64_t audit_age_ms;     /* entries of the audit chain are kept so long (for good) */
	uint64_t sweep_ns;         /* how often it is looked for what must go (30 s) */
	uint64_t window_ns;        /* a transaction waits for more calls at most so long (2 ms) */
	uint64_t flush_ns; /* to the disk, when something was written (1 s) or as long after it */
	uint64_t checkpoint_ns;      /* a signature, when something was added (1 minute) */
	unsigned checkpoint_entries; /* or after so many entries (1000) */
	int flusher;                 /* a socket to the flusher, taken over; 0: there is none */

	/*
	 * For the log; may be NULL. Events: "recovered", "checkpoint" (the text is its line: who
	 * keeps it elsewhere can tell later that the chain was cut), "failed", "refused".
	 */
	void (*note)(void *user, bool bad, const char *event, const char *text);
	/* The front has left, or has broken a rule: end the role. Before that all is committed. */
	void (*gone)(void *user, const char *why);
	void *user;
};

struct ledger_role;

/* Sets those that are 0. */
void ledger_options_complete(struct ledger_options *options);

/* Opens, checks and recovers; then answers. Takes the socket, not the directory. */
int ledger_role_new(struct loop *loop, int socket, int state_dirfd,
		    const struct ledger_options *options, struct ledger_role **ret,
		    struct brig_error *error);
/* A clean stop: commits, signs, closes. */
void ledger_role_free(struct ledger_role *role);
#endif
