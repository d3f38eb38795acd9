/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON reader. The first line is a path to locate, the rest is the text. Checked: blanking
 * moves nothing, every parsed key is found again, positions are inside the text, and a parsed text
 * is parsed the same when written out.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "base/bytes/utf8.h"
#include "base/json/json_in.h"
#include "base/json/json_locate.h"

#define KEYS_MAX 64 /* each is a walk over the text */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition) {
		abort();
	}
}

/* Character by character the same, or a blank. */
static void check_blanking(const struct json_doc *doc, const char *text, size_t size)
{
	size_t at = 0;
	size_t used;
	uint32_t c;

	for (size_t i = 0; i < doc->size;) {
		require(at < size && utf8_decode(text + at, size - at, &used, &c));
		size_t kept = doc->text[i] == text[at] ? used : 1;
		require(kept == 1 ? doc->text[i] == text[at] || doc->text[i] == ' '
				  : memcmp(doc->text + i, text + at, used) == 0);
		require(text[at] != '\n' || doc->text[i] == '\n');
		i += kept;
		at += used;
	}
	require(at == size);
}

static void check_place(const struct json_doc *doc, const char *path)
{
	int line, column;
	const char *start = doc->text;

	json_doc_locate(doc, path, &line, &column);
	require(line >= 1 && column >= 1);
	for (int i = 1; i < line; i++) {
		start = strchr(start, '\n');
		require(start != NULL);
		start++;
	}
	require((size_t)column <= strcspn(start, "\n") + 1);
}

/* Depth is bounded by the reader. */
static void check_found(const struct json_doc *doc, json_t *value, const char *path, int *budget)
{
	const char *key;
	json_t *child;
	size_t index, at;

	json_object_foreach(value, key, child)
	{
		struct buf name = { 0 };
		buf_addf(&name, "%s%s%s", path, *path ? "." : "", key);
		if (name.size > 0 && (*budget)-- > 0) {
			require(json_locate(doc->text, doc->size, name.data, &at));
			require(at < doc->size && !strchr(" \t\r\n,:]}", doc->text[at]));
			check_place(doc, name.data);
			check_found(doc, child, name.data, budget);
		}
		buf_done(&name);
	}
	json_array_foreach(value, index, child)
	{
		struct buf name = { 0 };
		buf_addf(&name, "%s[%zu]", path, index);
		if ((*budget)-- > 0) {
			require(json_locate(doc->text, doc->size, name.data, &at));
			check_found(doc, child, name.data, budget);
		}
		buf_done(&name);
	}
}

static void check_round_trip(const struct json_doc *doc)
{
	struct json_doc again;
	char *text = json_dumps(doc->root, JSON_COMPACT);

	require(text != NULL);
	require(json_doc_load(&again, "again", text, strlen(text), NULL) == 0);
	require(json_equal(doc->root, again.root));
	json_doc_done(&again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *end = size ? memchr(data, '\n', size) : NULL;
	size_t path_size = end ? (size_t)(end - text) : 0;
	char *path = strndup(text, path_size);
	struct brig_error err = { 0 };
	struct json_doc doc;
	size_t at;

	require(path != NULL);
	if (end) {
		text = end + 1;
		size -= path_size + 1;
	}
	/* On any bytes at all, as well as on parsed texts. */
	require(!json_locate(text, size, path, &at) || at < size);
	if (json_doc_load(&doc, "f", text, size, &err) == 0) {
		int budget = KEYS_MAX;
		check_blanking(&doc, text, size);
		check_place(&doc, path);
		check_found(&doc, doc.root, "", &budget);
		check_round_trip(&doc);
	} else {
		int line, column;
		require(sscanf(err.message, "f:%d:%d: ", &line, &column) == 2);
		require(line >= 1 && column >= 1 && err.remedy[0] && !doc.root && !doc.text);
	}
	json_doc_done(&doc);
	free(path);
	return 0;
}
