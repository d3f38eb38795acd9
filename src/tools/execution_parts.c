/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a run's result that an answer needs: never all of it. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_bounded.h"
#include "tools/tools_internal.h"

static json_t *load(const char *text, size_t size)
{
	/* A value may have a depth of 64. */
	static const struct json_bounds bounds = { .depth = 80,
						   .values = 200000,
						   .allow_nul = true };

	return json_bounded_load(text, size, &bounds, NULL);
}

/* Any value: the reader accepts only objects and arrays, so it is put into an array. */
static json_t *load_value(const struct outcome *outcome, const char *json)
{
	const struct outcome_part *part = &outcome->parts[OUTCOME_VALUE];
	struct buf text = { 0 };

	buf_addc(&text, '[');
	buf_add(&text, json + part->at, (size_t)part->size);
	buf_addc(&text, ']');
	json_t *list = text.failed ? NULL : load(text.data, text.size);
	json_t *value = json_incref(json_array_get(list, 0));
	json_decref(list);
	buf_done(&text);
	return value ? value : json_null();
}

static json_t *load_file(const struct outcome_file *file)
{
	_cleanup_free_ char *path = outcome_file_path(file);
	_cleanup_(buf_done)
	struct buf text = { 0 };

	outcome_file_rest(file, &text);
	json_t *rest = text.failed ? NULL : load(text.data, text.size);
	json_t *object = json_pack("{s:s*}", "path", path);
	json_object_update(object, rest);
	json_decref(rest);
	return object;
}

static json_t *load_files(const struct outcome *outcome, const char *json)
{
	json_t *list = json_array();
	struct outcome_file file;
	size_t at = 0;

	while (outcome_file_next(outcome, json, &at, &file)) {
		json_array_append_new(list, load_file(&file));
	}
	return list;
}

json_t *tools_skeleton(const struct outcome *outcome, const char *json)
{
	json_t *skeleton = NULL;

	if (outcome_parse(outcome, json, &skeleton) < 0) {
		return NULL;
	}
	json_object_set_new(skeleton, "value", load_value(outcome, json));
	json_object_set_new(skeleton, "files", load_files(outcome, json));
	return skeleton;
}

char *tools_bytes(struct outcome_stream *stream, size_t want, size_t *ret_size)
{
	/* A slice consists of whole characters: it needs some more room. */
	char *data = malloc(want + 32);
	size_t got = 0, more = 1;

	if (!data) {
		return NULL;
	}
	while (got < want &&
	       (more = outcome_stream_read(stream, data + got, want + 32 - got)) > 0) {
		got += more;
	}
	*ret_size = got;
	return data;
}

void tools_file_stream(const struct outcome_file *file, struct outcome_stream *ret)
{
	*ret = (struct outcome_stream){
		.begin = file->base64,
		.at = file->base64,
		.end = file->base64 + file->base64_size,
		.base64 = true,
	};
}
