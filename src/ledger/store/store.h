/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger's database: one connection, statements prepared once. It does not depend on messages.
 * All functions that write are called between store_begin() and store_commit(); a failure in
 * between rolls back to the mark that was set before.
 */
#ifndef BRIG_LEDGER_STORE_H
#define BRIG_LEDGER_STORE_H

#include <sqlite3.h>

#include "base/bytes/buf.h"
#include "base/bytes/chain.h"
#include "base/error.h"
#include "ledger/ledger_messages.h"

#define STORE_NAME "ledger.db"
#define STORE_LOCK "ledger.lock"

enum statement {
	SQL_BEGIN,
	SQL_COMMIT,
	SQL_ROLLBACK,
	SQL_MARK,
	SQL_RELEASE,
	SQL_BACK,
	SQL_INSERT,
	SQL_BY_KEY,
	SQL_REQUEST_PUT,
	SQL_REQUEST_DROP,
	SQL_LONG_PUT,
	SQL_LONG_TAKEN,
	SQL_LONG_UNDO,
	SQL_LONG_DROP,
	SQL_LONG_LOST,
	SQL_LONG_GONE,
	SQL_LONG_FORGET,
	SQL_REQUEST_PART_PUT,
	SQL_REQUEST_PART_GET,
	SQL_REQUEST_PARTS_DROP,
	SQL_KEY_DROP,
	SQL_OPEN_ONE,
	SQL_START,
	SQL_END,
	SQL_RESULT_PUT,
	SQL_PART_PUT,
	SQL_PART_GET,
	SQL_PARTS_DROP,
	SQL_GET,
	SQL_GET_ANY,
	SQL_LIST,
	SQL_LIST_ANY,
	SQL_PENDING,
	SQL_LOST,
	SQL_PENDING_NEXT,
	SQL_PENDING_COUNT,
	SQL_PROGRESS,
	SQL_TOTALS,
	SQL_HALF_GONE,
	SQL_OLDEST,
	SQL_LARGEST,
	SQL_OLDEST_OF,
	SQL_RESULT_EMPTY,
	SQL_RESULT_DROP,
	SQL_FORGET,
	SQL_SESSION_PUT,
	SQL_SESSION_RUN,
	SQL_SESSION_ONE,
	SQL_SESSION_END,
	SQL_SESSION_LIST,
	SQL_SESSION_OPEN,
	SQL_SESSION_TRIM,
	SQL_SESSION_FORGET,
	SQL_USAGE_PUT,
	SQL_USAGE_LIST,
	SQL_USAGE_FORGET,
	SQL_APPEND,
	SQL_LAST_ENTRY,
	SQL_CHECKPOINT_PUT,
	SQL_CHECKPOINT_LAST,
	SQL_CHECKPOINTS_OLD,
	SQL_CHECKPOINTS_DROP,
	SQL_AUDIT_DROP,
	SQL_ANCHOR_PUT,
	SQL_ANCHOR_GET,
	SQL_STATEMENTS,
};

/* Counted in memory, and restored when a transaction is rolled back. */
struct store_tally {
	struct chain_head head;
	struct chain_checkpoint checkpoint; /* the last one; number 0: none yet */
	struct chain_checkpoint
		anchor; /* the chain begins behind it; number 0: with the first entry */
	uint64_t executions;
	uint64_t result_bytes;
};

struct store {
	sqlite3 *db; /* owned */
	sqlite3_stmt *statements[SQL_STATEMENTS];
	sqlite3_vfs vfs; /* finds files by the directory's descriptor */
	bool vfs_registered;
	int dir;  /* owned */
	int lock; /* owned */
	struct chain_key key;
	struct store_tally now, committed, marked;
	bool is_first; /* this transaction has had no call yet */
	bool has_mark;
	bool has_gone;         /* there may be parts of requests to delete */
	bool archived_taken;   /* the file of brig audit archive was read */
	int64_t pending_after; /* the last one that was returned */
	int64_t pending_last;  /* the last one that existed at the start */
	uint64_t result_age_ms, result_max, result_total_max, history_age_ms, audit_age_ms;
};

