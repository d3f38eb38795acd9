/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The template's loop: waits for a request of the warden, clones itself into a new cell, reports
 * the pid. Knows nothing of the interpreter around it.
 */
#ifndef BRIG_TEMPLATE_SERVE_H
#define BRIG_TEMPLATE_SERVE_H

#include "native/cell/cell.h"
#include "template/rehearsal.h"

/* The descriptor of brig-init's own program (native/cell/init_program.h). */
#define TEMPLATE_INIT 7

/* The work of a clone that has become a payload. */
struct template_assignment {
	struct assignment assignment;
	int value_fd;
};

struct template_hooks {
	struct rehearsal_hooks around; /* called around every clone, in the template itself */
	bool rehearses;                /* the interpreter can run a program of Python's */
};

/* The work that is left for the interpreter to get ready. */
enum template_start {
	TEMPLATE_PLAIN,     /* first writes to pages are faults: better now than in the program */
	TEMPLATE_PINNED,    /* the pages that it will write to are its own */
	TEMPLATE_REHEARSES, /* it is no clone, but a child of the template: see rehearsal.h */
};

/*
 * `name` is the name of the process. Returns only in a payload process, sealed, for the interpreter
 * to get ready, or in a child that rehearses; in the template it exits when the warden is gone.
 * -errno: the plan cannot be read, or the process has a second thread.
 */
int template_serve(int socket, int plan_fd, const char *name, const struct template_hooks *hooks,
		   enum template_start *ret_start);
/* In that payload: waits for its assignment. Does not return if none comes. */
void template_wait(struct template_assignment *ret);
#endif
