/* SPDX-License-Identifier: Apache-2.0 */
/* Strict reading of JSON by tables of fields. */
#include "front/request/json_fields.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/base64.h"
#include "base/id.h"
#include "base/json/json_bounded.h"
#include "base/suggest.h"

static const char *type_name(json_t *value)
{
	if (!value) {
		return "nothing";
	}
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "a whole number";
	case JSON_REAL:
		return "a fraction";
	case JSON_NULL:
		return "null";
	default:
		return "a boolean";
	}
}

int field_wrong(struct problem *problem, const char *where, const char *wanted, json_t *value)
{
	return problem_set(problem, PROBLEM_INVALID_REQUEST, "%s: wanted %s, not %s", where, wanted,
			   type_name(value));
}

void document_done(struct document *document)
{
	json_decref(document->root);
	json_longs_unref(document->longs);
	*document = (struct document){ 0 };
}

static int refuse(const struct json_refusal *why, struct problem *problem)
{
	switch (why->kind) {
	case JSON_TOO_DEEP:
		return problem_set(problem, PROBLEM_INVALID_JSON,
				   "the body is nested more than %d deep", FIELDS_DEPTH_MAX);
	case JSON_TOO_MANY:
		return problem_set(
			problem, PROBLEM_INVALID_JSON,
			"the body has more than %d values, or more than %d bytes besides "
			"code, input and files",
			FIELDS_ITEMS_MAX, FIELDS_PLAIN_MAX);
	case JSON_NO_MEMORY:
		return problem_set(problem, PROBLEM_MEMORY_LOW, "no memory for the request");
	case JSON_NOT_JSON:
		break;
	}
	if (why->line == 0) {
		return problem_set(problem, PROBLEM_INVALID_JSON, "%s", why->text);
	}
	return problem_set(problem, PROBLEM_INVALID_JSON, "line %d, column %d: %s", why->line,
			   why->column, why->text);
}

int fields_document(const struct document *read, const struct json_refusal *why,
		    struct document *ret, struct problem *problem)
{
	struct document document = *read;

	if (!document.root) {
		return refuse(why, problem);
	}
	if (!json_is_object(document.root)) {
		document_done(&document);
		return problem_set(problem, PROBLEM_INVALID_JSON, "the body must be an object");
	}
	*ret = document;
	return 0;
}

int fields_parse(const char *text, size_t size, struct document *ret, struct problem *problem)
{
	static const struct json_bounds bounds = { .depth = FIELDS_DEPTH_MAX,
						   .values = FIELDS_ITEMS_MAX,
						   .plain_max = FIELDS_PLAIN_MAX };
	struct json_refusal why = { 0 };

	if (size == 0) {
		problem_set(problem, PROBLEM_INVALID_JSON, "the body is empty");
		problem_remedy(problem, "send a JSON object");
		return -EINVAL;
	}
	struct document read = { .root = json_bounded_load(text, size, &bounds, &why) };
	return fields_document(&read, &why, ret, problem);
}

static int unknown_key(const char *where, const char *key, const struct field *fields, size_t count,
		       struct problem *problem)
{
	struct suggestion best = { 0 };
	struct buf names = { 0 };

	for (size_t i = 0; i < count; i++) {
		suggest(&best, key, fields[i].name);
		buf_addf(&names, "%s%s", i ? ", " : "", fields[i].name);
	}
	problem_set(problem, PROBLEM_INVALID_REQUEST, "%s%s%.64s: there is no such key", where,
		    *where ? "." : "", key);
	if (best.word) {
		problem_remedy(problem, "did you mean %s? Allowed are: %s", best.word,
			       names.data ? names.data : "");
	} else {
		problem_remedy(problem, "allowed are: %s", names.data ? names.data : "");
	}
	buf_done(&names);
	return -EINVAL;
}

int fields_read(json_t *object, const char *where, const struct field *fields, size_t count,
		void *into, struct problem *problem)
{
	const char *key;
	json_t *value;

	if (!json_is_object(object)) {
		return field_wrong(problem, *where ? where : "the body", "an object", object);
	}
	json_object_foreach(object, key, value)
	{
		const struct field *field = NULL;
		char full[160];

		for (size_t i = 0; !field && i < count; i++) {
			field = strcmp(fields[i].name, key) == 0 ? &fields[i] : NULL;
		}
		if (!field) {
			return unknown_key(where, key, fields, count, problem);
		}
		snprintf(full, sizeof(full), "%s%s%s", where, *where ? "." : "", key);
		int r = json_is_null(value) ? 0 : field->take(into, field, value, full, problem);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static void *place(void *into, const struct field *field)
{
	return (char *)into + field->offset;
}

int field_text(void *into, const struct field *field, json_t *value, const char *where,
	       struct problem *problem)
{
	if (!json_is_string(value)) {
		return field_wrong(problem, where, "a string", value);
	}
	if (field->max && json_string_length(value) > field->max) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST, "%s: longer than %llu bytes",
				   where, (unsigned long long)field->max);
	}
	*(const char **)place(into, field) = json_string_value(value);
	return 0;
}

