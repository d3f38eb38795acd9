/* SPDX-License-Identifier: Apache-2.0 */
/* P5: the visible part of the control groups: mounts, names, files. */
#include <fcntl.h>
#include <stdlib.h>

#include "say.h"

static void find_mounts(void)
{
	char line[4096];
	int count = 0;
	FILE *file = fopen("/proc/self/mounts", "r");

	while (file && fgets(line, sizeof(line), file)) {
		count += strstr(line, " cgroup") != NULL;
	}
	say("mounts", "%d", count);
}

/* Paths other than "/" in /proc/self/cgroup name a group of the host. */
static void find_names(void)
{
	char line[4096], names[2048] = "";
	FILE *file = fopen("/proc/self/cgroup", "r");

	while (file && fgets(line, sizeof(line), file)) {
		char *path = strrchr(line, ':');
		line[strcspn(line, "\n")] = '\0';
		if (path && strcmp(path, ":/") != 0 && strlen(names) + strlen(path) < 2000) {
			strcat(names, path);
		}
	}
	say("names", "%s", names);
}

int main(void)
{
	find_mounts();
	find_names();
	try("dir", open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY));
	try("v2", open("/sys/fs/cgroup/cgroup.procs", O_WRONLY));
	try("v1", open("/sys/fs/cgroup/memory/release_agent", O_WRONLY));
	try("unified", open("/sys/fs/cgroup/unified/cgroup.procs", O_WRONLY));
}
