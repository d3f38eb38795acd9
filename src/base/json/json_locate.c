/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the position of a key in a JSON text. One pass and no recursion: for each open bracket it
 * keeps how much of the path led there. So a key with a dot in its name is found as well as a
 * nested key.
 */
#include "base/json/json_locate.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes/utf8.h"

/* An open object or array. */
struct locate_level {
	const char *path; /* the part still to be found in here; NULL: not on the path */
	bool array;
	size_t index; /* of the next element */
};

struct locate_walk {
	const char *text;
	size_t size;
	size_t at;
	struct locate_level levels[JSON_DEPTH_MAX];
	size_t depth;
	const char *path; /* as in a level, for the next value */
	bool want_key;    /* the next string is a key */
};

static bool hex4(const char *text, size_t size, uint32_t *ret)
{
	uint32_t value = 0;

	for (size_t i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef";
		char c = i < size ? text[i] : '\0';
		const char *found = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;
		if (!found) {
			return false;
		}
		value = value << 4 | (uint32_t)(found - digits);
	}
	*ret = value;
	return true;
}

/* Decodes the escape at text[0] == '\\' to bytes; returns the length of the escape, 0 if wrong. */
static size_t escape_decode(const char *text, size_t size, char out[4], size_t *out_size)
{
	static const char letters[] = "\"\\/bfnrt";
	static const char meanings[] = "\"\\/\b\f\n\r\t";
	uint32_t c, low;

	if (size < 2 || text[1] == '\0') {
		return 0;
	}
	if (text[1] != 'u') {
		const char *found = strchr(letters, text[1]);
		if (!found) {
			return 0;
		}
		out[0] = meanings[found - letters];
		*out_size = 1;
		return 2;
	}
	if (!hex4(text + 2, size - 2, &c)) {
		return 0;
	}
	size_t used = 6;
	if (c >= 0xd800 && c <= 0xdbff && size >= 12 && text[6] == '\\' && text[7] == 'u' &&
	    hex4(text + 8, size - 8, &low) && low >= 0xdc00 && low <= 0xdfff) {
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		used = 12;
	}
	*out_size = utf8_write(c, out);
	return used;
}

/*
 * Compares the inside of a string with the start of the path, escapes decoded; returns the path
 * behind it, or NULL.
 */
static const char *key_match(const char *key, size_t size, const char *path)
{
	for (size_t i = 0; i < size;) {
		char bytes[4] = { key[i] };
		size_t count = 1;
		size_t used = 1;

		if (key[i] == '\\') {
			used = escape_decode(key + i, size - i, bytes, &count);
		}
		/* A NUL would match the end of the path. */
		if (used == 0 || bytes[0] == '\0' || strncmp(path, bytes, count) != 0) {
			return NULL;
		}
		path += count;
		i += used;
	}
	return path;
}

/* After the name of a key or element: the end, ".key" or "[0]". */
static const char *path_descend(const char *rest)
{
	if (rest && *rest == '.') {
		return rest + 1;
	}
	return rest && *rest == '[' ? rest : NULL;
}

/*
 * The position after a string whose opening quote is at `at`; the end of the text when it is not
 * terminated.
 */
static size_t string_end(const char *text, size_t size, size_t at)
{
	for (size_t i = at + 1; i < size; i++) {
		if (text[i] == '\\') {
			i++;
		} else if (text[i] == '"') {
			return i + 1;
		}
	}
	return size;
}

/* At the first byte of an array's element: true when it is the one that is searched. */
static bool element_begin(struct locate_walk *walk, struct locate_level *level)
{
	char name[32];
	int size = snprintf(name, sizeof(name), "[%zu]", level->index++);

	walk->path = NULL;
	if (level->path && strncmp(level->path, name, (size_t)size) == 0) {
		if (level->path[size] == '\0') {
			return true;
		}
		walk->path = path_descend(level->path + size);
	}
	return false;
}

/* Reads the string at walk->at; true when it is the key that is searched. */
static bool string_take(struct locate_walk *walk, const struct locate_level *level)
{
	size_t start = walk->at;

	walk->at = string_end(walk->text, walk->size, start);
	if (!walk->want_key || walk->at < start + 2) {
		return false;
	}
	walk->want_key = false;
	walk->path = NULL;
	if (level && level->path) {
		const char *rest =
			key_match(walk->text + start + 1, walk->at - start - 2, level->path);
		if (rest && *rest == '\0') {
			return true;
		}
		walk->path = path_descend(rest);
	}
	return false;
}

/* Brackets and commas; false when the nesting is invalid. */
static bool punctuation_take(struct locate_walk *walk, struct locate_level *level, char c)
{
	walk->at++;
	switch (c) {
	case '{':
	case '[':
		if (walk->depth == JSON_DEPTH_MAX) {
			return false;
		}
		walk->levels[walk->depth++] = (struct locate_level){ walk->path, c == '[', 0 };
		walk->want_key = c == '{';
		walk->path = NULL;
		return true;
	case '}':
	case ']':
		if (!level || level->array != (c == ']')) {
			return false;
		}
		walk->depth--;
		walk->want_key = false;
		return true;
	case ',':
		walk->want_key = level && !level->array;
		return true;
	default:
		return true;
	}
}

/* The inside of a number or a word, or a blank, does not begin a value. */
static bool begins_value(const struct locate_walk *walk)
{
	static const char separators[] = " \t\r\n,:[{";
	char c = walk->text[walk->at];

	return (c == '\0' || !strchr(" \t\r\n,:]}", c)) &&
	       (walk->at == 0 ||
		(walk->text[walk->at - 1] != '\0' && strchr(separators, walk->text[walk->at - 1])));
}

bool json_locate(const char *text, size_t size, const char *path, size_t *ret)
{
	struct locate_walk walk = { .text = text, .size = size, .path = path };

	if (*path == '\0') {
		size_t at = 0;
		while (at < size && text[at] != '\0' && strchr(" \t\r\n", text[at])) {
			at++;
		}
		*ret = at;
		return at < size;
	}
	while (walk.at < size) {
		struct locate_level *level = walk.depth ? &walk.levels[walk.depth - 1] : NULL;
		size_t start = walk.at;
		char c = text[start];

		if (level && level->array && begins_value(&walk) && element_begin(&walk, level)) {
			*ret = start;
			return true;
		}
		if (c == '"') {
			if (string_take(&walk, level)) {
				*ret = start;
				return true;
			}
		} else if (!punctuation_take(&walk, level, c)) {
			return false;
		}
	}
	return false;
}

void json_position(const char *text, size_t offset, int *line, int *column)
{
	*line = 1;
	*column = 1;
	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n') {
			(*line)++;
			*column = 1;
		} else if (!utf8_continues(text[i])) {
			(*column)++;
		}
	}
}
