/* SPDX-License-Identifier: Apache-2.0 */
/* Device nodes of a cell's own (root only; an ordinary user cannot make any). */
#ifndef BRIG_KERNEL_DEVICES_H
#define BRIG_KERNEL_DEVICES_H

/*
 * A detached tmpfs with null, zero, full, random, urandom, the links fd and stdin to stderr, and an
 * empty shm. The nodes are inodes of this cell only: locks, times and inotify watches on them are
 * not shared. Returns an fd, or -errno.
 */
int devices_make(void);
#endif
