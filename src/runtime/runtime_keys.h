/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a runtime file, as a table: used for parsing and for messages. */
#ifndef BRIG_RUNTIME_RUNTIME_KEYS_H
#define BRIG_RUNTIME_RUNTIME_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/units.h"

/* The kind of a value, and its field in struct runtime. */
enum key_kind {
	KEY_FLAG,   /* bool */
	KEY_TEXT,   /* char[size] */
	KEY_OWNED,  /* char * */
	KEY_LIST,   /* struct strlist, of an array of texts */
	KEY_ENV,    /* struct strlist of NAME=VALUE, of an object */
	KEY_NUMBER, /* uint64_t, by unit */
	KEY_LIMITS, /* struct brig_limits, by the table of limits: those of a compiler */
	KEY_OBJECT, /* nested keys */
};

struct runtime_key {
	const char *name;
	enum key_kind kind;
	size_t offset;
	size_t size;
	/*
	 * Is one text valid for the key? NULL: yes; else a static text that begins "must be ...".
	 */
	const char *(*rule)(const char *text);
	enum unit unit;
	const struct runtime_key *keys; /* ends with a NULL name */
};

extern const struct runtime_key runtime_keys[];
#endif
