/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clones the template's process into a new cell.
 *
 * The clone is pid 1 of the cell, with a copy of the template's memory. It builds the cell, starts
 * the payload process in the same memory, and executes a program of its own
 * (native/cell/init_program.h): so there is one copy of the interpreter for each cell. Without that
 * program the payload process gets a copy of the copy.
 */
#ifndef BRIG_TEMPLATE_CLONE_CELL_H
#define BRIG_TEMPLATE_CLONE_CELL_H

#include "native/cell/cell.h"

/* Stacks for clones, which leave the template's to their payload process. 0 or -errno. */
int clone_cell_prepare(void);
/* The clone's pid and pidfd, or -errno. Its parent is the template's own. */
int clone_cell(struct cell *cell, uint64_t namespaces, int *ret_pidfd);
/*
 * In the payload process, when it has left its stack: waits until it has the memory for itself, and
 * removes the stacks. Returns its state, which is not `cell` if it has one of its own.
 */
struct cell *clone_cell_settle(struct cell *cell);
#endif
