/* SPDX-License-Identifier: Apache-2.0 */
/* Checks names from outside as text. */
#include "base/files/path.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"

#define PATH_SIZE_MAX 1023
#define PART_SIZE_MAX 255
#define PARTS_MAX     32

/* Control characters of ASCII, and U+0080 to U+009F, which are C2 80 to C2 9F. */
static bool has_control(const char *path)
{
	for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
		if (*p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f)) {
			return true;
		}
	}
	return false;
}

static const char *part_fault(const char *part, size_t size)
{
	if (size == 0) {
		return "it has an empty part";
	}
	if (size > PART_SIZE_MAX) {
		return "a part of it is longer than 255 bytes";
	}
	if (part[0] == '.' && (size == 1 || (size == 2 && part[1] == '.'))) {
		return "it has a part \".\" or \"..\"";
	}
	return NULL;
}

static const char *path_fault(const char *path)
{
	if (!path || !*path) {
		return "it is empty";
	}
	size_t size = strnlen(path, PATH_SIZE_MAX + 1);
	if (size > PATH_SIZE_MAX) {
		return "it is longer than 1023 bytes";
	}
	if (path[0] == '/') {
		return "it is absolute";
	}
	if (!utf8_valid(path, size)) {
		return "it is not valid UTF-8";
	}
	if (has_control(path)) {
		return "it has a control character";
	}
	size_t parts = 0;
	for (const char *part = path;; part++) {
		size_t length = strcspn(part, "/");
		const char *fault = part_fault(part, length);
		if (fault) {
			return fault;
		}
		if (++parts > PARTS_MAX) {
			return "it has more than 32 parts";
		}
		part += length;
		if (!*part) {
			return NULL;
		}
	}
}

bool path_is_beneath(const char *path, const char **why)
{
	const char *fault = path_fault(path);

	if (fault && why) {
		*why = fault;
	}
	return !fault;
}

static bool holds(const char *directory, const char *path)
{
	size_t length = strlen(directory);

	return strncmp(directory, path, length) == 0 &&
	       (path[length] == '\0' || path[length] == '/' || strcmp(directory, "/") == 0);
}

bool path_overlaps(const char *one, const char *other)
{
	return holds(one, other) || holds(other, one);
}

char *path_absolute(const char *path)
{
	_cleanup_free_ char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
	char *whole = NULL;

	if (path[0] == '/') {
		return strdup(path);
	}
	return here && asprintf(&whole, "%s/%s", here, path) >= 0 ? whole : NULL;
}
