/* SPDX-License-Identifier: Apache-2.0 */
/* Mount points beneath a directory: see submount.h. */
#include "kernel/submount.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define FIELDS_BEFORE 4 /* mount, parent, device, root: then the mount point follows */

static bool octal(const char *digits)
{
	return digits[0] >= '0' && digits[0] <= '3' && digits[1] >= '0' && digits[1] <= '7' &&
	       digits[2] >= '0' && digits[2] <= '7';
}

/* In place: blanks, newlines, '#' and '\' of a path are written as \ooo. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from;) {
		if (*from == '\\' && octal(from + 1)) {
			*to++ = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 |
				       (from[3] - '0'));
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/* The line's mount point, terminated in place; NULL: the line does not have the kernel's format. */
static char *mount_point(char *line)
{
	char *rest = line;

	for (unsigned i = 0; i < FIELDS_BEFORE; i++) {
		rest = strchr(rest, ' ');
		if (!rest) {
			return NULL;
		}
		rest++;
	}
	char *end = strchr(rest, ' ');
	if (!end) {
		return NULL;
	}
	*end = '\0';
	unescape(rest);
	return rest;
}

int submount_find(const char *mountinfo, const char *dir, char **ret)
{
	_cleanup_fclose_ FILE *mounts = fopen(mountinfo, "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	size_t length = strlen(dir);

	if (!mounts) {
		return -errno;
	}
	while (length > 0 && dir[length - 1] == '/') {
		length--;
	}
	errno = 0;
	while (getline(&line, &size, mounts) > 0) {
		const char *at = mount_point(line);
		if (!at) {
			return -EIO; /* the part that cannot be read might contain it */
		}
		if (strncmp(at, dir, length) == 0 && at[length] == '/' && at[length + 1] != '\0') {
			*ret = strdup(at);
			return *ret ? 1 : -ENOMEM;
		}
	}
	return ferror(mounts) || errno == ENOMEM ? -EIO : 0;
}
