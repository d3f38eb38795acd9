/* SPDX-License-Identifier: Apache-2.0 */
/* An execution that has not ended, for the files that move it on. Private to store_*.c. */
#ifndef BRIG_LEDGER_STORE_EXECUTIONS_H
#define BRIG_LEDGER_STORE_EXECUTIONS_H

#include "ledger/store.h"

enum execution_state { QUEUED, RUNNING, ENDED };

/* A row that has not ended: its number, and, when it is wanted, who asked. */
struct open_one {
	int64_t n;
	int64_t state;
	char tenant[129];
	char caller[129];
	char session[65];
	char language[65];
	char policy[161];
	char code[65];
};

/* -ENOENT: there is none; -EALREADY: it has come further than `before`. */
int execution_find_open(struct store *store, const char *id, enum execution_state before,
			struct open_one *ret, struct brig_error *error);

/* --- requests (store_request.c) --- */

/* `request`: a long one, all of whose parts are stored; NULL: the text is stored here. */
int store_request_put(struct store *store, int64_t n, const struct ledger_text *text,
		      const struct store_request *request, struct brig_error *error);
/* 1: there was one; 0: there was none. The parts of a long one go later. */
int store_request_drop(struct store *store, int64_t n, struct brig_error *error);
/* All of a long one. */
int store_request_read(struct store *store, int64_t m, uint64_t size, struct buf *out,
		       struct brig_error *error);
/* Those that were half stored when the last ledger ended may go. */
int store_request_recover(struct store *store, struct brig_error *error);
/* Deletes a few parts. */
int store_request_sweep(struct store *store, bool *more, struct brig_error *error);

/* --- parts of long results (store_parts.c) --- */

/* Parts that a result may have: their keys are made of its number and theirs. */
#define STORE_PARTS_MAX 4096u

/* Once more is the same. */
int store_part_put(struct store *store, int64_t n, unsigned part, const void *data, size_t size,
		   struct brig_error *error);
/* 0, or up to `most` are gone: how many. */
int store_parts_drop(struct store *store, int64_t n, unsigned most, struct brig_error *error);
#endif
