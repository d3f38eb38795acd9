/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A template's view of the host: the files that its runtime's closure names, and little else. It is
 * a copy of the host's tree in which empty directories cover all private places; cells that are
 * cloned from the template build their own root from it.
 */
#ifndef BRIG_NATIVE_KEEPER_TEMPLATE_VIEW_H
#define BRIG_NATIVE_KEEPER_TEMPLATE_VIEW_H

#include <stdbool.h>

#include "run/spec/closure.h"

/* Call in a separate mount and UTS namespace, with every capability there. 0 or -errno. */
int template_view_build(const struct closure *closure);

/*
 * Copies the program to a read-only file system in memory that is mounted nowhere: a clone's
 * /proc/self/exe leads there, so that neither locks, nor inotify, nor a change of its times reach
 * the host's own file or another clone. Returns the directory's fd, or -errno; the file's name in
 * it is `name`. `huge`: in large pages, for a program of megabytes.
 */
int template_view_copy_program(int program, const char *name, bool huge);
/* The same, in a file system of its own: the file's fd. */
int template_view_open_copy(int program, const char *name);
#endif
