/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modes of a terminal that a program may set: those that full-screen programs use. Others lock the
 * keyboard, or make the terminal send reports at once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/run/screen.h"

static const struct {
	bool private; /* after ESC [ ? */
	bool on;      /* before any program */
	unsigned number;
} modes[] = {
	{ false, false, 4 },   /* insert */
	{ false, false, 34 },  /* shape of the cursor */
	{ true, false, 1 },    /* keys of the cursor */
	{ true, false, 3 },    /* columns */
	{ true, false, 4 },    /* smooth scrolling */
	{ true, false, 5 },    /* reverse screen */
	{ true, false, 6 },    /* origin */
	{ true, true, 7 },     /* wrap */
	{ true, false, 12 },   /* blinking cursor */
	{ true, true, 25 },    /* cursor is visible */
	{ true, false, 45 },   /* wrap backwards */
	{ true, false, 66 },   /* keypad */
	{ true, false, 69 },   /* margins */
	{ true, false, 1000 }, /* mouse: buttons */
	{ true, false, 1002 }, /* and drags */
	{ true, false, 1003 }, /* and moves */
	{ true, false, 1004 }, /* focus */
	{ true, false, 1005 }, /* mouse: forms of reports */
	{ true, false, 1006 }, /* the same */
	{ true, false, 1015 }, /* the same */
	{ true, false, 2004 }, /* pasted text is marked */
	{ true, false, 2026 }, /* changes are shown together */
	{ true, false, 1048 }, /* cursor is saved */
	{ true, false, 47 },   /* the other screen */
	{ true, false, 1047 }, /* the same */
	{ true, false, 1049 }, /* the same, with the cursor */
};
_Static_assert(ARRAY_SIZE(modes) <= 32, "screen_filter.modes has a bit for each");

static int find_mode(bool private, unsigned long number)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (modes[i].private == private && modes[i].number == number) {
			return (int)i;
		}
	}
	return -1;
}

bool screen_modes_take(struct screen_filter *filter)
{
	bool private = filter->held[2] == '?';
	bool on = filter->held[filter->size - 1] == 'h';
	const char *at = filter->held + (private ? 3 : 2);
	const char *end = filter->held + filter->size - 1;
	uint32_t changed = filter->modes;

	while (at < end) {
		char *after = NULL;
		int mode = find_mode(private, strtoul(at, &after, 10)); /* a letter ends it */

		if (mode < 0 || after == at || (*after != ';' && after != end)) {
			return false;
		}
		uint32_t bit = 1u << mode;
		changed = on == modes[mode].on ? changed & ~bit : changed | bit;
		at = after + 1;
	}
	filter->modes = changed;
	return true;
}

void screen_modes_end(struct screen_filter *filter, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (filter->modes & 1u << i) {
			buf_addf(out, "\x1b[%s%u%c", modes[i].private ? "?" : "", modes[i].number,
				 modes[i].on ? 'h' : 'l');
		}
	}
}
