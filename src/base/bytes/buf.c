/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte buffer. Failure is sticky: nothing is added behind a hole. */
#include "base/bytes/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 128

/* Room for `more` bytes and the NUL behind them. */
static bool buf_reserve(struct buf *buf, size_t more)
{
	if (buf->failed) {
		return false;
	}
	if (buf->data && more < buf->capacity - buf->size) {
		return true;
	}
	if (more >= PTRDIFF_MAX - buf->size) {
		buf->failed = true;
		return false;
	}
	size_t need = buf->size + more + 1;
	size_t capacity = buf->capacity ? buf->capacity : FIRST_CAPACITY;
	while (capacity < need) {
		capacity = capacity > PTRDIFF_MAX / 2 ? need : capacity * 2;
	}
	char *data = realloc(buf->data, capacity);
	if (!data) {
		buf->failed = true;
		return false;
	}
	buf->data = data;
	buf->capacity = capacity;
	buf->data[buf->size] = '\0';
	return true;
}

void buf_done(struct buf *buf)
{
	if (buf) {
		free(buf->data);
		*buf = (struct buf){ 0 };
	}
}

void buf_add(struct buf *buf, const void *data, size_t size)
{
	if (size == 0 || !buf_reserve(buf, size)) {
		return;
	}
	memcpy(buf->data + buf->size, data, size);
	buf->size += size;
	buf->data[buf->size] = '\0';
}

void buf_adds(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

void buf_addc(struct buf *buf, char c)
{
	buf_add(buf, &c, 1);
}

__attribute__((format(printf, 2, 0))) static int buf_print(struct buf *buf, const char *format,
							   va_list args)
{
	return vsnprintf(buf->data + buf->size, buf->capacity - buf->size, format, args);
}

void buf_addf(struct buf *buf, const char *format, ...)
{
	va_list args;

	if (!buf_reserve(buf, 1)) {
		return;
	}
	va_start(args, format);
	int size = buf_print(buf, format, args);
	va_end(args);
	if (size >= 0 && (size_t)size >= buf->capacity - buf->size) {
		buf->data[buf->size] = '\0';
		if (!buf_reserve(buf, (size_t)size)) {
			return;
		}
		va_start(args, format);
		size = buf_print(buf, format, args);
		va_end(args);
	}
	if (size < 0) {
		buf->data[buf->size] = '\0';
		buf->failed = true;
		return;
	}
	buf->size += (size_t)size;
}

char *buf_take(struct buf *buf)
{
	if (!buf_reserve(buf, 0)) {
		buf_done(buf);
		return NULL;
	}
	char *data = buf->data;
	*buf = (struct buf){ 0 };
	return data;
}
