/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of a payload: one line "name=value" on stdout for each attempt. The value of a call is OK
 * or the name of its errno, so that a test can expect exactly one of them.
 */
#ifndef SAY_H
#define SAY_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The outcome of a system call; errno must still be that of the call. */
static inline const char *outcome(long result)
{
	const char *name = result >= 0 ? "OK" : strerrorname_np(errno);

	return name ? name : "E?";
}

/* Written at once, and not by stdio's buffer: the next attempt may be the last. */
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

/* try("mount", mount(...)): makes the call, prints its outcome, and returns its result. */
static inline long said(const char *name, long result)
{
	say(name, "%s", outcome(result));
	return result;
}
#define try(name, call) said((name), (long)(call))

#endif
