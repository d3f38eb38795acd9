/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a template sees of the host: the files that its runtime's closure names, and little else.
 * It is a copy of the host's tree with empty directories laid over the places that are nobody's
 * business; cells that are cloned from it build their own root from there.
 */
#ifndef BRIG_NATIVE_OUTER_H
#define BRIG_NATIVE_OUTER_H

#include "run/closure.h"

/* In a mount and UTS namespace of its own, with every capability there. 0 or -errno. */
int outer_build(const struct closure *closure);

/*
 * Copies the program to a file system in memory that is mounted nowhere, and read-only: a clone's
 * /proc/self/exe leads there, and neither locks, nor inotify, nor a change of its times can reach
 * the host's own file or another clone. Returns the directory's fd, or -errno; the file is called
 * `name` in it.
 */
int outer_program(int program, const char *name);
#endif
