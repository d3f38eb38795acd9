/* SPDX-License-Identifier: Apache-2.0 */
/* The target of a request: see target.h. */
#include "http/message/target.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/utf8.h"
#include "http1/characters.h"

static int wrong(const char **why, const char *text)
{
	*why = text;
	return 400;
}

/* The byte of an escape; -1: not a valid escape. */
static int escape_read(const char *at, const char *end)
{
	if (end - at < 3) {
		return -1;
	}
	int high = character_hex((unsigned char)at[1]), low = character_hex((unsigned char)at[2]);
	return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static int decode_path(const char *at, const char *end, char *out, const char **why)
{
	while (at < end) {
		unsigned char c = (unsigned char)*at;
		if (c != '%') {
			if (c != '/' && !character_is_path(c)) {
				return wrong(why, "the path has a character that must be escaped");
			}
			*out++ = *at++;
			continue;
		}
		int byte = escape_read(at, end);
		if (byte < 0) {
			return wrong(why, "the path has an invalid escape");
		}
		/*
		 * A proxy in front of the server would not treat it as a slash, but the server
		 * would.
		 */
		if (byte < 0x20 || byte == 0x7f || byte == '/') {
			return wrong(why, "the path has an escape that is not allowed");
		}
		*out++ = (char)byte;
		at += 3;
	}
	*out = '\0';
	return 0;
}

static int check_text(const char *path, const char **why)
{
	for (size_t left = strlen(path), used = 0; left > 0; left -= used, path += used) {
		uint32_t c = 0;
		if (!utf8_decode(path, left, &used, &c)) {
			return wrong(why, "the path is not UTF-8");
		}
		if (c >= 0x80 && c < 0xa0) {
			return wrong(why, "the path has a control character");
		}
	}
	return 0;
}

/* After decoding, so that "%2e%2e" is recognized. */
static int check_parts(const char *path, const char **why)
{
	const char *part = path + 1;

	for (;;) {
		size_t size = strcspn(part, "/");
		bool last = part[size] == '\0';
		if ((size == 1 && part[0] == '.') ||
		    (size == 2 && part[0] == '.' && part[1] == '.')) {
			return wrong(why, "the path has a part \".\" or \"..\"");
		}
		if (size == 0 && !last) {
			return wrong(why, "the path has an empty part");
		}
		if (last) {
			return 0;
		}
		part += size + 1;
	}
}

static int check_query(const char *at, const char *end, const char **why)
{
	while (at < end) {
		if (*at != '%') {
			if (!character_is_query((unsigned char)*at)) {
				return wrong(why, "the query has a character that must be escaped");
			}
			at++;
			continue;
		}
		if (escape_read(at, end) <= 0) {
			return wrong(why, "the query has an invalid escape");
		}
		at += 3;
	}
	return 0;
}

int target_read(const char *target, size_t size, char **ret_path, size_t *ret_query,
		const char **why)
{
	if (size > TARGET_MAX) {
		*why = "the target is too long";
		return 414;
	}
	/* Absolute forms name a host a second time; "*" and authorities are not needed here. */
	if (size == 0 || target[0] != '/') {
		return wrong(why, "the target does not begin with \"/\"");
	}
	const char *end = target + size;
	const char *mark = memchr(target, '?', size);
	const char *path_end = mark ? mark : end;
	char *path = calloc((size_t)(path_end - target) + 1, 1);
	if (!path) {
		*why = "out of memory";
		return 503;
	}
	int status = decode_path(target, path_end, path, why);
	status = status ? status : check_text(path, why);
	status = status ? status : check_parts(path, why);
	status = status || !mark ? status : check_query(mark + 1, end, why);
	if (status) {
		free(path);
		return status;
	}
	*ret_path = path;
	*ret_query = mark ? (size_t)(mark - target) + 1 : 0;
	return 0;
}
