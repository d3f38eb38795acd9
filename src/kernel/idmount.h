/* SPDX-License-Identifier: Apache-2.0 */
/* A host directory seen with a cell's own ids (root only). */
#ifndef BRIG_KERNEL_IDMOUNT_H
#define BRIG_KERNEL_IDMOUNT_H

#include <sys/types.h>

struct idmount_ids {
	uid_t user; /* the program's */
	gid_t group;
	/* Of a process that makes files for the program, and then gives them to it; 0: none. */
	uid_t maker;
};

/*
 * A detached mount of the directory, in which its owner appears as the program: files that the
 * program creates there belong to the directory's owner on the host, never to a temporary id.
 * Returns an fd, or -errno (EINVAL: the file system does not support it).
 */
int idmount_clone(int directory, const struct idmount_ids *ids);
#endif
