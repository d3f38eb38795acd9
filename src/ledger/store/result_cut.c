/* SPDX-License-Identifier: Apache-2.0 */
/* Shortens a result that is too large to keep: see result_facts.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes/utf8.h"
#include "base/cleanup.h"
#include "ledger/store/result_facts.h"

/* The size that is kept of each part: of a stream with its quotes, of the others all or nothing. */
struct cut_plan {
	size_t kept[OUTCOME_PARTS];
	size_t files; /* that are left out */
};

static size_t planned(const struct outcome *outcome, const struct cut_plan *plan)
{
	size_t size = (size_t)outcome->json_size;

	for (unsigned i = 0; i < OUTCOME_PARTS; i++) {
		size -= (size_t)outcome->parts[i].size - plan->kept[i];
	}
	return size;
}

static size_t count_files(const struct outcome *outcome, const char *json)
{
	struct outcome_file file;
	size_t at = 0, count = 0;

	while (outcome_file_next(outcome, json, &at, &file)) {
		count++;
	}
	return count;
}

/* Files are removed first, then changes and a long value, then the end of the output. */
static void make_plan(const struct outcome *outcome, const char *json, size_t max,
		      struct cut_plan *plan)
{
	for (unsigned i = 0; i < OUTCOME_PARTS; i++) {
		plan->kept[i] = (size_t)outcome->parts[i].size;
	}
	if (planned(outcome, plan) > max && plan->kept[OUTCOME_FILES] > 2) {
		plan->files = count_files(outcome, json);
		plan->kept[OUTCOME_FILES] = 2;
	}
	if (planned(outcome, plan) > max) {
		plan->kept[OUTCOME_CHANGES] = plan->kept[OUTCOME_CHANGES] ? 2 : 0;
		plan->kept[OUTCOME_VALUE] =
			plan->kept[OUTCOME_VALUE] > max / 4 ? 4 : plan->kept[OUTCOME_VALUE];
	}
	for (unsigned i = OUTCOME_STDOUT; i <= OUTCOME_STDERR && planned(outcome, plan) > max;
	     i++) {
		plan->kept[i] = plan->kept[i] > max / 3 ? max / 3 : plan->kept[i];
	}
}

/* Whole groups of base64; or whole characters, and no part of an escape. */
static size_t cut_at(const char *text, size_t size, bool base64)
{
	if (base64) {
		return size / 4 * 4;
	}
	/* An escape has at most six bytes: one that begins in the last five may be cut. */
	for (size_t back = 1; back < 6 && back <= size; back++) {
		size_t slashes = 0;

		if (text[size - back] != '\\') {
			continue;
		}
		while (back + slashes < size && text[size - back - slashes - 1] == '\\') {
			slashes++;
		}
		/* It begins an escape when an even number of backslashes is before it. */
		size_t first = size - back;
		if (slashes % 2 == 0 && first + (text[first + 1] == 'u' ? 6 : 2) > size) {
			return first;
		}
		break;
	}
	while (size > 0 && utf8_continues(text[size])) {
		size--;
	}
	return size;
}

static void write_part(const struct outcome *outcome, const char *json, unsigned kind, size_t kept,
		       struct buf *out)
{
	const struct outcome_part *part = &outcome->parts[kind];
	const char *text = json + part->at;

	if (kept == part->size) {
		buf_add(out, text, kept);
	} else if (kind <= OUTCOME_STDERR) {
		buf_addc(out, '"');
		buf_add(out, text + 1, cut_at(text + 1, kept - 2, outcome->flags & OUTCOME_BASE64));
		buf_addc(out, '"');
	} else {
		buf_adds(out, kind == OUTCOME_VALUE ? "null" : "[]");
	}
}

/* Marks the parts that were cut. */
static int mark(json_t *skeleton, const struct outcome *outcome, const struct cut_plan *plan)
{
	static const char *const flags[] = { "stdout_truncated", "stderr_truncated" };
	char note[160];
	int r = 0;

	for (unsigned i = OUTCOME_STDOUT; i <= OUTCOME_STDERR; i++) {
		if (plan->kept[i] < outcome->parts[i].size) {
			r |= json_object_set_new(skeleton, flags[i], json_true());
		}
	}
	if (plan->files) {
		(void)snprintf(note, sizeof(note),
			       "%zu files were too large to keep with the result; they came with "
			       "the run's own answer only",
			       plan->files);
		r |= json_object_set_new(skeleton, "files_note", json_string(note));
	}
	return r < 0 ? -ENOMEM : 0;
}

int result_cut(json_t *skeleton, const struct outcome *outcome, const char *json, size_t max,
	       struct outcome *ret, struct buf *out)
{
	struct cut_plan plan = { 0 };
	struct outcome places;
	size_t at = 0, head = out->size;

	make_plan(outcome, json, max, &plan);
	int r = mark(skeleton, outcome, &plan);
	_cleanup_free_ char *text = r < 0 ? NULL : json_dumps(skeleton, JSON_COMPACT);
	if (!text) {
		return -ENOMEM;
	}
	if (outcome_find(text, strlen(text), &places) < 0) {
		return -EPROTO;
	}
	*ret = *outcome;
	for (unsigned i = 0; i < OUTCOME_PARTS; i++) {
		const struct outcome_part *place = &places.parts[i];

		if (place->size == 0 || place->at < at || outcome->parts[i].size == 0) {
			ret->parts[i] = (struct outcome_part){ 0 };
			continue;
		}
		buf_add(out, text + at, (size_t)place->at - at);
		ret->parts[i].at = out->size - head;
		write_part(outcome, json, i, plan.kept[i], out);
		ret->parts[i].size = out->size - head - ret->parts[i].at;
		at = (size_t)(place->at + place->size);
	}
	buf_adds(out, text + at);
	ret->json_size = out->size - head;
	return out->failed ? -ENOMEM : 0;
}
