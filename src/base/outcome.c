/* SPDX-License-Identifier: Apache-2.0 */
/* Records of results, and their checks against the JSON: see outcome.h. */
#include "base/outcome.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

#define MAGIC UINT64_C(0x31656d6f6374756f) /* "outcome1" */

/* The replacement for each part, and its first and last character. */
static const struct {
	const char *key, *nothing;
	char open, close; /* 0: any */
} parts[OUTCOME_PARTS] = {
	[OUTCOME_STDOUT] = { "stdout", "\"\"", '"', '"' },
	[OUTCOME_STDERR] = { "stderr", "\"\"", '"', '"' },
	[OUTCOME_VALUE] = { "value", "null", 0, 0 },
	[OUTCOME_FILES] = { "files", "[]", '[', ']' },
	[OUTCOME_CHANGES] = { "changes", "[]", '[', ']' },
};

void outcome_init(struct outcome *outcome)
{
	*outcome = (struct outcome){ .magic = MAGIC, .exit_code = -1 };
}

static bool part_is_sound(const char *json, size_t size, unsigned kind,
			  const struct outcome_part *part, size_t after)
{
	if (part->at <= after || part->at >= size || part->size > size - part->at ||
	    json[part->at - 1] != ':') {
		return false;
	}
	const char *text = json + part->at;
	return !parts[kind].open || (part->size >= 2 && text[0] == parts[kind].open &&
				     text[part->size - 1] == parts[kind].close);
}

/* Each part is within the JSON, one behind the other. */
static bool parts_are_sound(const struct outcome *outcome, const char *json)
{
	size_t after = 0;

	for (unsigned i = 0; i < OUTCOME_PARTS; i++) {
		const struct outcome_part *part = &outcome->parts[i];

		if (part->size == 0) {
			continue;
		}
		if (!part_is_sound(json, (size_t)outcome->json_size, i, part, after)) {
			return false;
		}
		after = (size_t)(part->at + part->size);
	}
	return true;
}

static bool skeleton_is_short(const struct outcome *outcome)
{
	size_t size = (size_t)outcome->json_size;

	for (unsigned i = 0; i < OUTCOME_PARTS; i++) {
		size -= (size_t)outcome->parts[i].size;
	}
	return size <= OUTCOME_SKELETON_MAX;
}

int outcome_check(const struct outcome *outcome, const char *json, size_t size)
{
	bool sound = size >= 2 && outcome->magic == MAGIC && outcome->json_size == size &&
		     outcome->status <= BRIG_ERROR && json[0] == '{' && json[size - 1] == '}' &&
		     parts_are_sound(outcome, json) && skeleton_is_short(outcome);

	return sound ? 0 : -EPROTO;
}

int outcome_read(const char *data, size_t size, struct outcome *ret, const char **ret_json)
{
	struct outcome outcome;

	if (!data || size < sizeof(outcome) + 2) {
		return -EPROTO;
	}
	memcpy(&outcome, data, sizeof(outcome));
	const char *json = data + sizeof(outcome);
	if (outcome_check(&outcome, json, size - sizeof(outcome)) < 0) {
		return -EPROTO;
	}
	*ret = outcome;
	*ret_json = json;
	return 0;
}

void outcome_skeleton(const struct outcome *outcome, const char *json, struct buf *out)
{
	size_t at = 0;

	for (unsigned i = 0; i < OUTCOME_PARTS; i++) {
		const struct outcome_part *part = &outcome->parts[i];

		if (part->size) {
			buf_add(out, json + at, (size_t)part->at - at);
			buf_adds(out, parts[i].nothing);
			at = (size_t)(part->at + part->size);
		}
	}
	buf_add(out, json + at, (size_t)outcome->json_size - at);
}

/* --- finding the parts in a JSON text --------------------------------------------------------- */

struct outcome_scan {
	const char *at, *end;
};

/* Moves behind the closing quote; false: there is none. */
static bool skip_string(struct outcome_scan *scan)
{
	const char *begin = scan->at;

	for (const char *from = begin + 1; from < scan->end;) {
		const char *quote = memchr(from, '"', (size_t)(scan->end - from));
		const char *slash = quote;

		if (!quote) {
			return false;
		}
		while (slash - 1 > begin && slash[-1] == '\\') {
			slash--;
		}
		from = quote + 1;
		if ((quote - slash) % 2 == 0) {
			scan->at = from;
			return true;
		}
	}
	return false;
}

static bool skip_value(struct outcome_scan *scan)
{
	unsigned depth = 0;

	while (scan->at < scan->end) {
		char c = *scan->at;

		if (c == '"') {
			if (!skip_string(scan)) {
				return false;
			}
		} else if (c == '{' || c == '[') {
			depth++;
			scan->at++;
		} else if (c == '}' || c == ']' || c == ',') {
			if (depth == 0) {
				return true;
			}
			depth -= c != ',';
			scan->at++;
		} else {
			scan->at++;
		}
	}
	return false;
}

static void take_member(struct outcome *outcome, const char *key, size_t key_size,
			const struct outcome_part *value, const char *text)
{
	for (unsigned i = 0; i < OUTCOME_PARTS; i++) {
		if (strlen(parts[i].key) == key_size && memcmp(parts[i].key, key, key_size) == 0) {
			outcome->parts[i] = *value;
		}
	}
	if (key_size == 8 && memcmp(key, "encoding", 8) == 0) {
		bool base64 = value->size == 8 && memcmp(text, "\"base64\"", 8) == 0;
		outcome->flags = base64 ? OUTCOME_BASE64 : 0;
	}
	for (unsigned i = 0; key_size == 6 && memcmp(key, "status", 6) == 0 && i <= BRIG_ERROR;
	     i++) {
		const char *name = brig_status_name((enum brig_status)i);
		if (value->size == strlen(name) + 2 &&
		    memcmp(text + 1, name, value->size - 2) == 0) {
			outcome->status = i;
		}
	}
}

int outcome_find(const char *json, size_t size, struct outcome *ret)
{
	struct outcome_scan scan = { json + 1, json + size };
	struct outcome outcome;

	outcome_init(&outcome);
	outcome.status = BRIG_ERROR;
	outcome.json_size = size;
	if (size < 2 || json[0] != '{' || json[size - 1] != '}') {
		return -EPROTO;
	}
	while (scan.at < scan.end && *scan.at == '"') {
		const char *key = scan.at + 1;

		if (!skip_string(&scan) || scan.at >= scan.end || *scan.at != ':') {
			return -EPROTO;
		}
		size_t key_size = (size_t)(scan.at - 1 - key);
		const char *text = ++scan.at;
		if (!skip_value(&scan)) {
			return -EPROTO;
		}
		struct outcome_part value = { (uint64_t)(text - json), (uint64_t)(scan.at - text) };
		take_member(&outcome, key, key_size, &value, text);
		scan.at += *scan.at == ',';
	}
	if (scan.at != scan.end - 1 || !parts_are_sound(&outcome, json) ||
	    !skeleton_is_short(&outcome)) {
		return -EPROTO;
	}
	*ret = outcome;
	return 0;
}
