/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a role: this same program once more, or another, with nothing but what it is given. */
#ifndef BRIG_SERVE_SPAWN_H
#define BRIG_SERVE_SPAWN_H

#include <sys/types.h>

#include "base/error.h"
#include "role/seal.h"
#include "serve/listen.h"

#define SPAWN_FDS_MAX (8 + LISTENERS_MAX)

struct spawn {
	enum role_name role;
	int fds[SPAWN_FDS_MAX]; /* become 3, 4, ...; stay the caller's */
	unsigned fds_count;
	int program; /* -1: this same one; stays the caller's */
};

int spawn_role(const struct spawn *spawn, pid_t *ret_pid, int *ret_pidfd, struct brig_error *err);
#endif
