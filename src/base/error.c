/* SPDX-License-Identifier: Apache-2.0 */
/* Fills in struct brig_error: every text is one clean line that fits its field. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_SIZE sizeof(((struct brig_error *)NULL)->message)

_Static_assert(sizeof(((struct brig_error *)NULL)->remedy) == TEXT_SIZE, "one size for both texts");

/*
 * Names of files, keys and tokens come from clients: a control character in one must neither break
 * the line nor control a terminal. Cutting never leaves a part of a UTF-8 character.
 */
static void text_tidy(char *text, bool cut)
{
	size_t size = strlen(text);

	for (size_t i = 0; i < size; i++) {
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
			text[i] = '?';
		}
	}
	if (!cut) {
		return;
	}
	size_t end = TEXT_SIZE - sizeof("...");
	while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80) {
		end--;
	}
	memcpy(text + end, "...", sizeof("..."));
}

/* Built in a separate buffer first: an argument may be the field that is written. */
__attribute__((format(printf, 2, 0))) static void text_set(char *field, const char *format,
							   va_list args, const char *tail)
{
	char text[TEXT_SIZE];
	int size = vsnprintf(text, sizeof(text), format, args);

	if (size < 0) {
		size = 0;
		text[0] = '\0';
	}
	bool cut = (size_t)size >= sizeof(text);
	if (!cut && tail) {
		size_t room = sizeof(text) - (size_t)size;
		cut = (size_t)snprintf(text + size, room, "%s", tail) >= room;
	}
	text_tidy(text, cut);
	memcpy(field, text, sizeof(text));
}

/*
 * A negative errnum is a mistake of the caller; its negation would be a positive number, which
 * means success.
 */
static int error_start(struct brig_error *err, enum brig_code code, int errnum)
{
	if (errnum < 0) {
		errnum = -errnum;
	}
	if (err) {
		err->code = code;
		err->errnum = errnum;
		err->step[0] = '\0';
		err->remedy[0] = '\0';
	}
	return errnum ? -errnum : -EINVAL;
}

int error_set(struct brig_error *err, enum brig_code code, int errnum, const char *format, ...)
{
	va_list args;

	/* The text first: its arguments may point into err. */
	if (err) {
		va_start(args, format);
		text_set(err->message, format, args, NULL);
		va_end(args);
	}
	return error_start(err, code, errnum);
}

int error_errno(struct brig_error *err, enum brig_code code, int errnum, const char *format, ...)
{
	char reason[128];
	char tail[sizeof(reason) + 2];
	va_list args;

	if (err) {
		const char *text =
			strerror_r(errnum < 0 ? -errnum : errnum, reason, sizeof(reason));
		snprintf(tail, sizeof(tail), ": %s", text);
		va_start(args, format);
		text_set(err->message, format, args, errnum ? tail : NULL);
		va_end(args);
	}
	return error_start(err, code, errnum);
}

void error_wrap(struct brig_error *err, const char *format, ...)
{
	char old[TEXT_SIZE];
	va_list args;

	if (!err) {
		return;
	}
	memcpy(old, err->message, sizeof(old));
	va_start(args, format);
	text_set(err->message, format, args, old);
	va_end(args);
}

void error_remedy(struct brig_error *err, const char *format, ...)
{
	va_list args;

	if (!err) {
		return;
	}
	va_start(args, format);
	text_set(err->remedy, format, args, NULL);
	va_end(args);
}

void error_step(struct brig_error *err, const char *step)
{
	if (err) {
		snprintf(err->step, sizeof(err->step), "%s", step);
	}
}
