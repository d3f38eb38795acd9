/* SPDX-License-Identifier: Apache-2.0 */
/* A host directory seen through a cell's own ids (root only). */
#ifndef BRIG_KERNEL_IDMOUNT_H
#define BRIG_KERNEL_IDMOUNT_H

#include <sys/types.h>

/*
 * A detached mount of the directory, in which its owner appears as `id`: what the program creates
 * there belongs to the directory's owner on the host, never to a passing id. Returns an fd, or
 * -errno (EINVAL: the file system cannot do that).
 */
int idmount_clone(int directory, uid_t id, gid_t gid);
#endif
