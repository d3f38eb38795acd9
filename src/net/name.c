/* SPDX-License-Identifier: Apache-2.0 */
/* Names: see name.h. */
#include "net/name.h"

#include <string.h>

#define LABEL_MAX 63

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool belongs(char c)
{
	return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Programs read "1", "127.1" and "0x7f000001" as addresses: no name ends like that. */
static bool ends_like_address(const char *last)
{
	bool hex = last[0] == '0' && last[1] == 'x';
	const char *at = hex ? last + 2 : last;

	while (is_digit(*at) || (hex && *at >= 'a' && *at <= 'f')) {
		at++;
	}
	return *at == '\0';
}

bool net_name_normal(const char *text, size_t size, char ret[NET_NAME_MAX + 1])
{
	char name[NET_NAME_MAX + 1];
	size_t label = 0;

	if (size > 0 && text[size - 1] == '.') {
		size--;
	}
	if (size == 0 || size > NET_NAME_MAX) {
		return false;
	}
	for (size_t i = 0; i < size; i++) {
		name[i] = lower(text[i]);
		if (name[i] == '.') {
			if (label == 0 || name[i - 1] == '-') {
				return false;
			}
			label = 0;
		} else if (!belongs(name[i]) || (label == 0 && name[i] == '-') ||
			   ++label > LABEL_MAX) {
			return false;
		}
	}
	name[size] = '\0';
	const char *dot = strrchr(name, '.');
	if (label == 0 || name[size - 1] == '-' || ends_like_address(dot ? dot + 1 : name)) {
		return false;
	}
	memcpy(ret, name, size + 1);
	return true;
}

bool net_name_is_below(const char *name, const char *below)
{
	size_t length = strlen(name), tail = strlen(below);

	return length > tail + 1 && name[length - tail - 1] == '.' &&
	       strcmp(name + length - tail, below) == 0;
}
