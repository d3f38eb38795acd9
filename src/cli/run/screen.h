/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig's own terminal while a program uses it (brig run -it): in raw mode, so that each key goes to
 * the program; and a filter for the program's output, without the sequences that have effects
 * beyond the screen.
 */
#ifndef BRIG_CLI_RUN_SCREEN_H
#define BRIG_CLI_RUN_SCREEN_H

#include <brig/brig.h>
#include <stdbool.h>
#include <termios.h>

#include "base/bytes/buf.h"
#include "base/error.h"

struct screen {
	bool raw;
	struct termios before;
};

/* Are stdin and stdout a terminal? Its size goes into the request. */
int screen_check(struct brig_request *request, struct brig_error *err);
void screen_size(uint16_t *ret_rows, uint16_t *ret_columns);
int screen_take(struct screen *screen, struct brig_error *err);
void screen_give_back(struct screen *screen);

/*
 * Text in UTF-8, cursor, colours, erasing and the modes of screen_modes.c pass. Titles, the
 * clipboard, queries that the terminal answers as if its user typed, C1 controls in any form, and
 * all other command strings do not: they are left out.
 */
struct screen_filter {
	enum {
		SCREEN_TEXT = 0,
		SCREEN_CHARACTER, /* in a character of more than one byte */
		SCREEN_ESCAPE,    /* after ESC */
		SCREEN_CHARSET,   /* after ESC ( and similar: one more byte */
		SCREEN_SEQUENCE,  /* after ESC [ */
		SCREEN_STRING,    /* after ESC ] P X ^ _: until BEL or ESC \ */
		SCREEN_STRING_ESCAPE,
	} state;
	char held[64]; /* the sequence or character so far */
	unsigned size;
	bool dropped; /* it is too long, or has a byte that no harmless one has */
	/* Modes that the program has changed. */
	uint32_t modes; /* by their index in the table of modes */
	bool coloured, charset, keypad;
};
void screen_filter_add(struct screen_filter *filter, const char *data, size_t size,
		       struct buf *out);
/*
 * The program has ended: restores the modes. With mouse reports still on, each click would type
 * into the shell; with concealed text, brig's own messages would be invisible.
 */
void screen_filter_end(struct screen_filter *filter, struct buf *out);

/*
 * A whole ESC [ sequence that ends with h or l: may it pass? Remembers the modes that it changes.
 */
bool screen_modes_take(struct screen_filter *filter);
void screen_modes_end(struct screen_filter *filter, struct buf *out);
#endif
