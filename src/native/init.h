/* SPDX-License-Identifier: Apache-2.0 */
/* Between the payload process and brig-init, until exec. */
#ifndef BRIG_NATIVE_INIT_H
#define BRIG_NATIVE_INIT_H

#include "native/cell.h"
#include "native/init_note.h"

/* Numbers that are kept for the payload's last steps: the least that limits.open_files can be. */
#define INIT_ROOM_FDS 8

/* What the program is to have as its descriptor for a value. */
enum init_wants {
	INIT_WANTS_NOTHING,
	INIT_WANTS_VALUE,
	INIT_WANTS_CHANNEL, /* a session's; made ahead only */
};

/* The word that the payload waits for: brig-init's, or the warden's in a cell made ahead. */
struct init_go {
	uint32_t wants; /* enum init_wants */
};

/* The payload's way to tell brig-init which step failed. */
_Noreturn void payload_die(struct cell *cell, int errnum);
/* Tells the warden which step failed, and ends the cell. */
_Noreturn void init_die(struct cell *cell, unsigned step, int errnum);
/* 0, 1 and 2 will be the program's: what must survive until exec has to be above. */
int init_lift(int *fd);
#endif
