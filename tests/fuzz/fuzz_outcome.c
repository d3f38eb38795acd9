/* SPDX-License-Identifier: Apache-2.0 */
/* Outcomes: a hostile JSON text and a hostile record; an accepted one is read to its end. */
#include <stdint.h>
#include <stdlib.h>

#include "base/json/json_bounded.h"
#include "base/outcome.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition) {
		abort();
	}
}

static void read_streams(const struct outcome *outcome, const char *json)
{
	for (int which = 0; which < 2; which++) {
		struct outcome_stream stream, skipped;
		char room[64];
		size_t n, all = 0;

		outcome_stream_open(outcome, json, which, &stream);
		while ((n = outcome_stream_read(&stream, room, sizeof(room))) > 0) {
			require(n <= sizeof(room));
			all += n;
		}
		outcome_stream_open(outcome, json, which, &skipped);
		require(outcome_stream_skip(&skipped, all / 2) <= all / 2);
		(void)outcome_stream_read(&skipped, room, sizeof(room));
	}
}

static void read_rest(const struct outcome *outcome, const char *json)
{
	struct outcome_file file;
	struct buf text = { 0 };
	size_t at = 0, before;

	outcome_skeleton(outcome, json, &text);
	require(text.size <= outcome->json_size + 2 * sizeof(struct outcome));
	buf_done(&text);
	json_t *root = NULL;
	if (outcome_parse(outcome, json, &root) == 0) {
		require(json_is_object(root));
		json_decref(root);
	}
	for (before = at; outcome_file_next(outcome, json, &at, &file) && at > before;
	     before = at) {
		char *path = outcome_file_path(&file);
		struct buf rest = { 0 };

		outcome_file_rest(&file, &rest);
		require(rest.size <= file.head_size + 2);
		buf_done(&rest);
		free(path);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome outcome;
	const char *json;

	if (outcome_find((const char *)data, size, &outcome) == 0) {
		read_streams(&outcome, (const char *)data);
		read_rest(&outcome, (const char *)data);
	}
	if (outcome_read((const char *)data, size, &outcome, &json) == 0) {
		read_streams(&outcome, json);
		read_rest(&outcome, json);
	}
	return 0;
}
