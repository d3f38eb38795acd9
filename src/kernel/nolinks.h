/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a directory by path with no link followed, at any place. Async-signal-safe. */
#ifndef BRIG_KERNEL_NOLINKS_H
#define BRIG_KERNEL_NOLINKS_H

/* An O_PATH fd, or -errno (ELOOP, ENOTDIR: a link is on the way). */
int open_without_links(const char *path);
#endif
