/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads JSON from untrusted clients: a table lists the keys, and any other key is an error that
 * names it. Values are taken exactly as they are or refused: no rounding, no clipping, no text for
 * numbers.
 */
#ifndef BRIG_FRONT_REQUEST_JSON_FIELDS_H
#define BRIG_FRONT_REQUEST_JSON_FIELDS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json/json_stream.h"
#include "front/request/problem.h"

#define FIELDS_DEPTH_MAX 32
#define FIELDS_ITEMS_MAX 65536     /* commas, colons and brackets: each costs a node of memory */
#define FIELDS_PLAIN_MAX (2 << 20) /* bytes apart from long strings, which are read separately */

/* A parsed body. */
struct document {
	json_t *root;             /* owned */
	struct json_longs *longs; /* a reference: strings that are not in the root; NULL: all are */
};
void document_done(struct document *document);

struct field {
	const char *name;
	/* 0, or -EINVAL with the problem; `where` is the value's full name, for messages. */
	int (*take)(void *into, const struct field *field, json_t *value, const char *where,
		    struct problem *problem);
	size_t offset; /* of the member to fill, for the functions below */
	uint64_t min, max;
};

/* Parses a whole body. Depth and number of items are checked before jansson sees the text. */
int fields_parse(const char *text, size_t size, struct document *ret, struct problem *problem);
/* The parsed value must be an object; it is taken over. Its root is NULL: `why` has the reason. */
int fields_document(const struct document *read, const struct json_refusal *why,
		    struct document *ret, struct problem *problem);
/* `where`: "" for the body itself. null counts as not given. */
int fields_read(json_t *object, const char *where, const struct field *fields, size_t count,
		void *into, struct problem *problem);

/*
 * Read functions: const char * (borrowed), bool, uint64_t, nanoseconds from milliseconds, double.
 */
int field_text(void *into, const struct field *field, json_t *value, const char *where,
	       struct problem *problem);
int field_name(void *into, const struct field *field, json_t *value, const char *where,
	       struct problem *problem);
int field_flag(void *into, const struct field *field, json_t *value, const char *where,
	       struct problem *problem);
int field_count(void *into, const struct field *field, json_t *value, const char *where,
		struct problem *problem);
int field_ms(void *into, const struct field *field, json_t *value, const char *where,
	     struct problem *problem);
/* A json_t * (borrowed) that is read later. */
int field_array(void *into, const struct field *field, json_t *value, const char *where,
		struct problem *problem);
int field_object(void *into, const struct field *field, json_t *value, const char *where,
		 struct problem *problem);

/* A string that may be long, of at most `max` bytes (0: any); borrowed, NUL-terminated. */
int field_long(const struct json_longs *longs, json_t *value, const char *where, uint64_t max,
	       const char **ret, size_t *ret_size, struct problem *problem);
/* Standard base64 with padding. `*ret` is to be free()d; never NULL. */
int field_base64(json_t *value, const char *where, void **ret, size_t *ret_size,
		 struct problem *problem);
/* "wanted X, not a string": the usual refusal. */
int field_wrong(struct problem *problem, const char *where, const char *wanted, json_t *value);
#endif
