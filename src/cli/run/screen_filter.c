/* SPDX-License-Identifier: Apache-2.0 */
/* The filter for a program with a terminal: see screen.h. */
#include <string.h>

#include "base/bytes/utf8.h"
#include "cli/run/screen.h"

/*
 * Last bytes of ESC [ sequences: cursor, erase, insert, delete, scroll, tabs, colours, modes,
 * regions. Not among them: n, c, x, t (the terminal answers), i (prints on paper), p and q.
 */
static const char harmless_sequences[] = "@ABCDEFGHIJKLMPSTXZ`abdefghlmrsu";
/* With "?" the same letters have other meanings, and some are queries: only modes and erasing. */
static const char harmless_private[] = "hlJK";
/* After ESC alone: save, restore, index, reset of the screen, keypad. */
static const char harmless_escapes[] = "78DEHMc=>";
/* Some terminals act on numbers of many digits literally. */
#define DIGITS_MAX 5

static const char replacement[] = "\xef\xbf\xbd";

static bool is_in(const char *set, char c)
{
	return c != '\0' && strchr(set, c);
}

static void begin(struct screen_filter *filter, char c)
{
	filter->held[0] = '\x1b';
	filter->held[1] = c;
	filter->size = 2;
	filter->dropped = false;
}

static void hold(struct screen_filter *filter, char c)
{
	if (filter->size < sizeof(filter->held)) {
		filter->held[filter->size++] = c;
	} else {
		filter->dropped = true;
	}
}

static void take_text(struct screen_filter *filter, char c, struct buf *out)
{
	if (c == '\x1b') {
		filter->state = SCREEN_ESCAPE;
	} else if ((c & 0x80) && !utf8_continues(c)) {
		filter->state = SCREEN_CHARACTER;
		filter->held[0] = c;
		filter->size = 1;
	} else if (c & 0x80) {
		buf_adds(out, replacement);
	} else if ((c >= 0x20 && c != 0x7f) || is_in("\a\b\t\n\v\f\r", c)) {
		buf_addc(out, c);
	}
}

/* Terminals obey C1 controls in UTF-8 too: U+009B is ESC [, U+009D is ESC ]. */
static bool is_c1(uint32_t c)
{
	return c >= 0x80 && c < 0xa0;
}

/* False: the character ended before this byte, which is not part of it. */
static bool take_character(struct screen_filter *filter, char c, struct buf *out)
{
	unsigned char first = (unsigned char)filter->held[0];
	size_t whole = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
	uint32_t character = 0;
	size_t used = 0;

	if (!utf8_continues(c)) {
		filter->state = SCREEN_TEXT;
		buf_adds(out, replacement);
		return false;
	}
	hold(filter, c);
	if (filter->size < whole) {
		return true;
	}
	filter->state = SCREEN_TEXT;
	if (!utf8_decode(filter->held, filter->size, &used, &character) || used != whole) {
		buf_adds(out, replacement);
	} else if (!is_c1(character)) {
		buf_add(out, filter->held, filter->size);
	}
	return true;
}

static void note_escape(struct screen_filter *filter, char c)
{
	if (c == 'c') {
		filter->modes = 0;
		filter->coloured = filter->charset = filter->keypad = false;
	} else if (c == '=' || c == '>') {
		filter->keypad = c == '=';
	}
}

static void take_escape(struct screen_filter *filter, char c, struct buf *out)
{
	begin(filter, c);
	filter->state = SCREEN_TEXT;
	if (c == '[') {
		filter->state = SCREEN_SEQUENCE;
	} else if (c == '\x1b') {
		filter->state = SCREEN_ESCAPE;
	} else if (is_in("]PX^_", c)) {
		filter->state = SCREEN_STRING;
	} else if (is_in("()*+", c)) {
		filter->state = SCREEN_CHARSET;
	} else if (is_in(harmless_escapes, c)) {
		note_escape(filter, c);
		buf_add(out, filter->held, filter->size);
	}
}

static void take_charset(struct screen_filter *filter, char c, struct buf *out)
{
	hold(filter, c);
	if (is_in("AB0", c)) {
		filter->charset = c != 'B';
		buf_add(out, filter->held, filter->size);
	}
	filter->state = SCREEN_TEXT;
}

/* Digits only, with at most a leading "?": anything else begins or makes another command. */
static bool is_plain(const struct screen_filter *filter, bool private)
{
	unsigned digits = 0;

	for (unsigned i = private ? 3 : 2; i < filter->size - 1; i++) {
		bool digit = filter->held[i] >= '0' && filter->held[i] <= '9';

		digits = digit ? digits + 1 : 0;
		if (digits > DIGITS_MAX || (!digit && !is_in(";:", filter->held[i]))) {
			return false;
		}
	}
	return true;
}

static bool is_harmless(struct screen_filter *filter)
{
	char last = filter->held[filter->size - 1];
	bool private = filter->held[2] == '?';

	if (filter->dropped || !is_plain(filter, private) ||
	    !is_in(private ? harmless_private : harmless_sequences, last)) {
		return false;
	}
	if (last == 'h' || last == 'l') {
		return screen_modes_take(filter);
	}
	if (last == 'b') { /* repeats a character: at most once per column of a line */
		return filter->size <= strlen("\x1b[123b");
	}
	if (last == 'm') {
		filter->coloured = filter->size > 3 && memcmp(filter->held + 2, "0m", 2) != 0;
	}
	return true;
}

static void take_sequence(struct screen_filter *filter, char c, struct buf *out)
{
	if (c == '\x1b') {
		filter->state = SCREEN_ESCAPE; /* the sequence was cut */
		return;
	}
	if (c == '\x18' || c == '\x1a') {
		filter->state = SCREEN_TEXT;
		return;
	}
	hold(filter, c);
	if ((c & 0x80) || c < 0x20 || c == 0x7f) {
		filter->dropped = true;
	} else if (c >= 0x40) {
		filter->state = SCREEN_TEXT;
		if (is_harmless(filter)) {
			buf_add(out, filter->held, filter->size);
		}
	}
}

static void take_string(struct screen_filter *filter, char c)
{
	if (c == '\a' || c == '\x18' || c == '\x1a') {
		filter->state = SCREEN_TEXT;
	} else if (c == '\x1b') {
		filter->state = SCREEN_STRING_ESCAPE;
	}
}

void screen_filter_add(struct screen_filter *filter, const char *data, size_t size, struct buf *out)
{
	for (size_t i = 0; i < size; i++) {
		if (filter->state == SCREEN_CHARACTER && take_character(filter, data[i], out)) {
			continue;
		}
		switch (filter->state) {
		case SCREEN_TEXT:
		case SCREEN_CHARACTER:
			take_text(filter, data[i], out);
			break;
		case SCREEN_ESCAPE:
			take_escape(filter, data[i], out);
			break;
		case SCREEN_CHARSET:
			take_charset(filter, data[i], out);
			break;
		case SCREEN_SEQUENCE:
			take_sequence(filter, data[i], out);
			break;
		case SCREEN_STRING:
			take_string(filter, data[i]);
			break;
		case SCREEN_STRING_ESCAPE:
			filter->state = data[i] == '\\' ? SCREEN_TEXT : SCREEN_STRING;
			break;
		}
	}
}

void screen_filter_end(struct screen_filter *filter, struct buf *out)
{
	screen_modes_end(filter, out);
	if (filter->keypad) {
		buf_adds(out, "\x1b>");
	}
	if (filter->charset) {
		buf_adds(out, "\x1b(B");
	}
	if (filter->coloured) {
		buf_adds(out, "\x1b[m");
	}
	*filter = (struct screen_filter){ 0 };
}
