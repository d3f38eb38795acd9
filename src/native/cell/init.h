/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between the payload process and brig-init, until exec. */
#ifndef BRIG_NATIVE_CELL_INIT_H
#define BRIG_NATIVE_CELL_INIT_H

#include "native/cell/cell.h"
#include "native/cell/init_rest.h"

/* Descriptors that are kept free for the payload's last steps: the least limits.open_files. */
#define INIT_ROOM_FDS 8

/* The purpose of the program's descriptor 3. */
enum init_wants {
	INIT_WANTS_NOTHING,
	INIT_WANTS_VALUE,
	INIT_WANTS_CHANNEL, /* a session's; made ahead only */
};

/*
 * The message that the payload waits for: from brig-init, or from the warden in a cell made ahead.
 */
struct init_go {
	uint32_t wants; /* enum init_wants */
};

/* Reports the failed step to brig-init, and ends the payload process. */
_Noreturn void payload_die(struct cell *cell, int errnum);
/* Reports the failed step to the warden, and ends the cell. */
_Noreturn void init_die(struct cell *cell, unsigned step, int errnum);
/* The part of a cell that brig-init needs from here on. */
struct init_rest init_rest_of(const struct cell *cell);
/* 0, 1 and 2 will be the program's: moves a descriptor that must survive until exec above them. */
int init_lift(int *fd);
#endif
