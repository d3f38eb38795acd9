/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the ledger role. Private to ledger_role*.c. */
#ifndef BRIG_LEDGER_ROLE_INTERNAL_H
#define BRIG_LEDGER_ROLE_INTERNAL_H

#include "base/list.h"
#include "ledger/log/backlog.h"
#include "ledger/role/flusher.h"
#include "ledger/role/ledger_role.h"
#include "ledger/store/store.h"
#include "role/message.h"

#define SEC         UINT64_C(1000000000)
#define ANSWERS_MAX 512

struct answer {
	uint64_t serial;
	struct brig_error error; /* errnum 0: none */
	struct buf data;
	struct store_more more; /* the data is the beginning of the answer */
	bool logged;            /* the call is in the log, and does not depend on a transaction */
	uint64_t sequence;      /* its record, until that is known to be written; or 0 */
	char opens[27];         /* when it succeeds, this execution runs */
};

struct long_job;

/* First in, first out. */
enum long_kind { LONG_STORE, LONG_BEGIN, LONG_READ, LONG_KINDS };

struct ledger_role {
	struct loop *loop;
	struct ledger_options options;
	struct store *store;       /* owned */
	struct backlog backlog;    /* calls that are answered, and not in the store yet */
	uint64_t flushing;         /* the last record of the log that the flush under way has */
	struct message_peer *peer; /* owned */
	int socket;                /* the peer's, to check whether more records wait */
	struct flusher flusher;
	struct loop_timer commit, fill, flush, checkpoint, sweep, jobs_due;
	/* See ledger_role_long.h. */
	struct list jobs;                /* struct long_job, owned: under way, in turn */
	struct list waiting[LONG_KINDS]; /* the same: those that wait for a place */
	unsigned active[LONG_KINDS];     /* of those under way */
	uint64_t begun_ns;               /* of the transaction */
	uint64_t flush_due_ns;  /* when the flush became due, while it is delayed; 0: it is not */
	struct answer *answers; /* owned: ANSWERS_MAX of them */
	unsigned answers_count;
	size_t answers_bytes;
};

void role_note(struct ledger_role *role, bool bad, const char *event, const char *text);

/* --- ledger_role_answers.c --- */

/* Sends all answers; `failure`: that of the commit, for each answer without an error of its own. */
void role_send_answers(struct ledger_role *role, const struct brig_error *failure);

/* To the front: 0, or -errno, for role_sent(). */
int role_send_text(struct ledger_role *role, struct message *message, const char *data,
		   size_t size);
int role_send_block(struct ledger_role *role, struct message *message, int block);
int role_send_error(struct ledger_role *role, struct message *message,
		    const struct brig_error *error);
void role_sent(struct ledger_role *role, int r);

/* --- ledger_role_long.c, ledger_role_ended.c, ledger_role_begin.c, ledger_role_read.c --- */

void role_long_init(struct ledger_role *role);
/*
 * An execution ends with a long result: true, and the role owns the block from here on, and answers
 * when it is stored; false: it is short, and handled like any other call.
 */
bool role_long_store(struct ledger_role *role, uint64_t serial, const char *id, void *block,
		     size_t size);
/* The same for a queued execution with a long request; `form` is the rest of the call. */
bool role_long_begin(struct ledger_role *role, uint64_t serial, const void *form, size_t form_size,
		     void *block, size_t size);
/* An answer that has more is sent later. */
void role_long_read(struct ledger_role *role, const struct answer *answer);
/* Finishes all of them now: the loop ends. */
void role_long_finish(struct ledger_role *role);

/* --- ledger_role_commit.c --- */

void role_timers_init(struct ledger_role *role);
void role_timers_done(struct ledger_role *role);
/* Sets it, if it is not set. */
void role_arm(struct ledger_role *role, struct loop_timer *timer, uint64_t in_ns);
/* The disk may be full: when the log is in the database, the log's own space can be reused. */
void role_failed(struct ledger_role *role, const struct brig_error *error);
void role_sign_now(struct ledger_role *role);
void role_commit_now(struct ledger_role *role);
void role_flushed(void *user, int result); /* by the flusher */
/* After a commit: signing, flushing, deleting, if they are due. */
void role_committed(struct ledger_role *role);

/* --- ledger_role_replay.c --- */

/* Opens the log, and stores what the last ledger has left in it. */
int role_backlog_open(struct ledger_role *role, int dir, struct brig_error *error);
/* All of that is in the store: the log begins anew. */
int role_backlog_begin(struct ledger_role *role, struct brig_error *error);

/* --- ledger_role_backlog.c --- */

/* Before the end: the last calls are stored. Those that cannot be stay in the log. */
void role_backlog_end(struct ledger_role *role);
/*
 * 1: the call is in the backlog, and its answer may be sent after role_backlog_write(). 0: it must
 * go to the store. -EPROTO: a correct front does not send it; other errors are the answer.
 */
int role_backlog_take(struct ledger_role *role, const struct message *message,
		      const struct ledger_text *texts, struct brig_error *error);
/* Writes the calls of this round; those that cannot be written get an error as their answer. */
void role_backlog_write(struct ledger_role *role);
/* Stores a slice of the backlog: 1: there is more; 0; or the error, and nothing was stored. */
int role_backlog_fill(struct ledger_role *role, struct brig_error *error);
/* Stores all of it: what follows sees everything that was answered. */
int role_backlog_settle(struct ledger_role *role, struct brig_error *error);
/* The timer. */
void role_backlog_fill_due(void *user);
#endif
