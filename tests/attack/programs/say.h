/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a payload reports: one line "name=value" on stdout for each thing it tried. The value of a
 * call is OK or the name of its errno, so that a test can ask for exactly one of them.
 */
#ifndef SAY_H
#define SAY_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What a system call came to; errno must still be the call's own. */
static inline const char *outcome(long result)
{
	const char *name = result >= 0 ? "OK" : strerrorname_np(errno);

	return name ? name : "E?";
}

/* At once, and not by stdio's buffer: the next attempt may well be the last. */
__attribute__((format(printf, 2, 3))) static inline void say(const char *name, const char *format,
							     ...)
{
	char line[4096];
	va_list args;
	int n = snprintf(line, sizeof(line), "%s=", name);

	va_start(args, format);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
	va_end(args);
	if (n > (int)sizeof(line) - 2) {
		n = (int)sizeof(line) - 2;
	}
	line[n++] = '\n';
	if (write(1, line, (size_t)n) < 0) {
		_exit(99);
	}
}

/* try("mount", mount(...)): the call is made, its outcome is said, its result is the value. */
static inline long said(const char *name, long result)
{
	say(name, "%s", outcome(result));
	return result;
}
#define try(name, call) said((name), (long)(call))

#endif