struct store_limits {
	uint64_t result_age_ms;    /* how long results are kept; 0: for ever */
	uint64_t result_total_max; /* bytes of all results; 0: no limit */
	uint64_t result_max;       /* of one; longer ones are cut */
	uint64_t history_age_ms;   /* how long rows of executions are kept; 0: for ever */
	uint64_t audit_age_ms;     /* how long entries of the audit chain are kept; 0: for ever */
};

/* --- deletes archived or old entries (store_archive.c) --- */

int store_anchor_read(struct store *store, struct brig_error *error);
/* In a transaction. `more`: there is more to be done at once. */
int store_archive_sweep(struct store *store, bool *more, struct brig_error *error);
/*
 * After the commit: if the process crashes before this, the file is read again, which changes
 * nothing.
 */
void store_archive_done(struct store *store);
/* The entry, or with 0 the last one: store_audit.c. 0: not found; 1; -errno. */
int store_head_at(struct store *store, uint64_t sequence, struct chain_head *ret,
		  struct brig_error *error);

/* --- opening, transactions (store.c) --- */

/* Opens or makes the database, checks that its chain is continuous, recovers. */
int store_open(int dir, const struct store_limits *limits, struct store **ret,
	       struct brig_error *error);
/* A second connection to an open database, for store_flush() only. */
int store_open_for_flush(int dir, struct store **ret, struct brig_error *error);
void store_close(struct store *store);

int store_begin(struct store *store, struct brig_error *error);
int store_commit(struct store *store, struct brig_error *error);
void store_rollback(struct store *store);
bool store_in_transaction(const struct store *store);
/* One call within a transaction: it is stored completely, or not at all. */
int store_mark(struct store *store, struct brig_error *error);
int store_release(struct store *store, struct brig_error *error);
/* False: the whole transaction was rolled back, as SQLite does on a full disk. */
bool store_back(struct store *store);
/* Writes the log into the database, and both to the disk. */
int store_flush(struct store *store, bool truncate, struct brig_error *error);

/* --- for the files of the store (store_statement.c) --- */

/*
 * Binds and makes one step: "t" const char * (or NULL), "i" int64_t, "b" const void * and size_t.
 * SQLITE_ROW, SQLITE_DONE, or another code. Call store_done() before using the statement again.
 */
int store_run(struct store *store, enum statement which, const char *types, ...);
void store_done(struct store *store, enum statement which);
/* For statements without rows: 0 or the error. */
int store_result(struct store *store, int rc, enum statement which, struct brig_error *error);
/* All of it, for a statement whose rows are not read: 0 or the error. */
int store_write(struct store *store, struct brig_error *error, enum statement which,
		const char *types, ...);
/* -errno for a code of SQLite, with its message. */
int store_error(sqlite3 *db, int rc, struct brig_error *error, const char *what);
int store_prepare(struct store *store, struct brig_error *error);
/* Settings that make SQLite distrust the file, and disable features that are not used. */
int store_harden(sqlite3 *db, struct brig_error *error);
uint64_t store_time_ms(void);

/* --- how files are found (store_vfs.c) --- */
int store_vfs_register(struct store *store, struct brig_error *error);
void store_vfs_unregister(struct store *store);

/* --- executions (store_executions.c, store_ended.c, store_read.c) --- */

/* `request`: a long one, whose parts are all stored; or NULL. */
struct store_request;
int store_execution_begin(struct store *store, const struct ledger_text *texts, bool queued,
			  const struct store_request *request, struct buf *answer,
			  struct brig_error *error);
int store_execution_started(struct store *store, const char *id, struct brig_error *error);
/* -EPROTO: `result` is invalid. */
int store_execution_ended(struct store *store, const char *id, const char *result, size_t size,
			  struct brig_error *error);

/* A longer result is stored in parts of this size. */
#define STORE_PART_BYTES ((size_t)256 << 10)
#define STORE_LONG_BYTES (2 * STORE_PART_BYTES)

/*
 * The same in steps. An open one needs its bytes until it is freed. Each step (0; 1: all parts are
 * stored; -errno) may be in a transaction of its own, with those of others in between; the end is
 * stored with the last call.
 */
struct store_ended;
int store_ended_open(struct store *store, const char *id, const char *result, size_t size,
		     struct store_ended **ret, struct brig_error *error);
