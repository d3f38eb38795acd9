/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a directory by path without following any link. Async-signal-safe. */
#ifndef BRIG_KERNEL_NOLINKS_H
#define BRIG_KERNEL_NOLINKS_H

/* An O_PATH fd, or -errno (ELOOP, ENOTDIR: the path contains a link). */
int open_without_links(const char *path);
#endif
