/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that appear whole or not at all. Until then they have no name, so whoever is killed while
 * writing one leaves nothing behind.
 */
#ifndef BRIG_BASE_PUBLISH_H
#define BRIG_BASE_PUBLISH_H

#include <stddef.h>

/*
 * Writes a new file of mode 0600. 0 or -errno; -EEXIST: there is one of that name already, and it
 * stays as it is. -EOPNOTSUPP: this file system has no files without a name (NFS).
 */
int publish_file(int dir, const char *name, const void *data, size_t size);
#endif
