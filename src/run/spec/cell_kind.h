/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of cell: when a cell is made, and how its program gets into it. */
#ifndef BRIG_RUN_SPEC_CELL_KIND_H
#define BRIG_RUN_SPEC_CELL_KIND_H

#include <stdbool.h>

enum cell_kind {
	CELL_COLD, /* made for its request: executes the program at once */
	/* The same with a driver as the program: it has descriptor 3, for a value or a session. */
	CELL_DRIVEN,
	CELL_HELD, /* made ahead: waits, sealed, for an assignment, and executes its program */
	/* The same from a template: the program continues in its interpreter, without exec. */
	CELL_CLONED,
	/*
	 * Made ahead where the interpreter cannot be cloned: it is started at once, with a driver
	 * script that waits in it for the assignment.
	 */
	CELL_STARTED,
	CELL_KINDS,
};

struct cell_traits {
	bool ahead;          /* it is made before its request is known */
	bool held;           /* its payload waits for an assignment, which has all of the request */
	bool executes;       /* its payload ends with exec */
	bool has_descriptor; /* number 3, from its start */
	bool has_channels;   /* to a driver that waits in it */
	const char *workdir; /* in which the payload starts */
};

extern const struct cell_traits cell_traits[CELL_KINDS];
#endif
