/* SPDX-License-Identifier: Apache-2.0 */
/* Fills in struct brig_error. All functions accept err == NULL. */
#ifndef BRIG_BASE_ERROR_H
#define BRIG_BASE_ERROR_H

#include <brig/brig.h>

/* Starts a new error. Returns -errnum, or -EINVAL when errnum is 0: `return error_set(...)`. */
int error_set(struct brig_error *err, enum brig_code code, int errnum, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The same, with ": <strerror>" appended to the message. */
int error_errno(struct brig_error *err, enum brig_code code, int errnum, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Adds context in front of the message ("policy strict: "), on the way up. */
void error_wrap(struct brig_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void error_remedy(struct brig_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void error_step(struct brig_error *err, const char *step);
#endif
