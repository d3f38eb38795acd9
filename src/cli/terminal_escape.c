/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes text for terminals: see terminal_escape.h. */
#include "cli/terminal_escape.h"

#include <stdint.h>
#include <string.h>

#include "base/bytes/utf8.h"
#include "base/cleanup.h"

/* Characters outside ASCII that have effects instead of being visible. */
static const struct {
	uint32_t first, last;
} acting[] = {
	{ 0x0080, 0x009f },   /* C1 controls: U+009B is ESC [ */
	{ 0x061c, 0x061c },   /* Arabic letter mark */
	{ 0x180e, 0x180e },   /* Mongolian vowel separator */
	{ 0x200e, 0x200f },   /* directional marks */
	{ 0x2028, 0x202e },   /* line separators, bidi embeddings and overrides */
	{ 0x2060, 0x206f },   /* invisible operators, bidi isolates */
	{ 0xfeff, 0xfeff },   /* byte order mark */
	{ 0xfff9, 0xfffb },   /* interlinear annotations */
	{ 0xe0000, 0xe007f }, /* tags: invisible text */
};

static bool acts(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_SIZE(acting); i++) {
		if (c >= acting[i].first && c <= acting[i].last) {
			return true;
		}
	}
	return false;
}

static void show_bytes(const char *data, size_t size, struct buf *out)
{
	for (size_t i = 0; i < size; i++) {
		buf_addf(out, "\\x%02x", (unsigned char)data[i]);
	}
}

static void show_ascii(char c, struct buf *out)
{
	if (c == '\n' || c == '\t' || (c >= 0x20 && c < 0x7f)) {
		buf_addc(out, c);
	} else if (c == '\r') {
		buf_adds(out, "\\r");
	} else {
		show_bytes(&c, 1, out);
	}
}

/* Can these bytes, which are not a character, become one with more bytes? */
static bool may_grow(const char *data, size_t used, size_t left)
{
	unsigned char first = (unsigned char)data[0];
	size_t whole = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;

	return used == left && first >= 0xc2 && first <= 0xf4 && used < whole;
}

/* Returns how many bytes were used; the rest is the start of a character. */
static size_t show(const char *data, size_t size, struct buf *out)
{
	size_t i = 0;

	while (i < size) {
		size_t used = 1;
		uint32_t c = 0;

		if ((unsigned char)data[i] < 0x80) {
			show_ascii(data[i++], out);
			continue;
		}
		if (!utf8_decode(data + i, size - i, &used, &c)) {
			if (may_grow(data + i, used, size - i)) {
				return i;
			}
			show_bytes(data + i, used, out);
		} else if (acts(c)) {
			buf_addf(out, "\\u{%x}", (unsigned)c);
		} else {
			buf_add(out, data + i, used);
		}
		i += used;
	}
	return i;
}

/* Completes the character that was cut by the end of the last piece. */
static size_t finish_held(struct terminal_escape *terminal, const char *data, size_t size,
			  struct buf *out)
{
	size_t at = 0;

	while (terminal->held_size > 0 && at < size) {
		char joined[sizeof(terminal->held)];
		unsigned had = terminal->held_size;

		memcpy(joined, terminal->held, had);
		if (!utf8_continues(data[at])) {
			show_bytes(joined, had, out);
			terminal->held_size = 0;
			break;
		}
		joined[had] = data[at++];
		size_t done = show(joined, had + 1, out);
		terminal->held_size = (unsigned)(had + 1 - done);
		memcpy(terminal->held, joined + done, terminal->held_size);
	}
	return at;
}

void terminal_escape_add(struct terminal_escape *terminal, const void *data, size_t size,
			 struct buf *out)
{
	const char *text = data;

	if (size == 0) {
		return;
	}
	if (terminal->held_return && text[0] != '\n') {
		show_ascii('\r', out);
	}
	terminal->held_return = false;

	size_t at = finish_held(terminal, text, size, out);
	while (at < size) {
		/* A carriage return before a newline changes nothing, and is left out. */
		const char *found = memchr(text + at, '\r', size - at);
		size_t part = found ? (size_t)(found - (text + at)) : size - at;
		size_t done = show(text + at, part, out);
		at += done;
		if (done < part) {
			if (found) {
				show_bytes(text + at, part - done, out);
				at += part - done;
			} else {
				terminal->held_size = (unsigned)(size - at);
				memcpy(terminal->held, text + at, size - at);
				return;
			}
		}
		if (found) {
			at++;
			if (at == size) {
				terminal->held_return = true;
			} else if (text[at] != '\n') {
				show_ascii('\r', out);
			}
		}
	}
}

void terminal_escape_end(struct terminal_escape *terminal, struct buf *out)
{
	if (terminal->held_return) {
		show_ascii('\r', out);
	}
	show_bytes(terminal->held, terminal->held_size, out);
	*terminal = (struct terminal_escape){ 0 };
}
