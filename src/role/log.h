/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the service says about itself: one line for each event, key=value, on stderr. Values may
 * come from strangers: whatever could end a line, begin another key or move a terminal is written
 * as an escape in quotes, so that nobody can forge a line.
 */
#ifndef BRIG_ROLE_LOG_H
#define BRIG_ROLE_LOG_H

#include <stdbool.h>

#include "base/buf.h"

/* The numbers are those of syslog, which the journal understands. */
enum role_level {
	ROLE_ERROR = 3,   /* something was lost, or cannot be done */
	ROLE_WARNING = 4, /* weaker or slower than it should be */
	ROLE_NOTICE = 5,  /* starts, stops, changes of who may do what */
	ROLE_INFO = 6,    /* one for each request at the most */
	ROLE_DEBUG = 7,
};

/* "error" to "debug": 0 or -EINVAL. */
int role_level_parse(const char *text, enum role_level *ret);
const char *role_level_name(enum role_level level);

/* Once in a process, before anything is logged. `role` is borrowed for good. */
void role_log_open(const char *role, enum role_level most);
bool role_log_wanted(enum role_level level);
/*
 * `format` is words "key=%s" with a blank between them, or NULL; a value is what the conversions
 * behind the "=" give: %s %.*s %c %d %i %u %x, with z, l, ll or h. NULL texts are "-".
 */
void role_log(enum role_level level, const char *event, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A value as it stands in a line, for tests and for others who write such lines. */
void role_log_value(struct buf *out, const char *value, size_t size);
#endif
