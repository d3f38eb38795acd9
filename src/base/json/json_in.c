/* SPDX-License-Identifier: Apache-2.0 */
/* Reads JSON with comments: our own scan first, then jansson, then positions for messages. */
#include "base/json/json_in.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_locate.h"
#include "base/json/json_scan.h"

#define SIZE_LIMIT (1024 * 1024)

/*
 * jansson reports the end of the wrong token, and quotes it: "... near 'tru'". Users look for its
 * beginning. A quote that is not found in the text changes nothing.
 */
static size_t token_start(const struct json_doc *doc, const json_error_t *error)
{
	size_t end = error->position > 0 ? (size_t)error->position : 0;
	const char *quote = strstr(error->text, " near '");

	if (end > doc->size) {
		end = doc->size;
	}
	if (quote) {
		quote += strlen(" near '");
		size_t size = strlen(quote);
		size -= size > 0; /* the closing quote */
		if (size <= end && memcmp(doc->text + end - size, quote, size) == 0) {
			return end - size;
		}
	}
	return end > 0 ? end - 1 : 0;
}

static int doc_parse(struct json_doc *doc, struct brig_error *err)
{
	json_error_t error;

	doc->root = json_loadb(doc->text, doc->size, JSON_REJECT_DUPLICATES, &error);
	if (doc->root) {
		return 0;
	}
	if (json_error_code(&error) == json_error_out_of_memory) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "%s", doc->name);
	}
	int line, column;
	json_position(doc->text, token_start(doc, &error), &line, &column);
	int r = error_set(err, BRIG_E_POLICY, EINVAL, "%s:%d:%d: %s", doc->name, line, column,
			  error.text);
	error_remedy(err, "%s",
		     json_error_code(&error) == json_error_duplicate_key
			     ? "keep only one of the keys of that name"
			     : "correct the JSON there, or just before");
	return r;
}

static int doc_read(struct json_doc *doc, const char *text, size_t size, struct brig_error *err)
{
	struct json_fault fault;

	if (size > SIZE_LIMIT) {
		int r = error_set(err, BRIG_E_POLICY, EINVAL,
				  "%s:1:1: %zu bytes, over the limit of 1M", doc->name, size);
		error_remedy(err, "make the file smaller");
		return r;
	}
	doc->text = malloc(size + 1);
	if (!doc->text) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "%s", doc->name);
	}
	if (!json_scan(text, size, doc->text, &doc->size, &fault)) {
		int line, column;
		json_position(text, fault.at, &line, &column);
		int r = error_set(err, BRIG_E_POLICY, EINVAL, "%s:%d:%d: %s", doc->name, line,
				  column, fault.message);
		error_remedy(err, "%s", fault.remedy);
		return r;
	}
	return doc_parse(doc, err);
}

int json_doc_load(struct json_doc *doc, const char *name, const char *text, size_t size,
		  struct brig_error *err)
{
	*doc = (struct json_doc){ .name = name ? name : "(text)" };
	int r = doc_read(doc, text, size, err);
	if (r < 0) {
		json_doc_done(doc);
	}
	return r;
}

void json_doc_done(struct json_doc *doc)
{
	if (doc) {
		json_decref(doc->root);
		free(doc->text);
		*doc = (struct json_doc){ 0 };
	}
}

void json_doc_locate(const struct json_doc *doc, const char *path, int *line, int *column)
{
	size_t at;

	*line = 1;
	*column = 1;
	if (doc->text && json_locate(doc->text, doc->size, path ? path : "", &at)) {
		json_position(doc->text, at, line, column);
	}
}

int json_doc_error(const struct json_doc *doc, const char *path, enum brig_code code,
		   struct brig_error *err, const char *format, ...)
{
	char message[sizeof(err->message)];
	int line, column;
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	json_doc_locate(doc, path, &line, &column);
	return error_set(err, code ? code : BRIG_E_POLICY, EINVAL, "%s:%d:%d: %s%s%s", doc->name,
			 line, column, path ? path : "", path && *path ? ": " : "", message);
}
