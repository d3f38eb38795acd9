/*
 * The first gate of a head, byte by byte: lines end with CR LF and nothing else, names are tokens
 * with a colon right behind, no line continues another, no control characters. llhttp 8.1 takes a
 * lone CR or LF in some places; what passes here has only one reading.
 */
#ifndef BRIG_HTTP_HEAD_GUARD_H
#define BRIG_HTTP_HEAD_GUARD_H

enum head_guard_place {
	HEAD_GUARD_REQUEST, /* zero: the start */
	HEAD_GUARD_LINE_END,
	HEAD_GUARD_LINE,
	HEAD_GUARD_NAME,
	HEAD_GUARD_VALUE,
	HEAD_GUARD_HEAD_END,
};

struct head_guard {
	enum head_guard_place place;
	unsigned lines; /* that are complete: the request line, then one for each header */
};

enum head_guard_step {
	HEAD_GUARD_MORE,
	HEAD_GUARD_LINE_DONE,
	HEAD_GUARD_DONE,
	HEAD_GUARD_WRONG, /* *why says what */
};

/* Zero-initialise it. After HEAD_GUARD_DONE or _WRONG it takes nothing more. */
enum head_guard_step head_guard_take(struct head_guard *guard, unsigned char c, const char **why);
#endif
