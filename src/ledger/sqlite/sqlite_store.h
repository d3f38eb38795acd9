/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store (store/store_class.h) as an SQLite database: one connection, statements prepared once.
 * Private to sqlite_*.c, but for the class, and what readers of a database need.
 */
#ifndef BRIG_LEDGER_SQLITE_STORE_H
#define BRIG_LEDGER_SQLITE_STORE_H

#include <sqlite3.h>

#include "ledger/store/store.h"

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
	SQL_LOGGED_PUT,
	SQL_LOGGED_GET,
	SQL_STATEMENTS,
};

struct sqlite_store {
	struct store store;
	sqlite3 *db; /* owned */
	sqlite3_stmt *statements[SQL_STATEMENTS];
	sqlite3_vfs vfs; /* finds files by the directory's descriptor */
	bool vfs_registered;
	int dir;  /* owned */
	int lock; /* owned */
	struct store_tally marked;
	bool is_first;         /* this transaction has had no call yet */
	bool archived_taken;   /* the file of brig audit archive was read */
	int64_t pending_after; /* the last one that was returned */
	int64_t pending_last;  /* the last one that existed at the start */
};

static inline struct sqlite_store *sqlite_of(const struct store *store)
{
	return (struct sqlite_store *)(uintptr_t)store;
}

extern const struct store_class sqlite_store_class;

/* --- deletes archived or old entries (sqlite_archive.c) --- */

int sqlite_anchor_read(struct store *store, struct brig_error *error);
/* In a transaction. `more`: there is more to be done at once. */
int sqlite_archive_sweep(struct store *store, bool *more, struct brig_error *error);
/*
 * After the commit: if the process crashes before this, the file is read again, which changes
 * nothing.
 */
void sqlite_archive_done(struct store *store);
/* The entry, or with 0 the last one: sqlite_audit.c. 0: not found; 1; -errno. */
int sqlite_head_at(struct store *store, uint64_t sequence, struct chain_head *ret,
		   struct brig_error *error);

/* --- opening, transactions (sqlite_store.c) --- */

/* Opens or makes the database, checks that its chain is continuous, recovers. */
int sqlite_open(int dir, const struct store_limits *limits, struct store **ret,
		struct brig_error *error);
/* With a second connection to a database that is open. */
int sqlite_flush_apart(int dir);
/* The last record of the log that is in the database. */
int sqlite_logged(struct store *store, uint64_t sequence, struct brig_error *error);
int sqlite_logged_read(struct store *store, struct brig_error *error);
uint64_t sqlite_bytes(struct store *store);
void sqlite_close(struct store *store);

int sqlite_begin(struct store *store, struct brig_error *error);
int sqlite_commit(struct store *store, struct brig_error *error);
void sqlite_rollback(struct store *store);
bool sqlite_in_transaction(const struct store *store);
/* One call within a transaction: it is stored completely, or not at all. */
int sqlite_mark(struct store *store, struct brig_error *error);
int sqlite_release(struct store *store, struct brig_error *error);
/* False: the whole transaction was rolled back, as SQLite does on a full disk. */
bool sqlite_back(struct store *store);
/* Writes the log into the database, and both to the disk. */
int sqlite_flush(struct store *store, bool truncate, struct brig_error *error);

/* --- for the files of the store (sqlite_statement.c) --- */

/*
 * Binds and makes one step: "t" const char * (or NULL), "i" int64_t, "b" const void * and size_t.
 * SQLITE_ROW, SQLITE_DONE, or another code. Call sqlite_done() before using the statement again.
 */
int sqlite_run(struct store *store, enum statement which, const char *types, ...);
void sqlite_done(struct store *store, enum statement which);
/* For statements without rows: 0 or the error. */
int sqlite_result(struct store *store, int rc, enum statement which, struct brig_error *error);
/* All of it, for a statement whose rows are not read: 0 or the error. */
int sqlite_write(struct store *store, struct brig_error *error, enum statement which,
		 const char *types, ...);
/* -errno for a code of SQLite, with its message. */
int sqlite_error(sqlite3 *db, int rc, struct brig_error *error, const char *what);
int sqlite_prepare(struct store *store, struct brig_error *error);
/* Settings that make SQLite distrust the file, and disable features that are not used. */
int sqlite_harden(sqlite3 *db, struct brig_error *error);

/* --- how files are found (sqlite_vfs.c) --- */
int sqlite_vfs_register(struct store *store, struct brig_error *error);
void sqlite_vfs_unregister(struct store *store);

