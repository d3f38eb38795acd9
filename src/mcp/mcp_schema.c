/* SPDX-License-Identifier: Apache-2.0 */
/* A small validator. It recurses by the schema, never by the value: the schema bounds the depth. */
#include "mcp/mcp_schema.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes/utf8.h"
#include "base/cleanup.h"

#define PATH_SIZE 256

struct schema_check {
	char path[PATH_SIZE]; /* of the current value, "" at the top */
	struct buf *why;
};

static bool check_value(struct schema_check *check, const json_t *schema, const json_t *value);

static bool __attribute__((format(printf, 2, 3)))
refuse(struct schema_check *check, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (check->path[0]) {
		buf_addf(check->why, "argument \"%s\" %s", check->path, text);
	} else {
		buf_addf(check->why, "the arguments %s", text);
	}
	return false;
}

/* Descends to a part of the value and returns. */
static bool check_part(struct schema_check *check, const json_t *schema, const json_t *value,
		       const char *name, size_t index)
{
	size_t before = strlen(check->path);

	if (name) {
		snprintf(check->path + before, PATH_SIZE - before, "%s%s", before ? "." : "", name);
	} else {
		snprintf(check->path + before, PATH_SIZE - before, "[%zu]", index);
	}
	bool good = check_value(check, schema, value);
	check->path[before] = '\0';
	return good;
}

static bool is_whole(const json_t *value)
{
	double real = json_real_value(value);

	return json_is_integer(value) || (json_is_real(value) && real >= -9e15 && real <= 9e15 &&
					  (double)(long long)real == real);
}

static bool has_type(const json_t *value, const char *type)
{
	static const struct {
		const char *name;
		json_type type;
	} types[] = {
		{ "object", JSON_OBJECT }, { "array", JSON_ARRAY },    { "string", JSON_STRING },
		{ "null", JSON_NULL },     { "boolean", JSON_TRUE },   { "boolean", JSON_FALSE },
		{ "number", JSON_REAL },   { "number", JSON_INTEGER },
	};

	if (strcmp(type, "integer") == 0) {
		return is_whole(value);
	}
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strcmp(types[i].name, type) == 0 && json_typeof(value) == types[i].type) {
			return true;
		}
	}
	return false;
}

static const char *with_article(const char *type)
{
	return strchr("aio", type[0]) ? "an" : "a";
}

static bool check_type(struct schema_check *check, const json_t *type, const json_t *value)
{
	size_t i;
	const json_t *one;

	if (json_is_string(type)) {
		const char *name = json_string_value(type);
		return has_type(value, name) ||
		       refuse(check, "must be %s %s", with_article(name), name);
	}
	if (!json_is_array(type)) {
		return true;
	}
	json_array_foreach(type, i, one)
	{
		if (json_is_string(one) && has_type(value, json_string_value(one))) {
			return true;
		}
	}
	_cleanup_free_ char *names = json_dumps(type, JSON_COMPACT);
	return refuse(check, "must be one of the types %s", names ? names : "");
}

static bool check_enum(struct schema_check *check, const json_t *schema, const json_t *value)
{
	const json_t *constant = json_object_get(schema, "const");
	const json_t *list = json_object_get(schema, "enum");
	size_t i;
	const json_t *one;

	if (constant && !json_equal(constant, value)) {
		_cleanup_free_ char *text = json_dumps(constant, JSON_COMPACT | JSON_ENCODE_ANY);
		return refuse(check, "must be %s", text ? text : "another");
	}
	if (!json_is_array(list)) {
		return true;
	}
	json_array_foreach(list, i, one)
	{
		if (json_equal(one, value)) {
			return true;
		}
	}
	_cleanup_free_ char *text = json_dumps(list, JSON_COMPACT);
	return refuse(check, "must be one of %s", text ? text : "the listed values");
}

static bool check_number(struct schema_check *check, const json_t *schema, const json_t *value)
{
	const json_t *least = json_object_get(schema, "minimum");
	const json_t *most = json_object_get(schema, "maximum");

	if (json_is_number(least) && json_number_value(value) < json_number_value(least)) {
		return refuse(check, "must be at least %g", json_number_value(least));
	}
	if (json_is_number(most) && json_number_value(value) > json_number_value(most)) {
		return refuse(check, "must be at most %g", json_number_value(most));
	}
	return true;
}

static bool check_size(struct schema_check *check, const json_t *schema, size_t size,
		       const char *least_key, const char *most_key, const char *what)
{
	const json_t *least = json_object_get(schema, least_key);
	const json_t *most = json_object_get(schema, most_key);

	if (json_is_integer(least) && size < (size_t)json_integer_value(least)) {
		return refuse(check, "must have at least %lld %s",
			      (long long)json_integer_value(least), what);
	}
	if (json_is_integer(most) && size > (size_t)json_integer_value(most)) {
		return refuse(check, "must have at most %lld %s",
			      (long long)json_integer_value(most), what);
	}
	return true;
}

static size_t characters(const json_t *string)
{
	const char *text = json_string_value(string);
	size_t size = json_string_length(string), count = 0;

	for (size_t i = 0; i < size; i++) {
		count += !utf8_continues(text[i]);
	}
	return count;
}

static bool check_array(struct schema_check *check, const json_t *schema, const json_t *value)
{
	const json_t *items = json_object_get(schema, "items");
	size_t i;
	json_t *one;

	if (!check_size(check, schema, json_array_size(value), "minItems", "maxItems", "items")) {
		return false;
	}
	if (!json_is_object(items)) {
		return true;
	}
	json_array_foreach(value, i, one)
	{
		if (!check_part(check, items, one, NULL, i)) {
			return false;
		}
	}
	return true;
}

static bool check_members(struct schema_check *check, const json_t *schema, const json_t *value)
{
	const json_t *properties = json_object_get(schema, "properties");
	const json_t *others = json_object_get(schema, "additionalProperties");
	const char *key;
	json_t *one;

	/* jansson's iterator needs a non-const pointer; it does not write. */
	json_object_foreach((json_t *)(uintptr_t)value, key, one)
	{
		const json_t *part = json_object_get(properties, key);
		if (!part && json_is_false(others)) {
			return refuse(check, "must not have \"%.64s\": there is no such argument",
				      key);
		}
		part = part ? part : others;
		if (json_is_object(part) && !check_part(check, part, one, key, 0)) {
			return false;
		}
	}
	return true;
}

static bool check_object(struct schema_check *check, const json_t *schema, const json_t *value)
{
	const json_t *required = json_object_get(schema, "required");
	size_t i;
	const json_t *name;

	json_array_foreach(required, i, name)
	{
		if (json_is_string(name) && !json_object_get(value, json_string_value(name))) {
			return refuse(check, "lack \"%s\", which is required",
				      json_string_value(name));
		}
	}
	return check_members(check, schema, value);
}

static bool check_value(struct schema_check *check, const json_t *schema, const json_t *value)
{
	if (!check_type(check, json_object_get(schema, "type"), value) ||
	    !check_enum(check, schema, value)) {
		return false;
	}
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return check_object(check, schema, value);
	case JSON_ARRAY:
		return check_array(check, schema, value);
	case JSON_STRING:
		return check_size(check, schema, characters(value), "minLength", "maxLength",
				  "characters");
	case JSON_INTEGER:
	case JSON_REAL:
		return check_number(check, schema, value);
	default:
		return true;
	}
}

bool mcp_schema_check(const json_t *schema, const json_t *value, struct buf *why)
{
	struct schema_check check = { .why = why };

	return check_value(&check, schema, value);
}
