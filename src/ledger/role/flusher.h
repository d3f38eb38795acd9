/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes SQLite's log to the disk, and from there into the database: copies of megabytes, and syncs
 * that take as long as the disk is busy. The role has one thread that all clients wait for, so a
 * process of its own does it, with a connection of its own. SQLite lets one process write to the
 * log while another copies it to the database.
 *
 * One byte is the request, one byte the reply. Without a flusher (it could not be started, or has
 * died) the role does the work itself.
 */
#ifndef BRIG_LEDGER_FLUSHER_H
#define BRIG_LEDGER_FLUSHER_H

#include <stdbool.h>

#include "base/error.h"
#include "ledger/store/store.h"
#include "loop/loop.h"

/* The process: runs until the other end of the socket is closed. It is sealed like the ledger. */
void flusher_serve(const struct store_class *class, int state_dirfd, int socket);

/* The role's end. */
struct flusher {
	int socket; /* owned; -1: there is none */
	bool busy;
	struct loop_source *source;
	/* The flush has succeeded or failed. */
	void (*done)(void *user, int result);
	void *user;
};

/* Owns the socket; -1 is allowed. */
int flusher_init(struct flusher *flusher, struct loop *loop, int socket,
		 void (*done)(void *user, int result), void *user);
void flusher_done(struct flusher *flusher);
/* False: there is no flusher. True: it has begun, and `done` will be called. */
bool flusher_ask(struct flusher *flusher);
#endif
