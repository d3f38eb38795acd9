/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading what a stranger sent as JSON: a table says which keys there are, and anything else is an
 * error that names the key. Values are taken exactly as they are or refused: no rounding, no
 * clipping, no text for numbers.
 */
#ifndef BRIG_FRONT_REQUEST_FIELDS_H
#define BRIG_FRONT_REQUEST_FIELDS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json/json_stream.h"
#include "front/request/problem.h"

#define FIELDS_DEPTH_MAX 32
#define FIELDS_ITEMS_MAX 65536     /* commas, colons and brackets: each costs a node of memory */
#define FIELDS_PLAIN_MAX (2 << 20) /* bytes besides long strings, which are read at once */

/* A body that was read. */
struct document {
	json_t *root;             /* owned */
	struct json_longs *longs; /* a reference: strings that are not in it; NULL: all are */
};
void document_done(struct document *document);

struct field {
	const char *name;
	/* 0 or -EINVAL with the problem; `where` is the value's full name, for messages. */
	int (*take)(void *into, const struct field *field, json_t *value, const char *where,
		    struct problem *problem);
	size_t offset; /* of what it fills, for the takers below */
	uint64_t min, max;
};

/* The whole body. Depth and number of items are looked at before jansson sees the text. */
int fields_parse(const char *text, size_t size, struct document *ret, struct problem *problem);
/* What was read must be an object; it is taken over. NULL: why there is none. */
int fields_document(const struct document *read, const struct json_refusal *why,
		    struct document *ret, struct problem *problem);
/* `where`: "" for the body itself. null counts as not given. */
int fields_read(json_t *object, const char *where, const struct field *fields, size_t count,
		void *into, struct problem *problem);

/* Takers: const char * (borrowed), bool, uint64_t, nanoseconds from milliseconds, double. */
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
/* A json_t * (borrowed) that is looked at later. */
int field_array(void *into, const struct field *field, json_t *value, const char *where,
		struct problem *problem);
int field_object(void *into, const struct field *field, json_t *value, const char *where,
		 struct problem *problem);

/* A string that may be long, of at most `max` bytes (0: any); borrowed, with a NUL behind it. */
int field_long(const struct json_longs *longs, json_t *value, const char *where, uint64_t max,
	       const char **ret, size_t *ret_size, struct problem *problem);
/* Standard base64 with padding. `*ret` is to be free()d; never NULL. */
int field_base64(json_t *value, const char *where, void **ret, size_t *ret_size,
		 struct problem *problem);
/* "wanted X, not a string": the usual refusal. */
int field_wrong(struct problem *problem, const char *where, const char *wanted, json_t *value);
#endif
