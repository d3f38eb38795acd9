/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a mount beneath a directory, which a bind of that directory alone would uncover. */
#ifndef BRIG_KERNEL_SUBMOUNT_H
#define BRIG_KERNEL_SUBMOUNT_H

/*
 * `mountinfo` is /proc/self/mountinfo, or a file like it; `dir` is a path without links, as the
 * kernel reports it. 1: *ret is the first mount point strictly beneath `dir` (owned by the caller);
 * 0: there is none; or -errno.
 */
int submount_find(const char *mountinfo, const char *dir, char **ret);
#endif
