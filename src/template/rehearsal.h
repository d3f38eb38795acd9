/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of the template that run a small program of ours, as a clone runs a tenant's: they show
 * which pages every run writes to (hot_pages.h). They never leave the template's own view of the
 * host, and end before any clone is made.
 */
#ifndef BRIG_TEMPLATE_REHEARSAL_H
#define BRIG_TEMPLATE_REHEARSAL_H

#include <stdbool.h>

#include "native/messages/assignment.h"

/* Called around each fork, in the template itself. */
struct rehearsal_hooks {
	void (*before)(void);
	void (*after)(void);
};

/*
 * Makes the children, one after the other, and pins the pages. True: this is a child, which goes on
 * as a clone does. False: in the template; *ret_pinned is the number of pages, or -errno.
 */
bool rehearsal_hold(const struct rehearsal_hooks *hooks, int *ret_pinned);
/* In a clone, before its assignment: has the faults of code that every run reads. */
void rehearsal_read_ahead(void);
/* In a child: what it has to run. */
void rehearsal_assign(struct assignment *ret, int *ret_value_fd);
/* In a child, at its end: reports its pages, and ends it. */
_Noreturn void rehearsal_end(void);
#endif