int field_name(void *into, const struct field *field, json_t *value, const char *where,
	       struct problem *problem)
{
	int r = field_text(into, field, value, where, problem);

	if (r == 0 && !id_name_valid(json_string_value(value))) {
		problem_set(problem, PROBLEM_INVALID_REQUEST, "%s: not a name", where);
		problem_remedy(problem, "use letters, digits, '.', '_' and '-', at most 64");
		return -EINVAL;
	}
	return r;
}

int field_flag(void *into, const struct field *field, json_t *value, const char *where,
	       struct problem *problem)
{
	if (!json_is_boolean(value)) {
		return field_wrong(problem, where, "true or false", value);
	}
	*(bool *)place(into, field) = json_is_true(value);
	return 0;
}

static int out_of_range(struct problem *problem, const struct field *field, const char *where,
			const char *unit)
{
	return problem_set(problem, PROBLEM_INVALID_REQUEST, "%s: must be from %llu to %llu%s",
			   where, (unsigned long long)field->min, (unsigned long long)field->max,
			   unit);
}

int field_count(void *into, const struct field *field, json_t *value, const char *where,
		struct problem *problem)
{
	if (!json_is_integer(value)) {
		return field_wrong(problem, where, "a whole number", value);
	}
	json_int_t number = json_integer_value(value);
	if (number < 0 || (uint64_t)number < field->min || (uint64_t)number > field->max) {
		return out_of_range(problem, field, where, "");
	}
	*(uint64_t *)place(into, field) = (uint64_t)number;
	return 0;
}

int field_ms(void *into, const struct field *field, json_t *value, const char *where,
	     struct problem *problem)
{
	if (!json_is_number(value)) {
		return field_wrong(problem, where, "a number of milliseconds", value);
	}
	double ms = json_number_value(value);
	if (!isfinite(ms) || ms < (double)field->min || ms > (double)field->max) {
		return out_of_range(problem, field, where, " milliseconds");
	}
	*(uint64_t *)place(into, field) = (uint64_t)(ms * 1e6);
	return 0;
}

int field_array(void *into, const struct field *field, json_t *value, const char *where,
		struct problem *problem)
{
	if (!json_is_array(value)) {
		return field_wrong(problem, where, "an array", value);
	}
	if (json_array_size(value) > field->max) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST, "%s: more than %llu items",
				   where, (unsigned long long)field->max);
	}
	*(json_t **)place(into, field) = value;
	return 0;
}

int field_object(void *into, const struct field *field, json_t *value, const char *where,
		 struct problem *problem)
{
	if (!json_is_object(value)) {
		return field_wrong(problem, where, "an object", value);
	}
	if (json_object_size(value) > field->max) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST, "%s: more than %llu keys",
				   where, (unsigned long long)field->max);
	}
	*(json_t **)place(into, field) = value;
	return 0;
}

int field_long(const struct json_longs *longs, json_t *value, const char *where, uint64_t max,
	       const char **ret, size_t *ret_size, struct problem *problem)
{
	if (!json_is_string(value)) {
		return field_wrong(problem, where, "a string", value);
	}
	if (!json_longs_find(longs, value, ret, ret_size)) {
		*ret = json_string_value(value);
		*ret_size = json_string_length(value);
	}
	if (max && *ret_size > max) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST, "%s: longer than %llu bytes",
				   where, (unsigned long long)max);
	}
	return 0;
}

int field_base64(json_t *value, const char *where, void **ret, size_t *ret_size,
		 struct problem *problem)
{
	if (!json_is_string(value)) {
		return field_wrong(problem, where, "a string of base64", value);
	}
	size_t length = json_string_length(value);
	unsigned char *bytes = malloc(length / 4 * 3 + 4);

	if (!bytes) {
		return problem_set(problem, PROBLEM_MEMORY_LOW, "%s: no memory for it", where);
	}
	if (!base64_decode(json_string_value(value), length, bytes, ret_size)) {
		free(bytes);
		problem_set(problem, PROBLEM_INVALID_REQUEST, "%s: not base64", where);
		problem_remedy(problem, "standard alphabet, with padding, without blanks");
		return -EINVAL;
	}
	*ret = bytes;
	return 0;
}
