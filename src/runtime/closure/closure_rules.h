/* SPDX-License-Identifier: Apache-2.0 */
/* Which host paths a closure may include: limits what a data file can show to a cell. */
#ifndef BRIG_RUNTIME_CLOSURE_RULES_H
#define BRIG_RUNTIME_CLOSURE_RULES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * NULL when the absolute path may be shown; else why not (a static text). Used on the path as
 * written and again on the targets of its links.
 */
const char *closure_refuses(const char *path);
/* The directory of which a cell sees nothing, if the path is in one: "/tmp"; or NULL. */
const char *closure_refused_tree(const char *path);

/* "@libs", "@cc" and the like: entries that many runtimes share. NULL: no such group. */
const char *const *closure_group(const char *name);

/* "x86_64-linux-gnu": Debian's name for this machine's library directory. */
extern const char closure_multiarch[];
/* The dynamic loader of this machine's programs. */
extern const char closure_loader[];
#endif
