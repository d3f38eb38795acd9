/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the ledger keeps its data, as a table of functions: SQLite is behind it
 * (sqlite/sqlite_store.h). It does not depend on messages. store.h has the calls.
 *
 * All functions that write are called between begin and commit; a failure in between rolls back to
 * the mark that was set before.
 */
#ifndef BRIG_LEDGER_STORE_CLASS_H
#define BRIG_LEDGER_STORE_CLASS_H

#include "base/bytes/buf.h"
#include "base/bytes/chain.h"
#include "base/error.h"
#include "ledger/ledger_messages.h"
#include "ledger/store/ended_result.h"
#include "ledger/store/timestamp.h"

/* Counted in memory, and restored when a transaction is rolled back. */
struct store_tally {
	struct chain_head head;
	struct chain_checkpoint checkpoint; /* the last one; number 0: none yet */
	struct chain_checkpoint
		anchor; /* the chain begins behind it; number 0: with the first entry */
	uint64_t executions;
	uint64_t result_bytes;
	uint64_t logged; /* the last record of the log that is in the store; 0: none yet */
};

struct store_limits {
	uint64_t result_age_ms;    /* how long results are kept; 0: for ever */
	uint64_t result_total_max; /* bytes of all results; 0: no limit */
	uint64_t result_max;       /* of one; longer ones are cut */
	uint64_t history_age_ms;   /* how long rows of executions are kept; 0: for ever */
	uint64_t audit_age_ms;     /* how long entries of the audit chain are kept; 0: for ever */
	bool durable;              /* a commit is on the disk when it returns */
};

/* A longer result is stored in parts of this size. */
#define STORE_PART_BYTES ((size_t)256 << 10)
#define STORE_LONG_BYTES (2 * STORE_PART_BYTES)

/* Ended sessions of a tenant: the oldest are deleted. */
#define STORE_SESSIONS_A_TENANT 1000

/*
 * The end of an execution with a long result, in steps. An open one needs its bytes until it is
 * freed. Each step (0; 1: all parts are stored; -errno) may be in a transaction of its own, with
 * those of others in between; the end is stored with the last call.
 */
struct store_ended;

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

/* Parts of a result that have not been read yet. n 0: none. */
struct store_more {
	int64_t n;
	unsigned part;
	uint64_t left; /* bytes */
	char id[27];   /* of the execution */
};

struct store;

struct store_class {
	/*
	 * Calls may be answered from the ledger's log, and are stored later. Not set: the store is
	 * elsewhere, and answers wait for its commit.
	 */
	bool behind_log;
	/* Opens or makes it, checks that its chain is continuous. It owns no descriptor of ours. */
	int (*open)(int dir, const struct store_limits *limits, struct store **ret,
		    struct brig_error *error);
	void (*close)(struct store *store);
	/* Executions that were running when the last ledger ended become lost. */
	int (*recover)(struct store *store, uint64_t *ret_lost, struct brig_error *error);

	int (*begin)(struct store *store, struct brig_error *error);
	int (*commit)(struct store *store, struct brig_error *error);
	void (*rollback)(struct store *store);
	bool (*in_transaction)(const struct store *store);
	/* One call within a transaction: it is stored completely, or not at all. */
	int (*mark)(struct store *store, struct brig_error *error);
	int (*release)(struct store *store, struct brig_error *error);
	/* False: the whole transaction was rolled back, as SQLite does on a full disk. */
	bool (*back)(struct store *store);
	/* All that was committed, to the disk; `truncate`: and its files have their least size. */
	int (*flush)(struct store *store, bool truncate, struct brig_error *error);
	/* The same from another process, which has only the directory. */
	int (*flush_apart)(int dir);
	/* All records of the log up to this one are in the store. */
	int (*logged)(struct store *store, uint64_t sequence, struct brig_error *error);
	uint64_t (*bytes)(struct store *store);

