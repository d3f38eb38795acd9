/* SPDX-License-Identifier: Apache-2.0 */
/* A file system in memory. Async-signal-safe. */
#ifndef BRIG_KERNEL_TMPFS_H
#define BRIG_KERNEL_TMPFS_H

/*
 * Makes one that is not mounted anywhere yet, without set-user-id programs and devices. Returns
 * the mount, or -errno.
 */
int tmpfs_new(const char *size, const char *inodes, const char *mode);
#endif
