/* SPDX-License-Identifier: Apache-2.0 */
/* An execution that has not ended, for the files that change it. Private to sqlite_*.c. */
#ifndef BRIG_LEDGER_SQLITE_EXECUTIONS_H
#define BRIG_LEDGER_SQLITE_EXECUTIONS_H

#include "ledger/sqlite/sqlite_store.h"

enum execution_state { QUEUED, RUNNING, ENDED };

/* A row that has not ended: its number, and, if requested, the caller. */
struct open_execution {
	int64_t n;
	int64_t state;
	char tenant[129];
	char caller[129];
	char session[65];
	char language[65];
	char policy[161];
	char code[65];
};

/* -ENOENT: not found; -EALREADY: it is past the state `before`. */
int execution_find_open(struct store *store, const char *id, enum execution_state before,
			struct open_execution *ret, struct brig_error *error);

/* --- requests (store_request.c) --- */

/* `request`: a long one, whose parts are all stored; NULL: the text is stored here. */
int sqlite_request_put(struct store *store, int64_t n, const struct ledger_text *text,
		       const struct store_request *request, struct brig_error *error);
/* 1: there was one; 0: there was none. The parts of a long one are deleted later. */
int sqlite_request_drop(struct store *store, int64_t n, struct brig_error *error);
/* The whole text of a long one. */
int sqlite_request_read(struct store *store, int64_t m, uint64_t size, struct buf *out,
			struct brig_error *error);
/* Requests that were partly stored when the last ledger ended may be deleted. */
int sqlite_request_recover(struct store *store, struct brig_error *error);
/* Deletes a few parts. */
int sqlite_request_sweep(struct store *store, bool *more, struct brig_error *error);

/* --- parts of long results (store_parts.c) --- */

/* The most parts of a result: their keys consist of its number and theirs. */
#define STORE_PARTS_MAX 4096u

/* Storing it again has no effect. */
int sqlite_part_put(struct store *store, int64_t n, unsigned part, const void *data, size_t size,
		    struct brig_error *error);
/* 0, or up to `most` were deleted: how many. */
int sqlite_parts_drop(struct store *store, int64_t n, unsigned most, struct brig_error *error);
#endif
