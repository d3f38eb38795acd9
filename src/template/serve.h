/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The template's loop: waits for a request of the warden, clones itself into a new cell, reports
 * the pid. Knows nothing of the interpreter around it.
 */
#ifndef BRIG_TEMPLATE_SERVE_H
#define BRIG_TEMPLATE_SERVE_H

#include "native/cell/cell.h"

/* The work of a clone that has become a payload. */
struct template_assignment {
	struct assignment assignment;
	int value_fd;
};

/* Called around every clone in the template itself. */
struct template_hooks {
	void (*before)(void);
	void (*after)(void);
};

/*
 * `name` is the name of the process. Returns only in a payload process, sealed, for the interpreter
 * to get ready; in the template it exits when the warden is gone. -errno: the plan cannot be read,
 * or the process has a second thread.
 */
int template_serve(int socket, int plan_fd, const char *name, const struct template_hooks *hooks);
/* In that payload: waits for its assignment. Does not return if none comes. */
void template_wait(struct template_assignment *ret);
#endif
