/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of the service: one line for each event, key=value, on stderr. Values may come from
 * clients: characters that could end a line, begin another key or control a terminal are written as
 * escapes in quotes, so that no client can forge a line.
 */
#ifndef BRIG_ROLE_LOG_H
#define BRIG_ROLE_LOG_H

#include <stdbool.h>

#include "base/bytes/buf.h"

/* The numbers are those of syslog, which the journal understands. */
enum role_level {
	ROLE_ALWAYS = 0,  /* must be kept elsewhere: written at every level, as a notice */
	ROLE_ERROR = 3,   /* something was lost, or cannot be done */
	ROLE_WARNING = 4, /* weaker or slower than it should be */
	ROLE_NOTICE = 5,  /* starts, stops, changes of permissions */
	ROLE_INFO = 6,    /* at most one for each request */
	ROLE_DEBUG = 7,
};

/* "error" to "debug": 0 or -EINVAL. */
struct role_level_info {
	enum role_level level;
	const char *name;
};
#define ROLE_LEVELS 5
extern const struct role_level_info role_levels[ROLE_LEVELS]; /* most severe first */
int role_level_parse(const char *text, enum role_level *ret);
const char *role_level_name(enum role_level level);

/* Once in a process, before anything is logged. `role` is borrowed for good. */
void role_log_open(const char *role, enum role_level most);
bool role_log_wanted(enum role_level level);
/*
 * `format` is a list of "key=%s", separated by blanks, or NULL; a value is the result of the
 * conversions behind the "=": %s %.*s %c %d %i %u %x, with z, l, ll or h. NULL texts are "-".
 */
void role_log(enum role_level level, const char *event, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * For events that a client can cause as often as it likes: one line per second for an event and its
 * cause, a text, with left_out=N at the end if lines were omitted. At least one value.
 */
#define role_log_often(level, event, cause, format, ...)                                           \
	do {                                                                                       \
		unsigned long long left_out_ = 0;                                                  \
		if (!role_log_due(event, cause, &left_out_)) {                                     \
			break;                                                                     \
		}                                                                                  \
		if (left_out_) {                                                                   \
			role_log(level, event, format " left_out=%llu", __VA_ARGS__, left_out_);   \
		} else {                                                                           \
			role_log(level, event, format, __VA_ARGS__);                               \
		}                                                                                  \
	} while (0)
bool role_log_due(const char *event, const char *cause, unsigned long long *left_out);

/* A value as it is written in a line, for tests and for other code that writes such lines. */
void role_log_value(struct buf *out, const char *value, size_t size);
#endif
