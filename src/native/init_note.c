/* SPDX-License-Identifier: Apache-2.0 */
/* The notes of the payload process to brig-init, written and read: see init.h. */
#include "native/init_note.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ERRNO_MAX 4095 /* the kernel's own bound */

int init_note_write(int fd, enum init_note_kind kind, uint32_t value, int errnum)
{
	struct init_note note = { .kind = kind, .value = value, .errnum = errnum };

	return write(fd, &note, sizeof(note)) == sizeof(note) ? 0 : -EIO;
}

int init_note_read(int fd, struct init_note *note)
{
	ssize_t n;

	do {
		n = read(fd, note, sizeof(*note));
	} while (n < 0 && errno == EINTR);
	if (n < 0) {
		return -errno;
	}
	return n == 0 ? 0 : n == sizeof(*note) ? 1 : -EPROTO;
}

/* Which note may come when, and what comes then. */
static const struct {
	enum init_note_state from;
	enum init_note_kind kind;
	enum init_note_state to;
} note_rules[] = {
	{ INIT_NOTES_NONE, INIT_NOTE_FAILED, INIT_NOTES_ENDED },
	{ INIT_NOTES_NONE, INIT_NOTE_LISTENER, INIT_NOTES_LISTENER },
	{ INIT_NOTES_NONE, INIT_NOTE_READY, INIT_NOTES_READY },
	{ INIT_NOTES_LISTENER, INIT_NOTE_FAILED, INIT_NOTES_ENDED },
	{ INIT_NOTES_LISTENER, INIT_NOTE_READY, INIT_NOTES_READY },
	{ INIT_NOTES_READY, INIT_NOTE_FAILED, INIT_NOTES_ENDED },
};

static bool sound(const struct init_note *note, unsigned steps)
{
	switch (note->kind) {
	case INIT_NOTE_FAILED:
		return note->value < steps && note->errnum > 0 && note->errnum <= ERRNO_MAX;
	case INIT_NOTE_LISTENER: /* the standard streams are the program's */
		return note->value > 2 && note->value <= INT_MAX && note->errnum >= 0 &&
		       note->errnum <= 1;
	default:
		return note->value == 0 && note->errnum == 0;
	}
}

int init_note_check(enum init_note_state *state, const struct init_note *note, unsigned steps)
{
	for (size_t i = 0; i < ARRAY_SIZE(note_rules); i++) {
		if (note_rules[i].from == *state && (uint32_t)note_rules[i].kind == note->kind &&
		    sound(note, steps)) {
			*state = note_rules[i].to;
			return 0;
		}
	}
	return -EPROTO;
}
