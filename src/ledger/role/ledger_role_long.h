/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long results are stored and read a part at a time, and long requests are stored so: one part of
 * one of them in each round of the loop, in turns, with other calls between two parts. Some of each
 * kind are active; the others wait, and hold only the received bytes (to be stored) or an id (to be
 * read).
 */
#ifndef BRIG_LEDGER_ROLE_LONG_H
#define BRIG_LEDGER_ROLE_LONG_H

#include "ledger/role/ledger_role_internal.h"

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
	struct store_ended *ended; /* owned; NULL: not begun */
	/* A request: */
	struct buf form; /* the texts of the call */
	struct store_request request;
	struct buf begun; /* the answer */
	/* Reading: */
	struct store_more more;
	int answer; /* owned: a memory file; -1: not begun */
};

/* Adds a waiting job; NULL: no memory. */
struct long_job *long_job_new(struct ledger_role *role, enum long_kind kind, uint64_t serial,
			      const char *id);
/* Answers a call for which no job could be made. */
void long_refuse(struct ledger_role *role, uint64_t serial, const char *what);

typedef int long_act(struct store *store, struct long_job *job, struct brig_error *error);
/* In a transaction of its own. */
int long_in_transaction(struct ledger_role *role, struct long_job *job, long_act *act,
			struct brig_error *error);

/* A turn (0: there is more to do; 1: done; -errno), and the answer at the end. */
int long_store_some(struct ledger_role *role, struct long_job *job); /* ledger_role_ended.c */
void long_answer_stored(struct ledger_role *role, struct long_job *job);
int long_begin_some(struct ledger_role *role, struct long_job *job); /* ledger_role_begin.c */
void long_answer_begun(struct ledger_role *role, struct long_job *job);
int long_read_some(struct ledger_role *role, struct long_job *job); /* ledger_role_read.c */
void long_answer_read(struct ledger_role *role, struct long_job *job);
#endif
