/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates files completely or not at all. Until they are complete they have no name, so a process
 * that is killed while writing one leaves nothing behind.
 */
#ifndef BRIG_BASE_PUBLISH_H
#define BRIG_BASE_PUBLISH_H

#include <stddef.h>

/*
 * Writes a new file of mode 0600. 0 or -errno; -EEXIST: the name exists already, and the file is
 * unchanged. -EOPNOTSUPP: this file system has no files without a name (NFS).
 */
int publish_file(int dir, const char *name, const void *data, size_t size);
#endif
