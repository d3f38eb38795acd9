/* SPDX-License-Identifier: Apache-2.0 */
/* Making a result that is too large to keep smaller: see result_facts.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "ledger/result_facts.h"

/* What a text takes when it is written: escapes are up to six bytes for one. */
static size_t size_of(const json_t *value)
{
	return value ? json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY) : 0;
}

static int drop_files(json_t *result)
{
	char note[160];
	size_t count = json_array_size(json_object_get(result, "files"));

	(void)snprintf(note, sizeof(note),
		       "%zu files were too large to keep with the result; they came with the run's "
		       "own answer only",
		       count);
	if (json_object_set_new(result, "files", json_array()) < 0 ||
	    json_object_set_new(result, "files_note", json_string(note)) < 0) {
		return -ENOMEM;
	}
	return 0;
}

/* Whole characters, or whole groups of base64. */
static size_t cut_at(const char *text, size_t size, bool base64)
{
	if (base64) {
		return size / 4 * 4;
	}
	while (size > 0 && utf8_continues(text[size])) {
		size--;
	}
	return size;
}

static int cut_stream(json_t *result, const char *key, const char *flag, size_t max, bool base64)
{
	json_t *stream = json_object_get(result, key);

	if (!json_is_string(stream) || size_of(stream) <= max) {
		return 0;
	}
	size_t size = json_string_length(stream);
	/* The worst is six bytes for each. */
	size_t kept = cut_at(json_string_value(stream), size < max / 6 ? size : max / 6, base64);
	json_t *shorter = json_stringn(json_string_value(stream), kept);
	if (!shorter || json_object_set_new(result, key, shorter) < 0 ||
	    json_object_set_new(result, flag, json_true()) < 0) {
		return -ENOMEM;
	}
	return 0;
}

int result_cut(json_t *result, size_t max)
{
	const char *encoding = json_string_value(json_object_get(result, "encoding"));
	bool base64 = encoding && strcmp(encoding, "base64") == 0;
	int r = 0;

	if (size_of(result) > max && json_array_size(json_object_get(result, "files")) > 0) {
		r = drop_files(result);
	}
	if (r == 0 && size_of(result) > max) {
		json_object_del(result, "changes");
		if (size_of(json_object_get(result, "value")) > max / 4) {
			r = json_object_set_new(result, "value", json_null()) < 0 ? -ENOMEM : 0;
		}
	}
	if (r == 0 && size_of(result) > max) {
		r = cut_stream(result, "stdout", "stdout_truncated", max / 3, base64);
	}
	if (r == 0 && size_of(result) > max) {
		r = cut_stream(result, "stderr", "stderr_truncated", max / 3, base64);
	}
	return r;
}
