/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A private place for the files that an agent returns: a tmpfs with the limits of the run. A
 * process of its own makes it, in namespaces of its own, and ends; only the descriptor is left.
 * Nothing is on a disk or mounted anywhere on the host, and all of it ends with brig.
 */
#ifndef BRIG_AGENT_LINK_OWN_TMPFS_H
#define BRIG_AGENT_LINK_OWN_TMPFS_H

#include <stdint.h>
#include <sys/types.h>

struct own_tmpfs {
	int socket; /* owned: readable when the process has made it; -1: it has not begun */
	int pidfd;  /* owned */
	int root;   /* owned: the directory; -1: it is not there yet */
};
#define OWN_TMPFS_NONE                                                                             \
	{                                                                                          \
		.socket = -1, .pidfd = -1, .root = -1                                              \
	}

int own_tmpfs_begin(struct own_tmpfs *tmpfs, uint64_t bytes, uint64_t inodes);
/* Its socket is readable. 1: it is there; 0: not yet; -errno. */
int own_tmpfs_take(struct own_tmpfs *tmpfs);
void own_tmpfs_done(struct own_tmpfs *tmpfs);
#endif