	/* `request`: a long one, whose parts are all stored; or NULL. */
	int (*execution_begin)(struct store *store, const struct ledger_text *texts, bool queued,
			       const struct store_request *request, struct buf *answer,
			       struct brig_error *error);
	int (*execution_started)(struct store *store, const char *id, struct brig_error *error);
	/* The result is not longer than STORE_LONG_BYTES. */
	int (*execution_ended)(struct store *store, const char *id, struct ended_result *result,
			       struct brig_error *error);
	/* Owns the result from here on, also when it fails. */
	int (*ended_open)(struct store *store, const char *id, struct ended_result *result,
			  struct store_ended **ret, struct brig_error *error);
	int (*ended_step)(struct store *store, struct store_ended *ended, struct brig_error *error);
	int (*ended_finish)(struct store *store, struct store_ended *ended,
			    struct brig_error *error);
	/* Removes the parts of a result that cannot be finished. */
	int (*ended_undo)(struct store *store, struct store_ended *ended, struct brig_error *error);
	void (*ended_free)(struct store_ended *ended);
	int (*request_step)(struct store *store, struct store_request *request,
			    struct brig_error *error);
	int (*request_undo)(struct store *store, const struct store_request *request,
			    struct brig_error *error);

	/* An answer that has more is complete up to there; "}" follows at the end. */
	int (*execution_get)(struct store *store, const char *tenant, const char *id,
			     struct buf *answer, struct store_more *more, struct brig_error *error);
	/* Appends the next part. 1: it was the last; 0; -ESTALE: it was deleted meanwhile. */
	int (*more_read)(struct store *store, struct store_more *more, struct buf *out,
			 struct brig_error *error);
	int (*execution_list)(struct store *store, const char *tenant, const char *before,
			      unsigned limit, struct buf *answer, struct brig_error *error);
	int (*execution_pending)(struct store *store, struct buf *answer, struct brig_error *error);
	/* Those that were not returned yet. */
	uint64_t (*execution_pending_count)(struct store *store);
	/* Cancels a few of these. 0 of them: none is left. */
	int (*execution_drop)(struct store *store, unsigned *ret_dropped, struct brig_error *error);
	/* Deletes a few results that are too old or exceed the total, and old rows. 1: there may
	 * be more. Not in a transaction. */
	int (*sweep)(struct store *store, struct brig_error *error);

	int (*session_opened)(struct store *store, const struct ledger_text *texts,
			      uint64_t idle_ms, struct brig_error *error);
	int (*session_ended)(struct store *store, const char *tenant, const char *id,
			     const char *reason, uint64_t runs, struct brig_error *error);
	int (*session_get)(struct store *store, const char *tenant, const char *id,
			   struct buf *answer, struct brig_error *error);
	/* Those that have ended. */
	int (*session_list)(struct store *store, const char *tenant, const char *before,
			    unsigned limit, struct buf *answer, struct brig_error *error);

	/* The total that the caller has used on that day. */
	int (*usage_put)(struct store *store, const char *caller, uint64_t day, uint64_t cpu_ns,
			 struct brig_error *error);
	/* Of that day; other days are deleted. */
	int (*usage_list)(struct store *store, uint64_t day, struct buf *answer,
			  struct brig_error *error);

	/* `facts` are made by the ledger, in canonical form. */
	int (*append)(struct store *store, const char *kind, const char *tenant, const char *facts,
		      struct brig_error *error);
	/* `facts`: any object; NULL: {}. -EPROTO: not an object. */
	int (*audit)(struct store *store, const char *kind, const char *tenant, const char *facts,
		     size_t facts_size, struct brig_error *error);
	/* Signs the last entry, in a transaction of its own, and writes the head file. */
	int (*checkpoint)(struct store *store, struct brig_error *error);
};

/* The beginning of every store. */
struct store {
	const struct store_class *class;
	struct store_limits limits;
	struct store_tally now, committed;
	struct chain_key key;
	bool has_mark;
	bool has_gone;  /* there may be parts of requests to delete */
	uint64_t at_ms; /* the time of a call that is stored later than it was answered; 0: now */
};

/* The time of what is stored now. */
static inline uint64_t store_now_ms(const struct store *store)
{
	return store->at_ms ? store->at_ms : timestamp_now_ms();
}
#endif
