/* SPDX-License-Identifier: Apache-2.0 */
/* Where a tool is on this host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "holder/held.h"

bool held_is_program(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

bool held_find_program(const char *name, char path[HELD_PATH_MAX])
{
	const char *list = getenv("PATH");

	list = list ? list : "/usr/local/bin:/usr/bin:/bin";
	while (*list) {
		size_t length = strcspn(list, ":");
		if (list[0] == '/' && length + strlen(name) + 2 <= HELD_PATH_MAX) {
			snprintf(path, HELD_PATH_MAX, "%.*s/%s", (int)length, list, name);
			if (held_is_program(path)) {
				return true;
			}
		}
		list += length + (list[length] == ':');
	}
	return false;
}
