/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the host's file system that a cell sees. Made by runtime/, mounted by the plan. */
#ifndef BRIG_RUN_SPEC_CLOSURE_H
#define BRIG_RUN_SPEC_CLOSURE_H

#include <stddef.h>

/* A path of the host that the cell sees, read-only. */
enum closure_kind { CLOSURE_DIR, CLOSURE_FILE, CLOSURE_LINK };
struct closure_item {
	enum closure_kind kind;
	/* owned, absolute, without links in its parents (but for CLOSURE_LINK itself) */
	char *path;
	char *target; /* CLOSURE_LINK: text of the link; owned */
};
struct closure {
	struct closure_item
		*items; /* owned; parents before children, no item inside a CLOSURE_DIR */
	size_t count;
};
void closure_done(struct closure *closure);
#endif
