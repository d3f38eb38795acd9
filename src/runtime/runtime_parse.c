/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a runtime file into a struct runtime, strictly: unknown keys are errors. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/id.h"
#include "base/json/json_in.h"
#include "base/limits.h"
#include "runtime/runtime.h"
#include "runtime/runtime_keys.h"

#define LIST_MAX  256
#define PATH_SIZE 192 /* for the position of a key: "compile.argv[12]" */

struct parse {
	const struct json_doc *doc;
	struct runtime *runtime;
	struct brig_error *err;
};

#define FAIL(parse, path, ...)                                                                     \
	json_doc_error((parse)->doc, (path), BRIG_E_RUNTIME, (parse)->err, __VA_ARGS__)

static void *field_of(const struct parse *parse, const struct runtime_key *key)
{
	return (char *)parse->runtime + key->offset;
}

/* The text of a value, if it is one and fits the key's rule. */
static int take_text(const struct parse *parse, const struct runtime_key *key, const char *path,
		     const json_t *value, const char **ret)
{
	const char *text = json_string_value(value);
	const char *must;

	if (!text) {
		return FAIL(parse, path, "must be a text in quotes");
	}
	must = strlen(text) == json_string_length(value) ? key->rule(text) : "must not have a NUL";
	if (must) {
		return FAIL(parse, path, "\"%.64s\" %s", text, must);
	}
	*ret = text;
	return 0;
}

static int set_flag(const struct parse *parse, const struct runtime_key *key, const char *path,
		    const json_t *value)
{
	if (!json_is_boolean(value)) {
		return FAIL(parse, path, "must be true or false");
	}
	*(bool *)field_of(parse, key) = json_is_true(value);
	return 0;
}

static int set_text(const struct parse *parse, const struct runtime_key *key, const char *path,
		    const json_t *value)
{
	const char *text = "";
	int r = take_text(parse, key, path, value, &text);

	if (r < 0) {
		return r;
	}
	if (strlen(text) >= key->size) {
		return FAIL(parse, path, "must be shorter than %zu bytes", key->size);
	}
	memcpy(field_of(parse, key), text, strlen(text) + 1);
	return 0;
}

