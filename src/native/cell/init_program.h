/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pid 1 of a template's clone leaves its memory to the payload process, and becomes a program
 * of its own (src/cell_init) before any code of a tenant runs. Here is what that is started with.
 */
#ifndef BRIG_NATIVE_CELL_INIT_PROGRAM_H
#define BRIG_NATIVE_CELL_INIT_PROGRAM_H

#include "native/cell/cell.h"
#include "native/messages/payload_report.h"

/* Its descriptors. */
#define INIT_PROGRAM_CONTROL 3
#define INIT_PROGRAM_REPORTS 4
#define INIT_PROGRAM_LEFT    5 /* one byte, to the payload: it has the memory for itself */
#define INIT_PROGRAM_FDS_END 6

/* The number of its arguments, its name included. */
#define INIT_PROGRAM_ARGS 5

/* Does not return, unless it fails: -errno. `state` is that of the payload's reports. */
int init_become_program(struct cell *cell, enum payload_report_state state);
#endif
