/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration file of a monitor that wants one: an object of JSON in the machine's file. It
 * is kept as a text with {words}. "{memory_mib}", alone in its quotes, is the place of a number.
 */
#include "policy/machine/machine_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define CONFIG_MAX 16384
#define DEPTH_MAX  8
#define NUMBER     "\"{memory_mib}\""

static int check_value(struct policy_reader *reader, const char *path, json_t *value,
		       unsigned depth);

static int check_member(struct policy_reader *reader, const char *path, const char *key,
			json_t *value, unsigned depth)
{
	char below[POLICY_PATH_MAX];

	if (strpbrk(key, "{}")) {
		return tool_wrong(reader, path, "a key has a word in it", "words are for values");
	}
	reader_path(below, path, key);
	return check_value(reader, below, value, depth);
}

static int check_object(struct policy_reader *reader, const char *path, json_t *value,
			unsigned depth)
{
	const char *key;
	json_t *member;
	int r = 0;

	json_object_foreach(value, key, member)
	{
		r = check_member(reader, path, key, member, depth);
		if (r < 0) {
			break;
		}
	}
	return r;
}

static int check_list(struct policy_reader *reader, const char *path, json_t *value, unsigned depth)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_array_size(value); i++) {
		char below[POLICY_PATH_MAX];
		snprintf(below, sizeof(below), "%.*s[%zu]", POLICY_PATH_MAX - 24, path, i);
		r = check_value(reader, below, json_array_get(value, i), depth);
	}
	return r;
}

static int check_value(struct policy_reader *reader, const char *path, json_t *value,
		       unsigned depth)
{
	if (depth == DEPTH_MAX) {
		return tool_wrong(reader, path, "too deep", "write a flatter configuration");
	}
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return check_object(reader, path, value, depth + 1);
	case JSON_ARRAY:
		return check_list(reader, path, value, depth + 1);
	case JSON_STRING:
		return tool_check_words(reader, path, &machine_words, json_string_value(value));
	default:
		return 0;
	}
}

/* The quotes around a number go. */
static char *with_numbers(const char *text)
{
	struct buf out = { 0 };

	for (const char *at; (at = strstr(text, NUMBER)); text = at + strlen(NUMBER)) {
		buf_add(&out, text, (size_t)(at - text));
		buf_add(&out, &NUMBER[1], strlen(NUMBER) - 2);
	}
	buf_adds(&out, text);
	return buf_take(&out);
}

int machine_read_config(struct policy_reader *reader, const char *path, json_t *value, char **ret)
{
	int r = read_is_object(reader, path, value);

	r = r < 0 ? r : check_value(reader, path, value, 0);
	if (r < 0) {
		return r;
	}
	_cleanup_free_ char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
	if (text && strlen(text) > CONFIG_MAX) {
		return tool_wrong(reader, path, "longer than 16384 bytes",
				  "write a shorter configuration");
	}
	free(*ret);
	*ret = text ? with_numbers(text) : NULL;
	return *ret ? 0 : error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
}