static int set_owned(const struct parse *parse, const struct runtime_key *key, const char *path,
		     const json_t *value)
{
	const char *text = "";
	int r = take_text(parse, key, path, value, &text);
	char *copy;

	if (r < 0) {
		return r;
	}
	copy = strdup(text);
	if (!copy) {
		return error_errno(parse->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
	}
	*(char **)field_of(parse, key) = copy;
	return 0;
}

static int set_list(const struct parse *parse, const struct runtime_key *key, const char *path,
		    const json_t *value)
{
	struct strlist *list = field_of(parse, key);
	size_t count = json_array_size(value);

	if (!json_is_array(value) || count > LIST_MAX) {
		return FAIL(parse, path, "must be a list of at most %d texts", LIST_MAX);
	}
	for (size_t i = 0; i < count; i++) {
		char item_path[PATH_SIZE];
		const char *text = "";
		int r;

		(void)snprintf(item_path, sizeof(item_path), "%.150s[%zu]", path, i);
		r = take_text(parse, key, item_path, json_array_get(value, i), &text);
		if (r < 0) {
			return r;
		}
		if (strlist_add(list, text) < 0) {
			return error_errno(parse->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
		}
	}
	return 0;
}

static bool is_env_name(const char *name)
{
	static const char bytes[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return name[0] && !(name[0] >= '0' && name[0] <= '9') && strlen(name) <= 64 &&
	       strspn(name, bytes) == strlen(name);
}

static int set_env(const struct parse *parse, const struct runtime_key *key, const char *path,
		   json_t *value)
{
	struct strlist *list = field_of(parse, key);
	const char *name;
	json_t *item;

	if (!json_is_object(value) || json_object_size(value) > LIST_MAX) {
		return FAIL(parse, path, "must be an object of at most %d texts", LIST_MAX);
	}
	json_object_foreach(value, name, item)
	{
		char item_path[PATH_SIZE];
		const char *text = "";
		int r;

		(void)snprintf(item_path, sizeof(item_path), "%.80s.%.80s", path, name);
		if (!is_env_name(name)) {
			return FAIL(parse, item_path, "is not a valid variable name");
		}
		r = take_text(parse, key, item_path, item, &text);
		if (r < 0) {
			return r;
		}
		if (strlist_addf(list, "%s=%s", name, text) < 0) {
			return error_errno(parse->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
		}
	}
	return 0;
}

static int set_number(const struct parse *parse, const struct runtime_key *key, const char *path,
		      const json_t *value)
{
	char digits[24];
	const char *text = json_string_value(value);

	if (json_is_integer(value)) {
		(void)snprintf(digits, sizeof(digits), "%" JSON_INTEGER_FORMAT,
			       json_integer_value(value));
		text = digits;
	}
	if (!text || unit_parse(key->unit, text, field_of(parse, key)) < 0) {
		return FAIL(parse, path, "must be %s", unit_describe(key->unit));
	}
	return 0;
}

static int unknown_limit(const struct parse *parse, const char *path)
{
	_cleanup_(buf_done)
	struct buf known = { 0 };
	int r = FAIL(parse, path, "unknown limit");

	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		if (limit_table[i].of_compiler) {
			buf_addf(&known, "%s%s", known.size ? ", " : "", limit_table[i].key);
		}
	}
	error_remedy(parse->err, "the valid limits are %s", known.data ? known.data : "");
	return r;
}

static int set_limits(const struct parse *parse, const struct runtime_key *key, const char *path,
		      json_t *value)
{
	const char *name;
	json_t *item;

	if (!json_is_object(value)) {
		return FAIL(parse, path, "must be an object");
	}
	json_object_foreach(value, name, item)
	{
		const struct limit_info *info = limit_find(name);
		char item_path[PATH_SIZE];

		(void)snprintf(item_path, sizeof(item_path), "%.80s.%.80s", path, name);
		if (!info || !info->of_compiler) {
			return unknown_limit(parse, item_path);
		}
		struct runtime_key limit = { .name = name,
					     .offset = key->offset + info->offset,
					     .unit = info->unit };
		int r = set_number(parse, &limit, item_path, item);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int set_object(const struct parse *parse, const struct runtime_key *keys, const char *path,
		      json_t *value);

static int set_key(const struct parse *parse, const struct runtime_key *key, const char *path,
		   json_t *value)
{
	switch (key->kind) {
	case KEY_FLAG:
		return set_flag(parse, key, path, value);
	case KEY_TEXT:
		return set_text(parse, key, path, value);
	case KEY_OWNED:
		return set_owned(parse, key, path, value);
	case KEY_LIST:
		return set_list(parse, key, path, value);
	case KEY_ENV:
		return set_env(parse, key, path, value);
	case KEY_NUMBER:
		return set_number(parse, key, path, value);
	case KEY_LIMITS:
		return set_limits(parse, key, path, value);
	case KEY_OBJECT:
		return set_object(parse, key->keys, path, value);
	}
	return -EINVAL;
}

static int unknown_key(const struct parse *parse, const struct runtime_key *keys, const char *path)
{
	_cleanup_(buf_done)
	struct buf known = { 0 };
	int r = FAIL(parse, path, "unknown key");

	for (; keys->name; keys++) {
		buf_addf(&known, "%s%s", known.size ? ", " : "", keys->name);
	}
	error_remedy(parse->err, "the valid keys are %s", known.data ? known.data : "");
	return r;
}

/*
 * The recursion is as deep as the table of keys, never as deep as the file: an unknown key ends it.
 */
static int set_object(const struct parse *parse, const struct runtime_key *keys, const char *path,
		      json_t *value)
{
	const char *name;
	json_t *item;

	if (!json_is_object(value)) {
		return FAIL(parse, path, "must be an object");
	}
	json_object_foreach(value, name, item)
	{
		const struct runtime_key *key = keys;
		char item_path[PATH_SIZE];
		int r;

		(void)snprintf(item_path, sizeof(item_path), "%.80s%s%.80s", path, *path ? "." : "",
			       name);
		while (key->name && strcmp(key->name, name) != 0) {
			key++;
		}
		r = key->name ? set_key(parse, key, item_path, item)
			      : unknown_key(parse, keys, item_path);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* Checks for required keys, and for keys that exclude each other. */
static int check_whole(const struct parse *parse)
{
	const struct runtime *rt = parse->runtime;
	const struct {
		bool wrong;
		const char *path, *message;
	} checks[] = {
		{ rt->generic && (rt->candidates.count || rt->compile.count || rt->source[0]),
		  "generic", "a generic runtime has no program, source or compile" },
		{ !rt->generic && !rt->engine && rt->candidates.count == 0, "program",
		  "is missing" },
		{ rt->engine && (rt->candidates.count || rt->compile.count), "engine",
		  "such a runtime has no program and no compile" },
		{ !rt->generic && !rt->source[0], "source", "is missing" },
		{ rt->run.count == 0, "run.argv", "is missing" },
		{ rt->compile.count && !rt->output[0], "compile.output", "is missing" },
		{ !rt->compile.count && rt->output[0], "compile.argv", "is missing" },
		{ rt->run.count && !strlist_has(&rt->run, "{args}"), "run.argv",
		  "has no {args}: the program would never get its arguments" },
		{ rt->driver[0] && !strlist_has(&rt->driver_argv, "{driver}"), "warm.argv",
		  "has no {driver}: no script would wait in it" },
		{ !rt->driver[0] && rt->driver_argv.count, "warm.driver", "is missing" },
		{ (rt->value_driver[0] != 0) != strlist_has(&rt->value_argv, "{driver}"),
		  "value.argv", "needs {driver}, and value.driver to name it" },
		{ (rt->session_driver[0] != 0) != strlist_has(&rt->session_argv, "{driver}"),
		  "session.argv", "needs {driver}, and session.driver to name it" },
		{ rt->driver[0] && rt->template, "warm.driver",
		  "a runtime is either cloned from a template or started in advance, not both" },
		{ rt->words.types.count && !rt->words.fallback[0], "named_by.fallback",
		  "is missing" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		if (checks[i].wrong) {
			return FAIL(parse, checks[i].path, "%s", checks[i].message);
		}
	}
	return 0;
}

static int parse_whole(struct parse *parse)
{
	int r = set_object(parse, runtime_keys, "", parse->doc->root);

	return r < 0 ? r : check_whole(parse);
}

int runtime_parse(const char *name, const char *text, size_t size, struct runtime **ret,
		  struct brig_error *err)
{
	_cleanup_(json_doc_done)
	struct json_doc doc = { 0 };
	struct parse parse = { .doc = &doc, .err = err };
	char file[64];

	if (!id_name_valid(name) || strlen(name) >= sizeof(parse.runtime->name)) {
		return error_set(err, BRIG_E_RUNTIME, EINVAL,
				 "\"%.64s\" is not a valid runtime name", name);
	}
	(void)snprintf(file, sizeof(file), "runtimes/%s.json", name);
	int r = json_doc_load(&doc, file, text, size, err);
	if (r < 0) {
		if (err && err->code == BRIG_E_POLICY) {
			err->code = BRIG_E_RUNTIME;
		}
		return r;
	}
	parse.runtime = calloc(1, sizeof(*parse.runtime));
	if (!parse.runtime) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "%s", file);
	}
	memcpy(parse.runtime->name, name, strlen(name) + 1);
	r = parse_whole(&parse);
	if (r < 0) {
		runtime_free(parse.runtime);
		return r;
	}
	*ret = parse.runtime;
	return 0;
}
