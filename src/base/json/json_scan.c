/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first scan of a JSON text. It blanks the comments, and rejects input that jansson would
 * accept (deep nesting) or report badly (NUL, invalid UTF-8).
 */
#include "base/json/json_scan.h"

#include <string.h>

#include "base/bytes/utf8.h"
#include "base/json/json_locate.h"

enum json_place {
	IN_JSON,
	IN_STRING,
	IN_LINE_COMMENT,
	IN_BLOCK_COMMENT,
};

struct json_scan {
	const char *in;
	size_t size;
	char *out; /* never longer than `in`: a comment's character is one blank, of one byte */
	size_t out_size;
	enum json_place place;
	size_t comment; /* the start of the block comment */
	int depth;
	struct json_fault *fault;
};

static size_t scan_fault(struct json_scan *scan, size_t at, const char *message, const char *remedy)
{
	*scan->fault = (struct json_fault){ at, message, remedy };
	return 0;
}

static size_t scan_copy(struct json_scan *scan, size_t at, size_t count)
{
	memcpy(scan->out + scan->out_size, scan->in + at, count);
	scan->out_size += count;
	return count;
}

static size_t scan_blank(struct json_scan *scan, size_t used, size_t blanks)
{
	memset(scan->out + scan->out_size, ' ', blanks);
	scan->out_size += blanks;
	return used;
}

/* These read one item at `at`, whose character is `used` bytes long; 0 is a fault. */
static size_t scan_json(struct json_scan *scan, size_t at, size_t used)
{
	char c = scan->in[at];
	char next = at + 1 < scan->size ? scan->in[at + 1] : '\0';

	if (c == '/' && (next == '/' || next == '*')) {
		scan->place = next == '/' ? IN_LINE_COMMENT : IN_BLOCK_COMMENT;
		scan->comment = at;
		return scan_blank(scan, 2, 2);
	}
	if (c == '"') {
		scan->place = IN_STRING;
	} else if (c == '{' || c == '[') {
		if (++scan->depth > JSON_DEPTH_MAX) {
			return scan_fault(scan, at, "nested more than 32 deep",
					  "nest objects and arrays at most 32 deep");
		}
	} else if ((c == '}' || c == ']') && scan->depth > 0) {
		scan->depth--;
	}
	return scan_copy(scan, at, used);
}

static size_t scan_string(struct json_scan *scan, size_t at, size_t used)
{
	char c = scan->in[at];

	/* A string cannot continue in the next line; jansson will report it. */
	if (c == '"' || c == '\n') {
		scan->place = IN_JSON;
	} else if (c == '\\' && at + 1 < scan->size &&
		   (scan->in[at + 1] == '"' || scan->in[at + 1] == '\\')) {
		return scan_copy(scan, at, 2);
	}
	return scan_copy(scan, at, used);
}

static size_t scan_comment(struct json_scan *scan, size_t at, size_t used)
{
	char c = scan->in[at];

	if (c == '\n') {
		if (scan->place == IN_LINE_COMMENT) {
			scan->place = IN_JSON;
		}
		return scan_copy(scan, at, 1);
	}
	if (scan->place == IN_BLOCK_COMMENT && c == '*' && at + 1 < scan->size &&
	    scan->in[at + 1] == '/') {
		scan->place = IN_JSON;
		return scan_blank(scan, 2, 2);
	}
	return scan_blank(scan, used, 1);
}

static size_t scan_one(struct json_scan *scan, size_t at)
{
	size_t used;
	uint32_t c;

	if (!utf8_decode(scan->in + at, scan->size - at, &used, &c)) {
		return scan_fault(scan, at, "not valid UTF-8", "save the file as UTF-8");
	}
	if (c == '\0') {
		return scan_fault(scan, at, "a NUL byte", "remove the byte: this is a text file");
	}
	if (c == 0xfeff && at == 0) {
		return scan_fault(scan, at, "a byte order mark",
				  "save the file as UTF-8 without one");
	}
	switch (scan->place) {
	case IN_JSON:
		return scan_json(scan, at, used);
	case IN_STRING:
		return scan_string(scan, at, used);
	default:
		return scan_comment(scan, at, used);
	}
}

bool json_scan(const char *in, size_t size, char *out, size_t *ret_size, struct json_fault *fault)
{
	struct json_scan scan = { .in = in, .size = size, .out = out, .fault = fault };
	size_t used;

	for (size_t at = 0; at < size; at += used) {
		used = scan_one(&scan, at);
		if (used == 0) {
			return false;
		}
	}
	if (scan.place == IN_BLOCK_COMMENT) {
		scan_fault(&scan, scan.comment, "this comment has no end", "close it with */");
		return false;
	}
	out[scan.out_size] = '\0';
	*ret_size = scan.out_size;
	return true;
}