/* --- executions (sqlite_executions.c, sqlite_ended.c, sqlite_read.c) --- */

int sqlite_execution_begin(struct store *store, const struct ledger_text *texts, bool queued,
			   const struct store_request *request, struct buf *answer,
			   struct brig_error *error);
int sqlite_execution_started(struct store *store, const char *id, struct brig_error *error);
int sqlite_execution_ended(struct store *store, const char *id, struct ended_result *result,
			   struct brig_error *error);

/* Long results, in steps. */
int sqlite_ended_open(struct store *store, const char *id, struct ended_result *result,
		      struct store_ended **ret, struct brig_error *error);
int sqlite_ended_step(struct store *store, struct store_ended *ended, struct brig_error *error);
int sqlite_ended_finish(struct store *store, struct store_ended *ended, struct brig_error *error);
/* Removes the parts of a result that cannot be finished. */
int sqlite_ended_undo(struct store *store, struct store_ended *ended, struct brig_error *error);
void sqlite_ended_free(struct store_ended *ended);

int sqlite_request_step(struct store *store, struct store_request *request,
			struct brig_error *error);
int sqlite_request_undo(struct store *store, const struct store_request *request,
			struct brig_error *error);

/* An answer that has more is complete up to there; "}" follows at the end. */
int sqlite_execution_get(struct store *store, const char *tenant, const char *id,
			 struct buf *answer, struct store_more *more, struct brig_error *error);
/* Appends the next part. 1: it was the last; 0; -ESTALE: the result was deleted meanwhile. */
int sqlite_more_read(struct store *store, struct store_more *more, struct buf *out,
		     struct brig_error *error);
int sqlite_execution_list(struct store *store, const char *tenant, const char *before,
			  unsigned limit, struct buf *answer, struct brig_error *error);
int sqlite_execution_pending(struct store *store, struct buf *answer, struct brig_error *error);
uint64_t sqlite_execution_pending_count(struct store *store); /* that were not returned yet */
/* Cancels a few of these. 0 of them: none is left. */
int sqlite_execution_drop(struct store *store, unsigned *ret_dropped, struct brig_error *error);
/* Executions that were running when the last ledger ended become lost. */
int sqlite_recover(struct store *store, uint64_t *ret_lost, struct brig_error *error);
/*
 * Deletes a few results that are too old or exceed the total, and old rows. 1: there may be more.
 */
int sqlite_sweep(struct store *store, struct brig_error *error);

/* --- sessions (sqlite_sessions.c) --- */

int sqlite_session_opened(struct store *store, const struct ledger_text *texts, uint64_t idle_ms,
			  struct brig_error *error);
int sqlite_session_ended(struct store *store, const char *tenant, const char *id,
			 const char *reason, uint64_t runs, struct brig_error *error);
int sqlite_session_get(struct store *store, const char *tenant, const char *id, struct buf *answer,
		       struct brig_error *error);
/* Those that have ended. */
int sqlite_session_list(struct store *store, const char *tenant, const char *before, unsigned limit,
			struct buf *answer, struct brig_error *error);
/* Within a transaction: open sessions have ended with the previous service. */
int sqlite_session_recover(struct store *store, struct brig_error *error);
/* Deletes a few that ended long ago. */
int sqlite_session_sweep(struct store *store, bool *more, struct brig_error *error);

/* --- processor time of a day (sqlite_usage.c) --- */

/* The total that the caller has used on that day. */
int sqlite_usage_put(struct store *store, const char *caller, uint64_t day, uint64_t cpu_ns,
		     struct brig_error *error);
/* Of that day; other days are deleted. */
int sqlite_usage_list(struct store *store, uint64_t day, struct buf *answer,
		      struct brig_error *error);

/* --- the audit chain (sqlite_audit.c) --- */

/* `facts` are made by the ledger, in canonical form. */
int sqlite_append(struct store *store, const char *kind, const char *tenant, const char *facts,
		  struct brig_error *error);
/* `facts`: any object; NULL: {}. -EPROTO: not an object. */
int sqlite_audit(struct store *store, const char *kind, const char *tenant, const char *facts,
		 size_t facts_size, struct brig_error *error);
/* Signs the last entry, in a transaction of its own, and writes the head file. */
int sqlite_checkpoint(struct store *store, struct brig_error *error);
/* Reads the end of the chain, and checks the key and the head file against it. */
int sqlite_audit_open(struct store *store, struct brig_error *error);
#endif
