/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state directory: for one server at a time, with a directory in it for the ledger only. Every
 * role holds the lock, so that it is free only when the last role has ended and its listening
 * sockets are closed, however the supervisor has ended.
 */
#ifndef BRIG_SERVE_STATE_H
#define BRIG_SERVE_STATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct state {
	char *path;            /* owned */
	int dir, lock, ledger; /* owned */
	bool fleeting;         /* made for this server only: removed at the end */
};

/* `path` NULL: a temporary directory, removed at the end. */
int state_open(struct state *state, const char *path, uid_t ledger_id, struct brig_error *err);
/*
 * Makes a directory in it for programs that the warden compiles, owned by the warden. Free `ret`.
 */
int state_cache(struct state *state, uid_t warden_id, char **ret, struct brig_error *err);
void state_done(struct state *state);
#endif
