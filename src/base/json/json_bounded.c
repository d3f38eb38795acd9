/* SPDX-License-Identifier: Apache-2.0 */
/* JSON with bounds: see json_bounded.h. Linear in the text, whatever it contains. */
#include "base/json/json_bounded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"

#define LARGE_BYTES (16u << 10) /* shorter ones are parsed directly: errors have a position */
#define LONG_BYTES  64u         /* a string that is worth extracting */
/*
 * Replaces an extracted string: this character and a number. Strings that begin with it are
 * extracted too, however short, so that no input can contain a mark.
 */
#define MARK      '\1'
#define MARK_TEXT "\\u0001"

struct extracted {
	const char *text; /* between the quotes */
	size_t size;
};

struct extraction {
	const struct json_bounds *bounds;
	struct json_refusal *why;
	struct buf plain; /* the rest of the text */
	struct extracted *items;
	size_t count, room;
};

static void extraction_done(struct extraction *extraction)
{
	buf_done(&extraction->plain);
	free(extraction->items);
}

static bool refuse(struct json_refusal *why, enum json_refusal_kind kind, enum json_error_code code,
		   const char *text)
{
	*why = (struct json_refusal){ .kind = kind, .code = code };
	snprintf(why->text, sizeof(why->text), "%s", text);
	return false;
}

/* The quote that ends the string that begins at text[at - 1]; `size`: there is none. */
static size_t string_end(const char *text, size_t at, size_t size)
{
	const char *quote = memchr(text + at, '"', size - at);
	const char *slash;

	while (quote && (slash = memchr(text + at, '\\', (size_t)(quote - text) - at))) {
		at = (size_t)(slash - text) + 2;
		if (at > size) {
			return size;
		}
		/* Only if that quote was escaped, another one must be searched. */
		if (text + at > quote) {
			quote = memchr(text + at, '"', size - at);
		}
	}
	return quote ? (size_t)(quote - text) : size;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_key(const char *text, size_t behind, size_t size)
{
	while (behind < size && is_blank(text[behind])) {
		behind++;
	}
	return behind < size && text[behind] == ':';
}

static bool add_extracted(struct extraction *extraction, const char *text, size_t size)
{
	if (extraction->count == extraction->room) {
		size_t room = extraction->room ? 2 * extraction->room : 16;
		struct extracted *more = reallocarray(extraction->items, room, sizeof(*more));
		if (!more) {
			return false;
		}
		extraction->items = more;
		extraction->room = room;
	}
	extraction->items[extraction->count] = (struct extracted){ text, size };
	buf_addf(&extraction->plain, "\"" MARK_TEXT "%zu\"", extraction->count++);
	return true;
}

/* A string from text[at] on: extracted, or kept. Returns its end, behind the quote. */
static size_t take_string(struct extraction *extraction, const char *text, size_t at, size_t size)
{
	size_t end = string_end(text, at + 1, size);
	size_t length = end - at - 1;
	bool mark = length >= strlen(MARK_TEXT) &&
		    memcmp(text + at + 1, MARK_TEXT, strlen(MARK_TEXT)) == 0;

	if (end < size && (length >= LONG_BYTES || mark) && !is_key(text, end + 1, size)) {
		if (!add_extracted(extraction, text + at + 1, length)) {
			extraction->plain.failed = true;
		}
	} else {
		buf_add(&extraction->plain, text + at, (end < size ? end + 1 : size) - at);
	}
	return end < size ? end + 1 : size;
}

/* Blanks are reduced to one: there may be megabytes of them. */
static size_t take_blanks(struct extraction *extraction, const char *text, size_t at, size_t size)
{
	while (at < size && is_blank(text[at])) {
		at++;
	}
	buf_addc(&extraction->plain, ' ');
	return at;
}

/* Counts depth and values; from a large text it also extracts the strings. */
static bool look_over(struct extraction *extraction, const char *text, size_t size, bool large)
{
	const struct json_bounds *bounds = extraction->bounds;
	unsigned depth = 0;
	size_t values = 0;

	for (size_t i = 0; i < size;) {
		char c = text[i];

		if (c == '{' || c == '[') {
			depth++;
		} else if ((c == '}' || c == ']') && depth > 0) {
			depth--;
		}
		values += c == '{' || c == '[' || c == ',' || c == ':';
		if (depth > bounds->depth) {
			return refuse(extraction->why, JSON_TOO_DEEP, json_error_stack_overflow,
				      "nested too deep");
		}
		if (values > bounds->values ||
		    (bounds->plain_max && extraction->plain.size > bounds->plain_max)) {
			return refuse(extraction->why, JSON_TOO_MANY, json_error_unknown,
				      "too many values");
		}
		if (!large) {
			i = c == '"' ? string_end(text, i + 1, size) + 1 : i + 1;
		} else if (c == '"') {
			i = take_string(extraction, text, i, size);
		} else if (is_blank(c)) {
			i = take_blanks(extraction, text, i, size);
		} else {
			buf_addc(&extraction->plain, c);
			i++;
		}
	}
	return !extraction->plain.failed ||
	       refuse(extraction->why, JSON_NO_MEMORY, json_error_out_of_memory, "out of memory");
}

/* NULL: rejected. */
static json_t *make_string(struct extraction *extraction, const char *mark)
{
	const struct extracted *item = &extraction->items[strtoul(mark, NULL, 10)];
	_cleanup_free_ char *decoded = malloc(item->size ? item->size : 1);
	const char *why = "out of memory";
	size_t size = 0;
	enum json_error_code code =
		decoded ? json_string_decode(item->text, item->size, extraction->bounds->allow_nul,
					     decoded, &size, &why)
			: json_error_out_of_memory;
	json_t *string = code == json_error_unknown ? json_stringn_nocheck(decoded, size) : NULL;

	if (!string) {
		bool short_of = code == json_error_unknown || code == json_error_out_of_memory;
		refuse(extraction->why, short_of ? JSON_NO_MEMORY : JSON_NOT_JSON, code, why);
	}
	return string;
}

static bool put_back(struct extraction *extraction, json_t *value);

/* As deep as the bounds allow, which were checked before. */
static bool put_one(struct extraction *extraction, json_t *value, json_t **ret)
{
	const char *text = json_string_value(value);

	*ret = NULL;
	if (!text || text[0] != MARK) {
		return put_back(extraction, value);
	}
	*ret = make_string(extraction, text + 1);
	return *ret != NULL;
}

static bool put_back(struct extraction *extraction, json_t *value)
{
	json_t *string;

	for (size_t i = 0; i < json_array_size(value); i++) {
		if (!put_one(extraction, json_array_get(value, i), &string) ||
		    (string && json_array_set_new(value, i, string) < 0)) {
			return false;
		}
	}
	for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at)) {
		if (!put_one(extraction, json_object_iter_value(at), &string) ||
		    (string && json_object_iter_set_new(value, at, string) < 0)) {
			return false;
		}
	}
	return true;
}

