/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths and globs: the first line is a pattern, the rest a path. The matcher is compared with a
 * plain table of all prefixes, which is slow and obvious.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/utf8.h"
#include "base/files/path.h"
#include "base/json/json_out.h"

#define SIDE 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition) {
		abort();
	}
}

static void check_beneath(const char *path)
{
	const char *why = NULL;
	bool beneath = path_is_beneath(path, &why);

	require(beneath == !why);
	require(!beneath || (*path && *path != '/' && strlen(path) <= 1023));
	require(!beneath || utf8_valid(path, strlen(path)));
	char *copy = strdup(path);
	require(copy != NULL);
	for (char *part = copy; beneath && part;) {
		char *slash = strchr(part, '/');
		if (slash) {
			*slash++ = '\0';
		}
		require(*part && strcmp(part, ".") != 0 && strcmp(part, "..") != 0);
		require(strlen(part) <= 255);
		part = slash;
	}
	free(copy);
}

/* A dot that starts a part: only a dot that starts a part of the pattern matches it. */
static bool hides(const char *path, size_t j)
{
	return path[j] == '.' && (j == 0 || path[j - 1] == '/');
}

/* match[i][j]: the pattern from i on matches the path from j on. */
static bool match[SIDE + 1][SIDE + 1];

static bool match_directories(size_t rest, const char *path, size_t j)
{
	bool found = match[rest][j];

	for (size_t k = j; !found && path[k] && !hides(path, k); k++) {
		found = path[k] == '/' && match[rest][k + 1];
	}
	return found;
}

static bool match_stars(const char *path, size_t rest, size_t j, bool slashes)
{
	for (size_t k = j;; k++) {
		if (match[rest][k]) {
			return true;
		}
		if (!path[k] || (path[k] == '/' && !slashes) || hides(path, k)) {
			return false;
		}
	}
}

static bool match_one(const char *pattern, size_t i, const char *path, size_t j)
{
	size_t stars = strspn(pattern + i, "*");
	bool part_start = i == 0 || pattern[i - 1] == '/';

	if (!pattern[i]) {
		return !path[j];
	}
	if (stars >= 2 && part_start && pattern[i + stars] == '/') {
		return match_directories(i + stars + 1, path, j);
	}
	if (stars > 0) {
		return match_stars(path, i + stars, j, stars >= 2);
	}
	if (pattern[i] == '?') {
		if (!path[j] || path[j] == '/' || hides(path, j) || utf8_continues(path[j])) {
			return false;
		}
		do {
			j++;
		} while (utf8_continues(path[j]));
		return match[i + 1][j];
	}
	return pattern[i] == path[j] && (part_start || !hides(path, j)) && match[i + 1][j + 1];
}

static bool expect_match(const char *pattern, const char *path)
{
	for (size_t i = strlen(pattern) + 1; i-- > 0;) {
		for (size_t j = strlen(path) + 1; j-- > 0;) {
			match[i][j] = match_one(pattern, i, path, j);
		}
	}
	return match[0][0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *end = size ? memchr(data, '\n', size) : NULL;
	size_t pattern_size = end ? (size_t)(end - text) : size;
	char *pattern = strndup(text, pattern_size);
	char *path = end ? strndup(end + 1, size - pattern_size - 1) : strdup("");

	require(pattern != NULL && path != NULL);
	check_beneath(path);
	check_beneath(pattern);
	bool matched = path_glob(pattern, path);
	bool text_both = utf8_valid(pattern, strlen(pattern)) && utf8_valid(path, strlen(path));
	if (text_both && strlen(pattern) < SIDE && strlen(path) < SIDE) {
		require(matched == expect_match(pattern, path));
	}
	require(strpbrk(path, "*?") || strlen(path) > 1023 || path_glob(path, path));
	free(pattern);
	free(path);
	return 0;
}
