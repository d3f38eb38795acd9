/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON. Text comes from untrusted programs, and appears on terminals, in logs and in web
 * pages: characters that could have an effect there (controls, line separators, bidi overrides) are
 * escaped.
 */
#include "base/json/json_out.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes/utf8.h"
#include "base/cleanup.h"

/* Ranges outside ASCII that are always escaped. */
static const struct {
	uint32_t first, last;
} harmful[] = {
	{ 0x0080, 0x009f }, /* C1 controls */
	{ 0x061c, 0x061c }, /* Arabic letter mark */
	{ 0x200e, 0x200f }, /* left-to-right and right-to-left marks */
	{ 0x2028, 0x202e }, /* line and paragraph separators, bidi embeddings and overrides */
	{ 0x2066, 0x2069 }, /* bidi isolates */
};

static bool is_harmful(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_SIZE(harmful); i++) {
		if (c >= harmful[i].first && c <= harmful[i].last) {
			return true;
		}
	}
	return false;
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void unicode_escape(struct buf *buf, uint32_t c)
{
	static const char digits[] = "0123456789abcdef";
	char text[6] = { '\\', 'u' };

	for (size_t i = 0; i < 4; i++) {
		text[2 + i] = digits[c >> (12 - 4 * i) & 15];
	}
	buf_add(buf, text, sizeof(text));
}

static void ascii_escape(struct buf *buf, char c)
{
	static const char plain[] = "\"\\\b\f\n\r\t";
	static const char letters[] = "\"\\bfnrt";
	const char *found = c ? strchr(plain, c) : NULL;

	if (found) {
		buf_add(buf, (const char[2]){ '\\', letters[found - plain] }, 2);
	} else {
		unicode_escape(buf, (unsigned char)c);
	}
}

static void escaped_add(struct buf *buf, const char *text, size_t size)
{
	size_t start = 0; /* of the run that can be copied unchanged */
	size_t i = 0;

	while (i < size) {
		size_t used = 1;
		uint32_t c;

		if (is_plain((unsigned char)text[i])) {
			i++;
			continue;
		}
		bool valid = utf8_decode(text + i, size - i, &used, &c);
		if (valid && c >= 0x80 && !is_harmful(c)) {
			i += used;
			continue;
		}
		buf_add(buf, text + start, i - start);
		if (c < 0x80) {
			ascii_escape(buf, text[i]);
		} else {
			unicode_escape(buf, c);
		}
		i += used;
		start = i;
	}
	if (start < size) {
		buf_add(buf, text + start, size - start);
	}
}

void json_add_harmless(struct buf *buf, const char *json, size_t size)
{
	size_t start = 0;
	size_t i = 0;

	while (i < size) {
		size_t used = 1;
		uint32_t c = (unsigned char)json[i];

		bool valid = c < 0x80 || utf8_decode(json + i, size - i, &used, &c);
		bool plain = c < 0x80 ? c != 0x7f && (c >= 0x20 || strchr("\t\n\r", (int)c))
				      : valid && !is_harmful(c);
		if (!plain || c == 0) {
			buf_add(buf, json + start, i - start);
			unicode_escape(buf, c);
			start = i + used;
		}
		i += used;
	}
	buf_add(buf, json + start, size - start);
}

static void string_add(struct buf *buf, const char *text, size_t size)
{
	buf_addc(buf, '"');
	escaped_add(buf, text, size);
	buf_addc(buf, '"');
}

static size_t character_cost(uint32_t c, size_t used)
{
	if (c >= 0x80) {
		return is_harmful(c) ? 6 : used;
	}
	return is_plain((unsigned char)c) ? 1 : c && strchr("\"\\\b\f\n\r\t", (int)c) ? 2 : 6;
}

bool json_measure(struct json_measure *measure, const char *text, size_t size, size_t more)
{
	size_t stop = more < size - measure->at ? measure->at + more : size;

	while (measure->at < stop) {
		size_t used = 1, cost = 1;
		uint32_t c;

		if (!is_plain((unsigned char)text[measure->at])) {
			if (!utf8_decode(text + measure->at, size - measure->at, &used, &c)) {
				measure->invalid = true;
				measure->at = size;
				return true;
			}
			cost = character_cost(c, used);
		}
		measure->at += used;
		measure->cost += cost;
		if (measure->cost <= measure->room) {
			measure->fits = measure->at;
		}
	}
	return measure->at >= size;
}

