/* SPDX-License-Identifier: Apache-2.0 */
/* serve.json to values and back, by the table of keys. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "serve/config.h"

#define PATH_BYTES_MAX 128

struct config_reader {
	struct serve_config *config;
	struct json_doc doc;
	bool internal;
	struct brig_error *err;
};

/* The value's text if its type fits the key; else NULL, and the expected type. */
static const char *text_of(const struct config_key *key, const json_t *value, char buffer[40],
			   const char **ret_wanted)
{
	bool number = key->kind == CONFIG_NUMBER;

	*ret_wanted = number                     ? unit_describe(key->unit)
		      : key->kind == CONFIG_FLAG ? "true or false"
						 : "a text in quotes";
	if (key->kind == CONFIG_FLAG) {
		return !json_is_boolean(value) ? NULL : json_is_true(value) ? "true" : "false";
	}
	if (json_is_string(value)) {
		return json_string_value(value);
	}
	if (number && json_is_integer(value)) {
		snprintf(buffer, 40, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		return buffer;
	}
	if (number && json_is_real(value)) {
		snprintf(buffer, 40, "%.15g", json_real_value(value));
		return buffer;
	}
	return NULL;
}

static int read_scalar(struct config_reader *reader, const char *path, const struct config_key *key,
		       const json_t *value)
{
	struct brig_error why = { 0 };
	char buffer[40];
	const char *wanted;
	const char *text = text_of(key, value, buffer, &wanted);

	if (!text) {
		return json_doc_error(&reader->doc, path, BRIG_E_INPUT, reader->err, "must be %s",
				      wanted);
	}
	if (config_set(reader->config, key, text, &why) < 0) {
		/* The message begins with the key, which the location already names. */
		size_t size = strlen(key->name);
		bool named = strncmp(why.message, key->name, size) == 0;
		return json_doc_error(&reader->doc, path, BRIG_E_INPUT, reader->err, "%s",
				      why.message + (named ? size + 2 : 0));
	}
	return 0;
}

static int read_list(struct config_reader *reader, const char *path, const struct config_key *key,
		     const json_t *value)
{
	struct strlist *list = (void *)((char *)reader->config + key->offset);
	size_t i;
	json_t *item;

	if (!json_is_array(value)) {
		return json_doc_error(&reader->doc, path, BRIG_E_INPUT, reader->err,
				      "must be a list [ ... ]");
	}
	strlist_done(list);
	json_array_foreach(value, i, item)
	{
		char below[PATH_BYTES_MAX];

		snprintf(below, sizeof(below), "%s[%zu]", path, i);
		int r = read_scalar(reader, below, key, item);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* Lists the keys allowed beneath `parent`, for the remedy. */
static int unknown(struct config_reader *reader, const char *path, const char *parent)
{
	_cleanup_(buf_done)
	struct buf list = { 0 };
	char last[PATH_BYTES_MAX] = "";
	size_t skip = *parent ? strlen(parent) + 1 : 0;

	for (size_t i = 0; i < config_keys_count; i++) {
		const char *name = config_keys[i].name;
		if (config_keys[i].internal ||
		    (skip && (strncmp(name, parent, skip - 1) != 0 || name[skip - 1] != '.'))) {
			continue;
		}
		int size = (int)strcspn(name + skip, ".");
		if (strncmp(last, name + skip, (size_t)size) == 0 && !last[size]) {
			continue;
		}
		snprintf(last, sizeof(last), "%.*s", size, name + skip);
		buf_addf(&list, "%s%s", list.size ? ", " : "", last);
	}
	json_doc_error(&reader->doc, path, BRIG_E_INPUT, reader->err, "unknown key");
	error_remedy(reader->err, "allowed: %s", list.data ? list.data : "none");
	return -EINVAL;
}

static bool is_group(const char *name)
{
	size_t size = strlen(name);

	for (size_t i = 0; i < config_keys_count; i++) {
		if (strncmp(config_keys[i].name, name, size) == 0 &&
		    config_keys[i].name[size] == '.') {
			return true;
		}
	}
	return false;
}

static int read_key(struct config_reader *reader, const char *path, const char *parent,
		    json_t *value)
{
	const struct config_key *key = config_key_find(path);

	if (!key || (key->internal && !reader->internal)) {
		return unknown(reader, path, parent);
	}
	return key->kind == CONFIG_LIST ? read_list(reader, path, key, value)
					: read_scalar(reader, path, key, value);
}

static int read_group(struct config_reader *reader, const char *group, json_t *value)
{
	const char *name;
	json_t *item;
	int r = 0;

	if (!json_is_object(value)) {
		return json_doc_error(&reader->doc, group, BRIG_E_INPUT, reader->err,
				      "must be an object { ... }");
	}
	json_object_foreach(value, name, item)
	{
		char path[PATH_BYTES_MAX];

		snprintf(path, sizeof(path), "%s.%s", group, name);
		r = read_key(reader, path, group, item);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int read_all(struct config_reader *reader)
{
	const char *name;
	json_t *item;

	if (!json_is_object(reader->doc.root)) {
		return json_doc_error(&reader->doc, "", BRIG_E_INPUT, reader->err,
				      "must be an object { ... }");
	}
	json_object_foreach(reader->doc.root, name, item)
	{
		/* A name with a dot would look like another key. */
		bool plain = !strchr(name, '.');
		int r = plain && is_group(name) ? read_group(reader, name, item)
			: plain                 ? read_key(reader, name, "", item)
						: unknown(reader, name, "");
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

int config_read(struct serve_config *config, const char *name, const char *text, size_t size,
		bool internal, struct brig_error *err)
{
	struct config_reader reader = { .config = config, .internal = internal, .err = err };
	int r = json_doc_load(&reader.doc, name, text, size, err);

	if (r == 0) {
		r = read_all(&reader);
		json_doc_done(&reader.doc);
	}
	if (r < 0 && err) {
		err->code = BRIG_E_INPUT;
	}
	return r;
}

/* --- writing ----------------------------------------------------------------------------- */

static void write_value(struct json_out *out, const struct serve_config *config,
			const struct config_key *key, const char *name)
{
	const void *field = (const char *)config + key->offset;
	char buffer[40];

	switch (key->kind) {
	case CONFIG_NUMBER:
		if (key->unit == UNIT_TIME) {
			/* A bare number would mean seconds. */
			unit_format(UNIT_TIME, *(const uint64_t *)field, buffer, sizeof(buffer));
			json_text(out, name, buffer);
		} else {
			json_u64(out, name, *(const uint64_t *)field);
		}
		break;
	case CONFIG_MODE:
		snprintf(buffer, sizeof(buffer), "%04o", (unsigned)*(const uint64_t *)field);
		json_text(out, name, buffer);
		break;
	case CONFIG_LEVEL:
		json_text(out, name, role_level_name((enum role_level) * (const uint64_t *)field));
		break;
	case CONFIG_FLAG:
		json_bool(out, name, *(const bool *)field);
		break;
	case CONFIG_TEXT:
		if (*(char *const *)field) {
			json_text(out, name, *(char *const *)field);
		}
		break;
	case CONFIG_LIST:
		json_list(out, name, field);
		break;
	}
}

/* Keys of one group are next to each other in the table. */
static void write_keys(const struct serve_config *config, bool internal, struct buf *buf)
{
	struct json_out out = { .buf = buf };
	char group[PATH_BYTES_MAX] = "";

	json_open(&out, NULL, '{');
	for (size_t i = 0; i < config_keys_count; i++) {
		const char *name = config_keys[i].name;
		const char *dot = strchr(name, '.');
		size_t size = dot ? (size_t)(dot - name) : 0;

		if (config_keys[i].internal && !internal) {
			continue;
		}
		if (strlen(group) != size || strncmp(group, name, size) != 0) {
			if (*group) {
				json_close(&out, '}');
			}
			snprintf(group, sizeof(group), "%.*s", (int)size, name);
			if (*group) {
				json_open(&out, group, '{');
			}
		}
		write_value(&out, config, &config_keys[i], dot ? dot + 1 : name);
	}
	if (*group) {
		json_close(&out, '}');
	}
	json_close(&out, '}');
}

void config_write(const struct serve_config *config, struct buf *buf)
{
	write_keys(config, true, buf);
}

void config_show(const struct serve_config *config, struct buf *buf)
{
	write_keys(config, false, buf);
}
