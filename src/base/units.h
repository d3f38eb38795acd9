/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers with units, as in options and policies: "256M", "1.5s", "64", "0.5". Strict: no sign, no
 * blank, no trailing bytes, no overflow, no NaN, at most 32 characters.
 */
#ifndef BRIG_BASE_UNITS_H
#define BRIG_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

enum unit {
	UNIT_COUNT, /* "64" */
	UNIT_BYTES, /* "1048576", "256M", "1.5G"; k K M G T and Ki KiB MiB...: powers of 1024 */
	UNIT_TIME,  /* "5s" "300ms" "1.5s" "2m"; a bare number is seconds; result in ns */
	UNIT_MILLICORES, /* "0.5" cores -> 500 */
};

/* 0, -EINVAL (not such a number), -ERANGE (does not fit). */
int unit_parse(enum unit unit, const char *text, uint64_t *ret);
/* Short text for display: "256M", "1.5s", "64", "0.5"; always NUL-terminated. */
const char *unit_format(enum unit unit, uint64_t value, char *buffer, size_t size);
/* The format of such a value, for error messages: "a size such as 256M". */
const char *unit_describe(enum unit unit);
/* "write seconds, or ...": for remedies. */
const char *unit_spelling(enum unit unit);
#endif
