/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the name of a source file. Most languages accept any; Java requires the name of the
 * public class and is started by the class that contains main. The code is hostile text: it is only
 * scanned, once, in linear time, and the only result is a checked file name.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "runtime/runtime.h"

#define SCAN_MAX       (1024u * 1024u)
#define NAME_MAX_BYTES 48

struct source_scan {
	const struct source_words *words;
	const char *at, *end;
	unsigned depth;   /* of braces */
	bool exported;    /* the declaration being read has the word "public" */
	bool expect_name; /* the next word is the name of a type */
	bool after_dot;   /* in "Foo.class" the word is not a declaration */
	bool after_word;  /* the token before was a word: "void main", not "= main" */
	char type[64];    /* top-level type being read */
	char first[64];   /* first top-level type */
	char public_[64]; /* first exported one */
	char entry[64];   /* first one that contains the entry function */
	char package[64];
};

static bool is_word_byte(char c)
{
	unsigned char u = (unsigned char)c;

	return (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || (u >= '0' && u <= '9') ||
	       u == '_' || u == '$' || u >= 0x80;
}

static bool starts(const struct source_scan *scan, const char *text)
{
	size_t size = strlen(text);

	return (size_t)(scan->end - scan->at) >= size && memcmp(scan->at, text, size) == 0;
}

/* Moves to the end of `text`, or of the input. */
static void skip_past(struct source_scan *scan, const char *text)
{
	const char *found = memmem(scan->at, (size_t)(scan->end - scan->at), text, strlen(text));

	scan->at = found ? found + strlen(text) : scan->end;
}

static void skip_quoted(struct source_scan *scan, char quote)
{
	for (scan->at++; scan->at < scan->end; scan->at++) {
		if (*scan->at == '\\') {
			scan->at++;
		} else if (*scan->at == quote || *scan->at == '\n') {
			break;
		}
	}
	scan->at = scan->at < scan->end ? scan->at + 1 : scan->end;
}

/* Comments and literals; false when there is none here. */
static bool skip_opaque(struct source_scan *scan)
{
	if (starts(scan, "//")) {
		skip_past(scan, "\n");
	} else if (starts(scan, "/*")) {
		scan->at += 2;
		skip_past(scan, "*/");
	} else if (starts(scan, "\"\"\"")) {
		scan->at += 3;
		skip_past(scan, "\"\"\"");
	} else if (*scan->at == '"' || *scan->at == '\'') {
		skip_quoted(scan, *scan->at);
	} else {
		return false;
	}
	return true;
}

static void keep_first(char to[64], const char *name)
{
	if (!to[0]) {
		(void)snprintf(to, 64, "%s", name);
	}
}

static void take_package(struct source_scan *scan)
{
	size_t used = 0;

	for (; scan->at < scan->end && *scan->at != ';'; scan->at++) {
		if (is_word_byte(*scan->at) || *scan->at == '.') {
			if (used + 1 >= sizeof(scan->package)) {
				used = 0;
				break;
			}
			scan->package[used++] = *scan->at;
		}
	}
	scan->package[used] = '\0';
}

static void take_type_name(struct source_scan *scan, const char *name)
{
	scan->expect_name = false;
	(void)snprintf(scan->type, sizeof(scan->type), "%s", name);
	keep_first(scan->first, name);
	if (scan->exported) {
		keep_first(scan->public_, name);
	}
}

static bool calls_follow(const struct source_scan *scan)
{
	const char *at = scan->at;

	while (at < scan->end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) {
		at++;
	}
	return at < scan->end && *at == '(';
}

static void take_word(struct source_scan *scan)
{
	const char *start = scan->at;
	char word[NAME_MAX_BYTES + 1];
	size_t size;

	while (scan->at < scan->end && is_word_byte(*scan->at)) {
		scan->at++;
	}
	size = (size_t)(scan->at - start);
	if (size >= sizeof(word)) {
		scan->expect_name = false;
		return;
	}
	memcpy(word, start, size);
	word[size] = '\0';
	if (scan->depth == 0 && scan->expect_name) {
		take_type_name(scan, word);
	} else if (scan->depth == 0 && !scan->after_dot) {
		if (strcmp(word, scan->words->package) == 0) {
			take_package(scan);
		}
		scan->exported |= strcmp(word, scan->words->exported) == 0;
		scan->expect_name = strlist_has(&scan->words->types, word);
	} else if (scan->depth == 1 && scan->after_word && scan->type[0] &&
		   strcmp(word, scan->words->entry) == 0 && calls_follow(scan)) {
		keep_first(scan->entry, scan->type);
	}
}

static void take_mark(struct source_scan *scan)
{
	char c = *scan->at++;

	scan->expect_name = false;
	if (c == '{') {
		scan->depth++;
	} else if (c == '}' && scan->depth > 0) {
		scan->depth--;
	}
	if (scan->depth == 0 && (c == '}' || c == ';')) {
		scan->exported = false;
	}
}

static void scan_code(struct source_scan *scan)
{
	while (scan->at < scan->end) {
		char c = *scan->at;

		if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
			scan->at++;
		} else if (is_word_byte(c)) {
			take_word(scan);
			scan->after_word = true;
			scan->after_dot = false;
		} else if (!skip_opaque(scan)) {
			take_mark(scan);
			/* "String[] main" and "List<X> main" end a type as a word does. */
			scan->after_word = c == ']' || c == '>';
			scan->after_dot = c == '.';
		}
	}
}

/* "py" of "dir/x.py"; NULL when there is none. */
static const char *extension_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	const char *dot = strrchr(base, '.');

	return dot && dot != base && dot[1] ? dot + 1 : NULL;
}

void runtime_source_name(const struct runtime *runtime, const char *path, const char *code,
			 size_t size, struct runtime_source_name *ret)
{
	struct source_scan scan = {
		.words = &runtime->words,
		.at = code,
		.end = code + (size > SCAN_MAX ? SCAN_MAX : size),
	};
	const char *extension = path ? extension_of(path) : NULL;
	const char *main;

	(void)snprintf(ret->file, sizeof(ret->file), "%s", runtime->source);
	ret->main[0] = '\0';
	if (extension && strlist_has(&runtime->extensions, extension)) {
		(void)snprintf(ret->file, sizeof(ret->file), "code.%s", extension);
	}
	if (runtime->words.types.count == 0) {
		return;
	}
	scan_code(&scan);
	extension = extension_of(runtime->source);
	if (scan.public_[0] && utf8_valid(scan.public_, strlen(scan.public_))) {
		(void)snprintf(ret->file, sizeof(ret->file), "%s%s%s", scan.public_,
			       extension ? "." : "", extension ? extension : "");
	} else {
		(void)snprintf(ret->file, sizeof(ret->file), "%s", runtime->source);
	}
	main = scan.entry[0]     ? scan.entry
	       : scan.public_[0] ? scan.public_
	       : scan.first[0]   ? scan.first
				 : runtime->words.fallback;
	(void)snprintf(ret->main, sizeof(ret->main), "%.63s%s%.63s", scan.package,
		       scan.package[0] ? "." : "", main);
}
