/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte buffer, always NUL-terminated when data is not NULL. Zero-initialise it. */
#ifndef BRIG_BASE_BUF_H
#define BRIG_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data; /* owned */
	size_t size;
	size_t capacity;
	bool failed; /* an allocation failed: content is incomplete; check once at the end */
};

void buf_done(struct buf *buf);
void buf_add(struct buf *buf, const void *data, size_t size);
void buf_adds(struct buf *buf, const char *text);
void buf_addc(struct buf *buf, char c);
void buf_addf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Moves the text to the caller; NULL when any allocation failed. "" for an empty buffer. */
char *buf_take(struct buf *buf);
#endif
