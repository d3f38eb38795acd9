/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger's process: SQLite, the audit chain and its key, and nothing else. It needs one
 * directory (ledger.db, ledger.lock, audit.key, audit.pub, audit.head, SQLite's two files next to
 * the database, and the two files of the log), one socket and /proc/self/fd. It trusts neither the
 * files nor the front.
 *
 * The beginning and the end of a run that a client waits for are appended to the log
 * (log/backlog.h) and answered; the store is filled from the log behind it. All other calls go to
 * the store, after everything that is in the log: those that arrive together are one transaction,
 * and are answered when it is committed.
 */
#ifndef BRIG_LEDGER_ROLE_H
#define BRIG_LEDGER_ROLE_H

#include "base/error.h"
#include "ledger/store/store.h"
#include "loop/loop.h"

/* 0 means the default in the comment. */
struct ledger_options {
	uint64_t result_age_ms;    /* how long results are kept (a day) */
	uint64_t result_max;       /* bytes of one; longer ones are cut (16 MiB) */
	uint64_t result_total_max; /* bytes of all; the oldest are deleted first (2 GiB) */
	uint64_t history_age_ms;   /* how long rows of executions are kept (30 days) */
	uint64_t audit_age_ms;     /* how long entries of the audit chain are kept (for ever) */
	uint64_t sweep_ns;         /* the interval of deletions (30 s) */
	uint64_t window_ns; /* the longest time that a transaction waits for more calls (2 ms) */
	uint64_t fill_ns;   /* the longest time that a call is only in the log (100 ms) */
	uint64_t flush_ns;  /* to the disk, when something was written (1 s), or this long after */
	uint64_t checkpoint_ns;          /* a signature, when something was added (1 minute) */
	unsigned checkpoint_entries;     /* or after this number of entries (1000) */
	const struct store_class *store; /* where the data is (SQLite) */
	bool durable;                    /* answers wait until their data is on the disk */
	const char *boot;                /* kernel.random.boot_id; NULL: unknown */
	int flusher;                     /* a socket to the flusher, owned; 0: none */

	/*
	 * For the log; may be NULL. Events: "recovered", "checkpoint" (the text is its line: a copy
	 * that is kept elsewhere can show later that the chain was cut), "failed", "refused".
	 */
	void (*note)(void *user, bool bad, const char *event, const char *text);
	/*
	 * The front is gone, or has violated the protocol: end the role. Everything is committed
	 * before.
	 */
	void (*gone)(void *user, const char *why);
	void *user;
};

struct ledger_role;

/* Sets those that are 0. */
void ledger_options_complete(struct ledger_options *options);

/* Opens, checks and recovers; then answers calls. Owns the socket, not the directory. */
int ledger_role_new(struct loop *loop, int socket, int state_dirfd,
		    const struct ledger_options *options, struct ledger_role **ret,
		    struct brig_error *error);
/* A clean stop: commits, signs, closes. */
void ledger_role_free(struct ledger_role *role);
#endif
