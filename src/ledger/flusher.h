/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in SQLite's log goes to the disk, and from there into the database: copies of megabytes,
 * and syncs that take as long as the disk is busy. The role has one thread that everybody waits
 * for, so a process of its own does it, with a connection of its own. SQLite lets one write to the
 * log while another takes what is in it.
 *
 * One byte asks, one byte answers. Without it (no process to be had, or it has died) the role does
 * it.
 */
#ifndef BRIG_LEDGER_FLUSHER_H
#define BRIG_LEDGER_FLUSHER_H

#include <stdbool.h>

#include "base/error.h"
#include "loop/loop.h"

/* The process: until the other end of the socket is closed. It is sealed as the ledger is. */
void flusher_serve(int state_dirfd, int socket);

/* The role's end. */
struct flusher {
	int socket; /* owned; -1: there is none */
	bool busy;
	struct loop_source *source;
	/* It has done it, or could not. */
	void (*done)(void *user, int result);
	void *user;
};

/* Takes the socket; -1 is fine. */
int flusher_init(struct flusher *flusher, struct loop *loop, int socket,
		 void (*done)(void *user, int result), void *user);
void flusher_done(struct flusher *flusher);
/* False: nobody to ask. True: it is under way, and `done` comes. */
bool flusher_ask(struct flusher *flusher);
#endif