/* Everything before a value. */
static void item_start(struct json_out *out, const char *key)
{
	if (out->comma) {
		buf_addc(out->buf, ',');
	}
	out->comma = true;
	if (key) {
		string_add(out->buf, key, strlen(key));
		buf_addc(out->buf, ':');
	}
}

void json_open(struct json_out *out, const char *key, char bracket)
{
	item_start(out, key);
	buf_addc(out->buf, bracket);
	out->comma = false;
}

void json_close(struct json_out *out, char bracket)
{
	buf_addc(out->buf, bracket);
	out->comma = true;
}

void json_text(struct json_out *out, const char *key, const char *text)
{
	if (text) {
		json_textn(out, key, text, strlen(text));
	} else {
		json_nil(out, key);
	}
}

void json_textn(struct json_out *out, const char *key, const char *text, size_t size)
{
	item_start(out, key);
	string_add(out->buf, text, size);
}

/* One group of one to three bytes to four characters. */
static void base64_group(const unsigned char *in, size_t size, char out[4])
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = (uint32_t)in[0] << 16;

	bits |= size > 1 ? (uint32_t)in[1] << 8 : 0;
	bits |= size > 2 ? in[2] : 0;
	out[0] = digits[bits >> 18];
	out[1] = digits[bits >> 12 & 63];
	out[2] = size > 1 ? digits[bits >> 6 & 63] : '=';
	out[3] = size > 2 ? digits[bits & 63] : '=';
}

void json_part_open(struct json_out *out, const char *key)
{
	item_start(out, key);
	buf_addc(out->buf, '"');
}

void json_part_text(struct json_out *out, const char *text, size_t size)
{
	escaped_add(out->buf, text, size);
}

void json_part_close(struct json_out *out)
{
	buf_addc(out->buf, '"');
}

void json_base64(struct json_out *out, const char *key, const void *data, size_t size)
{
	json_part_open(out, key);
	json_part_base64(out, data, size);
	json_part_close(out);
}

void json_part_base64(struct json_out *out, const void *data, size_t size)
{
	const unsigned char *bytes = data;
	char chunk[4096];
	size_t fill = 0;

	for (size_t i = 0; i < size; i += 3) {
		base64_group(bytes + i, size - i, chunk + fill);
		fill += 4;
		if (fill == sizeof(chunk)) {
			buf_add(out->buf, chunk, fill);
			fill = 0;
		}
	}
	buf_add(out->buf, chunk, fill);
}

void json_u64(struct json_out *out, const char *key, uint64_t value)
{
	item_start(out, key);
	buf_addf(out->buf, "%" PRIu64, value);
}

void json_int(struct json_out *out, const char *key, int64_t value)
{
	item_start(out, key);
	buf_addf(out->buf, "%" PRId64, value);
}

void json_ms(struct json_out *out, const char *key, uint64_t ns)
{
	uint64_t us = ns / 1000 + (ns % 1000 >= 500);
	char text[32];
	int size =
		snprintf(text, sizeof(text), "%" PRIu64 ".%03u", us / 1000, (unsigned)(us % 1000));

	while (text[size - 1] == '0') {
		size--;
	}
	if (text[size - 1] == '.') {
		size--;
	}
	item_start(out, key);
	buf_add(out->buf, text, (size_t)size);
}

void json_bool(struct json_out *out, const char *key, bool value)
{
	json_raw(out, key, value ? "true" : "false");
}

void json_nil(struct json_out *out, const char *key)
{
	json_raw(out, key, "null");
}

void json_raw(struct json_out *out, const char *key, const char *json)
{
	item_start(out, key);
	buf_adds(out->buf, json);
}

void json_list(struct json_out *out, const char *key, const struct strlist *list)
{
	json_open(out, key, '[');
	for (size_t i = 0; i < list->count; i++) {
		json_text(out, NULL, list->items[i]);
	}
	json_close(out, ']');
}
