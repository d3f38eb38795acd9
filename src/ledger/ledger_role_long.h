/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long results are stored and read a part at a time, and long requests stored: one part of one of
 * them in each round of the loop, by turns, and between two parts whatever else has come. Some of
 * each kind are under way; the others wait behind them, and have nothing but the bytes that came
 * (what is stored) or an id (what is read).
 */
#ifndef BRIG_LEDGER_ROLE_LONG_H
#define BRIG_LEDGER_ROLE_LONG_H

#include "ledger/ledger_role_internal.h"

struct long_job {
	struct list_node node;
	enum long_kind kind;
	uint64_t serial; /* of the call */
	char id[27];     /* of the execution */
	struct brig_error error;
	/* Storing a result or a request: */
	void *block; /* owned: a mapping */
	size_t block_size;
	/* A result: */
	struct store_ended *ended; /* owned; NULL: it has not begun */
	/* A request: */
	struct buf form; /* the texts of the call */
	struct store_request request;
	struct buf begun; /* the answer */
	/* Reading: */
	struct store_more more;
	int answer; /* owned: a memory file; -1: it has not begun */
};

/* One that waits for its place; NULL: no memory. */
struct long_job *long_job_new(struct ledger_role *role, enum long_kind kind, uint64_t serial,
			      const char *id);
/* Answers a call that no job could be made of. */
void long_refuse(struct ledger_role *role, uint64_t serial, const char *what);

typedef int long_act(struct store *store, struct long_job *job, struct brig_error *error);
/* In a transaction of its own. */
int long_in_transaction(struct ledger_role *role, struct long_job *job, long_act *act,
			struct brig_error *error);

/* A turn (0: there is more to do; 1: it is done; -errno), and what is said at the end. */
int long_store_some(struct ledger_role *role, struct long_job *job); /* ledger_role_ended.c */
void long_answer_stored(struct ledger_role *role, struct long_job *job);
int long_begin_some(struct ledger_role *role, struct long_job *job); /* ledger_role_begin.c */
void long_answer_begun(struct ledger_role *role, struct long_job *job);
int long_read_some(struct ledger_role *role, struct long_job *job); /* ledger_role_read.c */
void long_answer_read(struct ledger_role *role, struct long_job *job);
#endif
