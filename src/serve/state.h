/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state directory: one server at a time, and in it a directory that is the ledger's alone. The
 * lock is held by every role, so that it is free only when the last of them is gone, and the
 * sockets that they listened on with them, however the supervisor has ended.
 */
#ifndef BRIG_SERVE_STATE_H
#define BRIG_SERVE_STATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct state {
	char *path;            /* owned */
	int dir, lock, ledger; /* owned */
	bool fleeting;         /* made for this server alone: removed at the end */
};

/* `path` NULL: a directory of its own that goes with it. */
int state_open(struct state *state, const char *path, uid_t ledger_id, struct brig_error *err);
/* A directory in it for what the warden compiles, which becomes its own. `ret` is to be freed. */
int state_cache(struct state *state, uid_t warden_id, char **ret, struct brig_error *err);
void state_done(struct state *state);
#endif
