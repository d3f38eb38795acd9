/* SPDX-License-Identifier: Apache-2.0 */
/* Users and groups by name: see account.h. */
#include "serve/account.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"

/* "name:password:number:...": true if the line is that of `name`. */
static bool read_line(char *line, const char *name, uint64_t *ret)
{
	char *rest = line;
	const char *found = strsep(&rest, ":");

	if (!rest || strcmp(found, name) != 0) {
		return false;
	}
	strsep(&rest, ":");
	const char *number = rest ? strsep(&rest, ":") : NULL;
	return number && unit_parse(UNIT_COUNT, number, ret) == 0;
}

static int find(const char *path, const char *name, uint32_t *ret)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	uint64_t number = 0;
	bool found = unit_parse(UNIT_COUNT, name, &number) == 0;

	while (!found && file && getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		found = read_line(line, name, &number);
	}
	/* The largest number means "none" to the kernel. */
	if (!found || number >= UINT32_MAX) {
		return -ENOENT;
	}
	*ret = (uint32_t)number;
	return 0;
}

int account_user(const char *name, uid_t *ret)
{
	return find("/etc/passwd", name, ret);
}

int account_group(const char *name, gid_t *ret)
{
	return find("/etc/group", name, ret);
}
