/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads JSON with comments (slash-slash and slash-star), for policies and runtime files. Strict:
 * duplicate keys, depth over 32, size over 1 MiB, trailing data, NUL are errors. Comments are
 * replaced by spaces before jansson parses the text, so that lines and columns stay valid.
 */
#ifndef BRIG_BASE_JSON_JSON_IN_H
#define BRIG_BASE_JSON_JSON_IN_H

#include <jansson.h>

#include "base/error.h"

struct json_doc {
	const char *name; /* for messages: file name; borrowed */
	char *text;       /* owned, comments blanked */
	size_t size;
	json_t *root; /* owned */
};

int json_doc_load(struct json_doc *doc, const char *name, const char *text, size_t size,
		  struct brig_error *err);
void json_doc_done(struct json_doc *doc);

/*
 * The position of a key: `path` is like "limits.memory" or "mounts[2].mode". Sets line and column
 * (1-based) of the key (or array element); 1,1 when it is not found.
 */
void json_doc_locate(const struct json_doc *doc, const char *path, int *line, int *column);

/* "<name>:<line>:<column>: <path>: <message>", code BRIG_E_POLICY or as given; returns -EINVAL. */
int json_doc_error(const struct json_doc *doc, const char *path, enum brig_code code,
		   struct brig_error *err, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
#endif
