/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of /proc/PID/mountinfo: see mountinfo.h. */
#include "kernel/mountinfo.h"

#include <stdlib.h>
#include <string.h>

/* The kernel writes blanks and the like as "\040". */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] && text[3]) {
			*to++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 +
				       (text[3] - '0'));
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/* A field of the line, counted from 0. False: there is none, or it is too long. */
static bool read_field(const char *at, unsigned number, char *ret, size_t size)
{
	for (; number > 0; number--) {
		at += strcspn(at, " \n");
		at += *at == ' ';
	}
	size_t length = strcspn(at, " \n");
	if (length == 0 || length >= size) {
		return false;
	}
	memcpy(ret, at, length);
	ret[length] = '\0';
	return true;
}

static bool read_device(const char *at, struct mountinfo *ret)
{
	char text[32], *end = NULL;

	if (!read_field(at, 2, text, sizeof(text))) {
		return false;
	}
	ret->major = (unsigned)strtoul(text, &end, 10);
	if (end == text || *end != ':') {
		return false;
	}
	const char *rest = end + 1;
	ret->minor = (unsigned)strtoul(rest, &end, 10);
	return end != rest && *end == '\0';
}

bool mountinfo_read(const char *at, struct mountinfo *ret)
{
	if (!read_device(at, ret) || !read_field(at, 3, ret->root, sizeof(ret->root)) ||
	    !read_field(at, 4, ret->place, sizeof(ret->place)) ||
	    !read_field(at, 5, ret->options, sizeof(ret->options))) {
		return false;
	}
	const char *rest = strstr(at, " - ");
	if (!rest || rest > at + strcspn(at, "\n")) {
		return false;
	}
	ret->rest = rest + strlen(" - ");
	unescape(ret->place);
	return true;
}

const char *mountinfo_next(const char *at)
{
	at += strcspn(at, "\n");
	return *at ? at + 1 : at;
}

bool mountinfo_is_fixed(const struct mountinfo *line)
{
	const char *options = line->options;

	return strncmp(options, "ro", 2) == 0 && (options[2] == ',' || options[2] == '\0');
}

bool mountinfo_is_type(const struct mountinfo *line, const char *type)
{
	size_t length = strlen(type);

	return strncmp(line->rest, type, length) == 0 && line->rest[length] == ' ';
}

bool mountinfo_is_in(const char *place, const char *target)
{
	size_t length = strlen(target);

	return place[0] == '/' && strncmp(place + 1, target, length) == 0 &&
	       (place[1 + length] == '\0' || place[1 + length] == '/');
}
