/* SPDX-License-Identifier: Apache-2.0 */
/* Typed values from JSON: checks kind and range, and reports the position of errors. */
#include "policy/policy_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/suggest.h"

#define KEYS_MAX    32
#define STRINGS_MAX 512

static const char *kind_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "a text";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	case JSON_NULL:
		break;
	}
	return "null";
}

static int wrong_kind(struct policy_reader *reader, const char *path, const json_t *value,
		      const char *wanted)
{
	json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err, "must be %s, not %s", wanted,
		       kind_name(value));
	return -EINVAL;
}

int reader_path(char path[POLICY_PATH_MAX], const char *parent, const char *key)
{
	return snprintf(path, POLICY_PATH_MAX, "%s%s%s", parent, *parent ? "." : "", key);
}

int reader_unknown(struct policy_reader *reader, const char *path, const char *what,
		   const char *word, const char *const *names, size_t count)
{
	_cleanup_(buf_done)
	struct buf list = { 0 };
	struct suggestion best = { 0 };

	for (size_t i = 0; i < count; i++) {
		buf_addf(&list, "%s%s", i > 0 ? ", " : "", names[i]);
		suggest(&best, word, names[i]);
	}
	json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err, "unknown %s \"%.64s\"%s%s%s",
		       what, word, best.word ? "; did you mean \"" : "", best.word ? best.word : "",
		       best.word ? "\"?" : "");
	error_remedy(reader->err, "allowed: %s", list.data ? list.data : "none");
	return -EINVAL;
}

static int unknown_key(struct policy_reader *reader, const char *path, const char *key,
		       const struct reader_key *keys, size_t count)
{
	const char *names[KEYS_MAX];
	size_t n = count < KEYS_MAX ? count : KEYS_MAX;

	for (size_t i = 0; i < n; i++) {
		names[i] = keys[i].name;
	}
	return reader_unknown(reader, path, "key", key, names, n);
}

int read_is_object(struct policy_reader *reader, const char *path, json_t *value)
{
	return json_is_object(value) ? 0 : wrong_kind(reader, path, value, "an object { ... }");
}

int read_object(struct policy_reader *reader, const char *path, json_t *value,
		const struct reader_key *keys, size_t count)
{
	const char *key;
	json_t *item;
	int r = read_is_object(reader, path, value);

	if (r < 0) {
		return r;
	}
	json_object_foreach(value, key, item)
	{
		char below[POLICY_PATH_MAX];
		size_t i = 0;

		reader_path(below, path, key);
		while (i < count && strcmp(keys[i].name, key) != 0) {
			i++;
		}
		if (i == count) {
			return unknown_key(reader, below, key, keys, count);
		}

		r = keys[i].read(reader, below, item);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

int read_string(struct policy_reader *reader, const char *path, json_t *value, const char **ret)
{
	if (!json_is_string(value)) {
		return wrong_kind(reader, path, value, "a text in quotes");
	}
	*ret = json_string_value(value);
	return 0;
}

int read_bool(struct policy_reader *reader, const char *path, json_t *value, bool *ret)
{
	if (!json_is_boolean(value)) {
		return wrong_kind(reader, path, value, "true or false");
	}
	*ret = json_is_true(value);
	return 0;
}

int read_choice(struct policy_reader *reader, const char *path, json_t *value,
		const struct reader_choice *choice, unsigned *ret)
{
	const char *text;
	int r = read_string(reader, path, value, &text);

	if (r < 0) {
		return r;
	}
	for (unsigned i = 0; i < choice->count; i++) {
		if (strcmp(choice->names[i], text) == 0) {
			*ret = i;
			return 0;
		}
	}
	return reader_unknown(reader, path, "value", text, choice->names, choice->count);
}

/* As text in the usual notation: 30 and 0.5 are handled like "30s" and "500ms". */
static const char *quantity_text(const json_t *value, char *buffer, size_t size)
{
	if (json_is_string(value)) {
		return json_string_value(value);
	}
	if (json_is_integer(value)) {
		snprintf(buffer, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		return buffer;
	}
	if (json_is_real(value)) {
		snprintf(buffer, size, "%.15g", json_real_value(value));
		return buffer;
	}
	return NULL;
}

int read_quantity(struct policy_reader *reader, const char *path, json_t *value, enum unit unit,
		  uint64_t least, uint64_t most, uint64_t *ret)
{
	char buffer[40], low[40], high[40];
	const char *text = quantity_text(value, buffer, sizeof(buffer));
	uint64_t quantity = 0;

	if (!text) {
		return wrong_kind(reader, path, value, unit_describe(unit));
	}

	int r = unit_parse(unit, text, &quantity);

	if (r == -EINVAL) {
		return json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
				      "\"%.40s\" is not %s", text, unit_describe(unit));
	}
	if (r < 0 || quantity < least || quantity > most) {
		return json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
				      "%.40s is out of range: from %s to %s", text,
				      unit_format(unit, least, low, sizeof(low)),
				      unit_format(unit, most, high, sizeof(high)));
	}
	*ret = quantity;
	return 0;
}

int read_array(struct policy_reader *reader, const char *path, json_t *value, size_t most)
{
	if (!json_is_array(value)) {
		return wrong_kind(reader, path, value, "a list [ ... ]");
	}
	if (json_array_size(value) > most) {
		return json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
				      "%zu items, at most %zu", json_array_size(value), most);
	}
	return 0;
}

static int read_item(struct policy_reader *reader, const char *path, json_t *value,
		     int (*check)(struct policy_reader *reader, const char *path, const char *item),
		     const struct strlist *before, const char **ret)
{
	int r = read_string(reader, path, value, ret);

	if (r < 0) {
		return r;
	}
	if (strlist_has(before, *ret)) {
		json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
			       "\"%.64s\" is listed twice", *ret);
		error_remedy(reader->err, "remove one of the two");
		return -EINVAL;
	}
	return check ? check(reader, path, *ret) : 0;
}

int read_strings(struct policy_reader *reader, const char *path, json_t *value,
		 int (*check)(struct policy_reader *reader, const char *path, const char *item),
		 struct strlist *ret)
{
	_cleanup_(strlist_done)
	struct strlist list = { 0 };
	int r = read_array(reader, path, value, STRINGS_MAX);

	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < json_array_size(value); i++) {
		char below[POLICY_PATH_MAX];
		const char *text = NULL;

		snprintf(below, sizeof(below), "%s[%zu]", path, i);
		r = read_item(reader, below, json_array_get(value, i), check, &list, &text);
		if (r < 0) {
			return r;
		}
		if (strlist_add(&list, text) < 0) {
			return error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
		}
	}

	struct strlist old = *ret;

	*ret = list;
	list = old;
	return 0;
}