static json_t *parse(const char *text, size_t size, const struct json_bounds *bounds, bool large,
		     struct json_refusal *why)
{
	size_t flags = JSON_REJECT_DUPLICATES | (bounds->allow_nul ? JSON_ALLOW_NUL : 0);
	json_error_t error;
	json_t *root = json_loadb(text, size, flags, &error);

	if (!root) {
		enum json_error_code code = json_error_code(&error);
		refuse(why, code == json_error_out_of_memory ? JSON_NO_MEMORY : JSON_NOT_JSON, code,
		       error.text);
		why->line = large ? 0 : error.line;
		why->column = large ? 0 : error.column;
	}
	return root;
}

json_t *json_bounded_load(const char *text, size_t size, const struct json_bounds *bounds,
			  struct json_refusal *why)
{
	struct json_refusal unheard;
	_cleanup_(extraction_done)
	struct extraction extraction = { .bounds = bounds, .why = why ? why : &unheard };
	bool large = size > LARGE_BYTES;

	if (!look_over(&extraction, text, size, large)) {
		return NULL;
	}
	if (!large) {
		return parse(text, size, bounds, false, extraction.why);
	}
	json_t *root =
		parse(extraction.plain.data, extraction.plain.size, bounds, true, extraction.why);
	if (root && !put_back(&extraction, root)) {
		json_decref(root);
		root = NULL;
	}
	return root;
}
