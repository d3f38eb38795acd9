/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The notes of the payload process, as brig-init reads them: any bytes, in any order. Only whole
 * notes with possible values are accepted, and only in the right order.
 *
 * Input: the number of the plan's steps, then messages: one byte of size, and the bytes themselves.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "native/init_note.h"

#define MESSAGES_MAX 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds) {
		abort();
	}
}

/* The actions of brig-init for an accepted note must be harmless. */
static void accepted(const struct init_note *note, enum init_note_state before, unsigned steps)
{
	switch (note->kind) {
	case INIT_NOTE_FAILED:
		must(before != INIT_NOTES_ENDED && note->value < steps && note->errnum > 0);
		break;
	case INIT_NOTE_LISTENER:
		must(before == INIT_NOTES_NONE && note->value > 2 && note->value <= INT_MAX);
		break;
	case INIT_NOTE_READY:
		must(before < INIT_NOTES_READY);
		break;
	default:
		abort();
	}
}

static void hear(int fd, enum init_note_state *state, unsigned steps, const uint8_t *sent,
		 size_t size)
{
	struct init_note note;
	int r = init_note_read(fd, &note);

	must(r == (size == sizeof(note) ? 1 : size == 0 ? 0 : -EPROTO));
	if (r != 1) {
		return;
	}
	must(memcmp(&note, sent, sizeof(note)) == 0);
	enum init_note_state before = *state;
	int checked = init_note_check(state, &note, steps);
	if (checked == 0) {
		must(*state > before);
		accepted(&note, before, steps);
	} else {
		must(checked == -EPROTO && *state == before);
	}
}

/* A written note is read, and accepted where it is due. */
static void round_trip(int ends[2], unsigned steps)
{
	enum init_note_state state = INIT_NOTES_NONE;
	struct init_note note;

	must(init_note_write(ends[1], INIT_NOTE_LISTENER, 3, 0) == 0);
	must(init_note_read(ends[0], &note) == 1 && init_note_check(&state, &note, steps) == 0);
	must(init_note_write(ends[1], INIT_NOTE_READY, 0, 0) == 0);
	must(init_note_read(ends[0], &note) == 1 && init_note_check(&state, &note, steps) == 0);
	must(init_note_write(ends[1], INIT_NOTE_FAILED, 0, ENOENT) == 0);
	must(init_note_read(ends[0], &note) == 1);
	must(init_note_check(&state, &note, steps) == (steps ? 0 : -EPROTO));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum init_note_state state = INIT_NOTES_NONE;
	int ends[2];

	if (size == 0) {
		return 0;
	}
	unsigned steps = *data++;
	size--;
	must(pipe2(ends, O_CLOEXEC) == 0);
	round_trip(ends, steps);
	for (int n = 0; n < MESSAGES_MAX && size >= 1; n++) {
		/* Most of the right size, or the order is hardly tested; none longer. */
		size_t length = data[0] < 192 ? sizeof(struct init_note)
					      : data[0] % sizeof(struct init_note);
		data++;
		size--;
		length = length < size ? length : size;
		if (length) {
			must(write(ends[1], data, length) == (ssize_t)length);
			hear(ends[0], &state, steps, data, length);
		}
		data += length;
		size -= length;
	}
	close(ends[1]);
	hear(ends[0], &state, steps, NULL, 0);
	close(ends[0]);
	return 0;
}
