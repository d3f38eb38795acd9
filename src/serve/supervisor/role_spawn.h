/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a role: this same program again, or another one, with only the descriptors and environment
 * that are listed.
 */
#ifndef BRIG_SERVE_SPAWN_H
#define BRIG_SERVE_SPAWN_H

#include <sys/types.h>

#include "base/error.h"
#include "role/seal.h"
#include "serve/listen/listen.h"

#define SPAWN_FDS_MAX (8 + LISTENERS_MAX)

struct spawn {
	enum role_name role;
	int fds[SPAWN_FDS_MAX]; /* become 3, 4, ...; owned by the caller */
	unsigned fds_count;
	int program; /* -1: this same program; owned by the caller */
};

int spawn_role(const struct spawn *spawn, pid_t *ret_pid, int *ret_pidfd, struct brig_error *err);
#endif
