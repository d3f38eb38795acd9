/* SPDX-License-Identifier: Apache-2.0 */
/* Ids and names, against their definition spelled out byte by byte. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/files/path.h"
#include "base/id.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition) {
		abort();
	}
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool expect_id(const char *text, size_t size)
{
	bool valid = size == 26 && text[0] >= '0' && text[0] <= '7';

	for (size_t i = 0; valid && i < size; i++) {
		char c = text[i];
		valid = is_digit(c) ||
			(is_upper(c) && c != 'I' && c != 'L' && c != 'O' && c != 'U');
	}
	return valid;
}

static bool expect_name(const char *text, size_t size)
{
	bool valid = size >= 1 && size <= 64 && text[0] != '.' && text[0] != '-';

	for (size_t i = 0; valid && i < size; i++) {
		char c = text[i];
		valid = is_digit(c) || is_upper(c) || (c >= 'a' && c <= 'z') || c == '.' ||
			c == '_' || c == '-';
	}
	return valid;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	require(text != NULL);
	size_t length = strlen(text);
	require(id_valid(text) == expect_id(text, length));
	require(id_name_valid(text) == expect_name(text, length));
	/* An id can stand wherever a name can, and a name is one safe part of a path. */
	require(!id_valid(text) || id_name_valid(text));
	require(!id_name_valid(text) || (path_is_beneath(text, NULL) && !strchr(text, '/')));
	free(text);
	return 0;
}
