/* Between the payload process and brig-init, until exec. */
#ifndef BRIG_CORE_INIT_H
#define BRIG_CORE_INIT_H

#include <stdint.h>

#include "core/cell.h"

enum init_note_kind {
	INIT_NOTE_FAILED = 1, /* value = step index */
	INIT_NOTE_LISTENER,   /* value = fd number, in the shared table */
	INIT_NOTE_READY,      /* all is dropped; only exec is left */
};

struct init_note {
	uint32_t kind;
	uint32_t value;
	int32_t errnum;
};

/* Uses write(2) alone: it works behind every filter. 0 or -errno. */
int init_note(struct cell *cell, enum init_note_kind kind, uint32_t value, int errnum);

/* Tells the warden which step failed, and ends the cell. */
_Noreturn void init_die(struct cell *cell, unsigned step, int errnum);
/* 0, 1 and 2 will be the program's: what must survive until exec has to be above. */
int init_lift(int *fd);
#endif
