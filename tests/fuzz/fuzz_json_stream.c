/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of texts that arrive in parts against the reader of whole ones: both refuse, or both
 * give the same result, wherever the text is cut. The first byte is the length of the parts.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/base64.h"
#include "base/json/json_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct json_place places[] = {
	{ "a", false, true },
	{ "b", true, false },
	{ "c.*", false, false },
	{ "c.*.b", true, false },
};

#define BOUNDS                                                                                     \
	{                                                                                          \
		.depth = 64, .values = 1000000                                                     \
	}
static const struct json_stream_options back = { .bounds = BOUNDS,
						 .places = places + 4,
						 .places_count = 0 };
static const struct json_stream_options kept = { .bounds = BOUNDS,
						 .places = places,
						 .places_count = 4 };

static json_t *read_parts(const struct json_stream_options *options, const char *text, size_t size,
			  size_t part, struct json_longs **longs)
{
	struct json_stream *stream = json_stream_new(options);
	struct json_refusal why;

	for (size_t at = 0; at < size; at += part) {
		json_stream_take(stream, text + at, size - at < part ? size - at : part);
	}
	json_t *root = json_stream_end(stream, longs, &why);
	json_stream_free(stream);
	return root;
}

/* A string that has stayed in the file equals that of the document, as text or as bytes. */
static bool same_long(const char *data, size_t size, const json_t *whole)
{
	size_t length = json_string_length(whole), decoded = 0;
	unsigned char *bytes = malloc(length / 4 * 3 + 4);
	bool same = data[size] == '\0' &&
		    ((length == size && memcmp(json_string_value(whole), data, size) == 0) ||
		     (base64_decode(json_string_value(whole), length, bytes, &decoded) &&
		      decoded == size && memcmp(bytes, data, size) == 0));

	free(bytes);
	return same;
}

static void compare(json_t *whole, json_t *parts, const struct json_longs *longs)
{
	const char *key, *data;
	json_t *value;
	size_t i, size;

	if (json_longs_find(longs, parts, &data, &size)) {
		if (!json_is_string(whole) || !same_long(data, size, whole)) {
			abort();
		}
		return;
	}
	if (json_typeof(whole) != json_typeof(parts) ||
	    json_array_size(whole) != json_array_size(parts) ||
	    json_object_size(whole) != json_object_size(parts)) {
		abort();
	}
	json_array_foreach(whole, i, value)
	{
		compare(value, json_array_get(parts, i), longs);
	}
	json_object_foreach(whole, key, value)
	{
		compare(value, json_object_get(parts, key), longs);
	}
	if (!json_is_array(whole) && !json_is_object(whole) && !json_equal(whole, parts)) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct json_bounds bounds = BOUNDS;
	struct json_longs *longs = NULL, *none = NULL;

	if (size == 0) {
		return 0;
	}
	const char *text = (const char *)data + 1;
	size_t part = 1 + data[0];
	json_t *whole = json_bounded_load(text, size - 1, &bounds, NULL);
	json_t *same = read_parts(&back, text, size - 1, part, &none);
	json_t *parts = read_parts(&kept, text, size - 1, part, &longs);

	if (!whole != !parts || !whole != !same || (whole && !json_equal(whole, same))) {
		abort();
	}
	if (whole) {
		compare(whole, parts, longs);
	}
	json_decref(whole);
	json_decref(same);
	json_decref(parts);
	json_longs_unref(longs);
	json_longs_unref(none);
	return 0;
}
