/* SPDX-License-Identifier: Apache-2.0 */
/* A closure while it is being built: takes paths of the host, returns sorted items. */
#ifndef BRIG_RUNTIME_CLOSURE_SET_H
#define BRIG_RUNTIME_CLOSURE_SET_H

#include "runtime/runtime.h"

#define CLOSURE_ITEMS_MAX 2048

struct closure_set {
	struct closure_item *items; /* owned */
	size_t count, capacity;
	struct strlist real_dirs; /* directories known not to be links: not checked again */
};

void closure_set_done(struct closure_set *set);

/*
 * Adds the target of `path`, and each link on the way. -ENOENT: not found (the set is unchanged);
 * -ELOOP and the like; -EPERM, and only then with an error: it leads to a path that closures never
 * show. `real` (may be NULL) gets PATH_MAX bytes: the path without links.
 */
int closure_set_add(struct closure_set *set, const char *path, char *real, struct brig_error *err);
/* Adds `path` alone if it is a link, not its target; 0 also when it is not a link. */
int closure_set_add_link(struct closure_set *set, const char *path);
/* Is it, or is it inside, a CLOSURE_DIR of the set? `real` has no links. */
bool closure_set_covers(const struct closure_set *set, const char *real);
/*
 * Moves the items out: sorted, parents first, without duplicates and items that a directory covers.
 */
void closure_set_finish(struct closure_set *set, struct closure *ret);
#endif
