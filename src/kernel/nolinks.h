/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a directory by path without following any link. Async-signal-safe. */
#ifndef BRIG_KERNEL_NOLINKS_H
#define BRIG_KERNEL_NOLINKS_H

/* An O_PATH fd, or -errno (ELOOP, ENOTDIR: the path contains a link). */
int open_without_links(const char *path);
/*
 * Opens a directory again that was opened in another mount namespace, by its path there. -ESTALE:
 * another directory has its name now.
 */
int reopen_without_links(int known, const char *path);
#endif
