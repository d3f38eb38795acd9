/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the payload process tells brig-init until it execs: fixed notes on a pipe. A note of another
 * size, kind or order, or with a value that cannot be, ends the cell.
 */
#ifndef BRIG_NATIVE_INIT_NOTE_H
#define BRIG_NATIVE_INIT_NOTE_H

#include <stdbool.h>
#include <stdint.h>

enum init_note_kind {
	INIT_NOTE_FAILED = 1, /* value = step index, errnum */
	INIT_NOTE_LISTENER,   /* value = fd number, in the shared table; errnum = 1: see wire.h */
	INIT_NOTE_READY,      /* all is dropped; only exec is left */
};

struct init_note {
	uint32_t kind;
	uint32_t value;
	int32_t errnum;
};

/* Uses write(2) alone: it works behind every filter. 0 or -errno. */
int init_note_write(int fd, enum init_note_kind kind, uint32_t value, int errnum);
/* 1: a note; 0: the payload's end has closed; -EPROTO: not a note; -errno. Waits. */
int init_note_read(int fd, struct init_note *note);

enum init_note_state {
	INIT_NOTES_NONE,
	INIT_NOTES_LISTENER,
	INIT_NOTES_READY,
	INIT_NOTES_ENDED,
};
/* Pure: checks a note of a plan with so many steps; moves the state on, or -EPROTO. */
int init_note_check(enum init_note_state *state, const struct init_note *note, unsigned steps);
#endif
