/* SPDX-License-Identifier: Apache-2.0 */
/* Puts long strings back in their places in the document, or leaves them in the file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_longs.h"

struct place_walk {
	const struct json_stream_options *options;
	struct json_longs *longs;
	const char *keys[JSON_STREAM_DEPTH_MAX];
	size_t count;
	size_t back; /* bytes that were put back */
};

static bool matches(const char *path, const struct place_walk *walk)
{
	for (size_t i = 0; i < walk->count; i++) {
		size_t size = strcspn(path, ".");
		bool any = size == 1 && path[0] == '*';
		if (!any &&
		    (strlen(walk->keys[i]) != size || memcmp(path, walk->keys[i], size) != 0)) {
			return false;
		}
		path += size;
		if (*path == '\0') {
			return i + 1 == walk->count;
		}
		path++;
	}
	return false;
}

static const struct json_place *find_place(const struct place_walk *walk)
{
	for (size_t i = 0; i < walk->options->places_count; i++) {
		if (matches(walk->options->places[i].path, walk)) {
			return &walk->options->places[i];
		}
	}
	return NULL;
}

/* The replacement for a mark. 0 with NULL: it stays in the file. */
static int settle(struct place_walk *walk, struct json_long *item, const json_t *mark, json_t **ret)
{
	const struct json_place *place = find_place(walk);
	size_t most = walk->options->back_max;

	*ret = NULL;
	/* The reader of the document knows this place, and reads the text from the memory file. */
	if (place && item->decoded == (place->base64 ? item->size : 0) &&
	    (item->sha256 || !place->hashed)) {
		item->node = mark;
		return 0;
	}
	if (most && item->size > most && item->wrong && place && place->base64) {
		*ret = json_string("!"); /* also not base64, which is all that matters */
	} else if (most && item->size > most - walk->back) {
		return -E2BIG;
	} else {
		walk->back += item->size;
		*ret = json_long_string(walk->longs, item);
	}
	return *ret ? 0 : -ENOMEM;
}

static int put_back(struct place_walk *walk, json_t *value);

/* All strings that begin like a mark are marks. */
static int put_one(struct place_walk *walk, json_t *value, json_t **ret)
{
	const char *text = json_string_value(value);

	*ret = NULL;
	if (!text || text[0] != JSON_MARK) {
		return put_back(walk, value);
	}
	/* Only we write marks; a wrong number would point outside of the list. */
	size_t number = strtoul(text + 1, NULL, 10);
	return number < walk->longs->count ? settle(walk, &walk->longs->items[number], value, ret)
					   : -EBADMSG;
}

/* As deep as the bounds allow, which were checked before. */
static int put_back(struct place_walk *walk, json_t *value)
{
	json_t *string;
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_array_size(value); i++) {
		r = put_one(walk, json_array_get(value, i), &string);
		if (string && json_array_set_new(value, i, string) < 0) {
			r = -ENOMEM;
		}
	}
	void *at = json_object_iter(value);
	for (; r == 0 && at; at = json_object_iter_next(value, at)) {
		walk->keys[walk->count++] = json_object_iter_key(at);
		r = put_one(walk, json_object_iter_value(at), &string);
		walk->count--;
		if (string && json_object_iter_set_new(value, at, string) < 0) {
			r = -ENOMEM;
		}
	}
	return r;
}

int json_longs_put_back(struct json_longs *longs, const struct json_stream_options *options,
			json_t *root)
{
	struct place_walk walk = { .options = options, .longs = longs };

	return put_back(&walk, root);
}
