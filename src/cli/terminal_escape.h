/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escapes untrusted text for a terminal. A terminal obeys sequences in its output: colours that
 * hide text, a new title, the clipboard (OSC 52), answers that look as if its user typed them. So
 * nothing but printable text, newline and tab passes; the rest is shown as a visible escape such as
 * \x1b.
 */
#ifndef BRIG_CLI_TERMINAL_ESCAPE_H
#define BRIG_CLI_TERMINAL_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes/buf.h"

/* State between pieces of one stream. Zero-initialise it. */
struct terminal_escape {
	char held[4]; /* the start of a character whose end has not arrived yet */
	unsigned held_size;
	bool held_return; /* a carriage return: harmless only if a newline follows */
};

void terminal_escape_add(struct terminal_escape *terminal, const void *data, size_t size,
			 struct buf *out);
/* The stream has ended: shows held bytes. */
void terminal_escape_end(struct terminal_escape *terminal, struct buf *out);
#endif