int store_ended_step(struct store *store, struct store_ended *ended, struct brig_error *error);
int store_ended_finish(struct store *store, struct store_ended *ended, struct brig_error *error);
/* Removes the parts of a result that cannot be finished. */
int store_ended_undo(struct store *store, struct store_ended *ended, struct brig_error *error);
void store_ended_free(struct store_ended *ended);

/*
 * A queued request that is longer than STORE_LONG_BYTES is stored before its execution, with a step
 * (as in store_ended) for each part. Without store_execution_begin() it must be undone.
 */
struct store_request {
	const char *data; /* borrowed */
	size_t size;
	int64_t m; /* its number; 0: nothing is stored */
	unsigned part;
};
int store_request_step(struct store *store, struct store_request *request,
		       struct brig_error *error);
int store_request_undo(struct store *store, const struct store_request *request,
		       struct brig_error *error);

/* Parts that have not been read yet. n 0: none. */
struct store_more {
	int64_t n;
	unsigned part;
	uint64_t left; /* bytes */
	char id[27];   /* of the execution */
};

/* An answer that has more is complete up to there; "}" follows at the end. */
int store_execution_get(struct store *store, const char *tenant, const char *id, struct buf *answer,
			struct store_more *more, struct brig_error *error);
/* Appends the next part. 1: it was the last; 0; -ESTALE: the result was deleted meanwhile. */
int store_more_read(struct store *store, struct store_more *more, struct buf *out,
		    struct brig_error *error);
int store_execution_list(struct store *store, const char *tenant, const char *before,
			 unsigned limit, struct buf *answer, struct brig_error *error);
int store_execution_pending(struct store *store, struct buf *answer, struct brig_error *error);
uint64_t store_execution_pending_count(struct store *store); /* that were not returned yet */
/* Cancels a few of these. 0 of them: none is left. */
int store_execution_drop(struct store *store, unsigned *ret_dropped, struct brig_error *error);
/* Executions that were running when the last ledger ended become lost. */
int store_recover(struct store *store, uint64_t *ret_lost, struct brig_error *error);
/*
 * Deletes a few results that are too old or exceed the total, and old rows. 1: there may be more.
 */
int store_sweep(struct store *store, struct brig_error *error);

/* --- sessions (store_sessions.c) --- */

/* Ended ones of a tenant: the oldest are deleted. */
#define STORE_SESSIONS_A_TENANT 1000

int store_session_opened(struct store *store, const struct ledger_text *texts, uint64_t idle_ms,
			 struct brig_error *error);
int store_session_ended(struct store *store, const char *tenant, const char *id, const char *reason,
			uint64_t runs, struct brig_error *error);
int store_session_get(struct store *store, const char *tenant, const char *id, struct buf *answer,
		      struct brig_error *error);
/* Those that have ended. */
int store_session_list(struct store *store, const char *tenant, const char *before, unsigned limit,
		       struct buf *answer, struct brig_error *error);
/* Within a transaction: open sessions have ended with the previous service. */
int store_session_recover(struct store *store, struct brig_error *error);
/* Deletes a few that ended long ago. */
int store_session_sweep(struct store *store, bool *more, struct brig_error *error);

/* --- processor time of a day (store_usage.c) --- */

/* The total that the caller has used on that day. */
int store_usage_put(struct store *store, const char *caller, uint64_t day, uint64_t cpu_ns,
		    struct brig_error *error);
/* Of that day; other days are deleted. */
int store_usage_list(struct store *store, uint64_t day, struct buf *answer,
		     struct brig_error *error);

/* --- the audit chain (store_audit.c) --- */

/* `facts` are made by the ledger, in canonical form. */
int store_append(struct store *store, const char *kind, const char *tenant, const char *facts,
		 struct brig_error *error);
/* `facts`: any object; NULL: {}. -EPROTO: not an object. */
int store_audit(struct store *store, const char *kind, const char *tenant, const char *facts,
		size_t facts_size, struct brig_error *error);
/* Signs the last entry, in a transaction of its own, and writes the head file. */
int store_checkpoint(struct store *store, struct brig_error *error);
/* Reads the end of the chain, and checks the key and the head file against it. */
int store_audit_open(struct store *store, struct brig_error *error);
#endif
