/* SPDX-License-Identifier: Apache-2.0 */
/* Compares control groups: see warm_groups.h. */
#include "cli/warm/warm_groups.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* brig moves the processes of a delegated group to such a leaf: see kernel/cgroup. */
#define LEAF "/brig-supervisor"

/* Files that limit, and their first word as long as they do not. */
static const struct {
	const char *name, *open;
} limits[] = {
	{ "memory.max", "max" },       { "memory.high", "max" }, { "memory.swap.max", "max" },
	{ "memory.zswap.max", "max" }, { "pids.max", "max" },    { "cpu.max", "max" },
	{ "cpuset.cpus", "" },         { "cpuset.mems", "" },    { "io.max", "" },
	{ "cgroup.freeze", "0" },
};

/* The path in version 2; false: there are other hierarchies, or none. */
static bool take_path(const char *groups, char path[PATH_MAX])
{
	size_t size = strcspn(groups, "\n");

	if (strncmp(groups, "0::/", 4) != 0 || (groups[size] && groups[size + 1]) ||
	    size >= PATH_MAX) {
		return false;
	}
	memcpy(path, groups + 3, size - 3);
	path[size - 3] = '\0';
	size_t length = strlen(path), leaf = strlen(LEAF);
	if (length >= leaf && strcmp(path + length - leaf, LEAF) == 0) {
		path[length - leaf] = '\0';
	}
	if (strcmp(path, "/") == 0) {
		path[0] = '\0';
	}
	return !strstr(path, "/..");
}

static bool is_open(int group, const char *name, const char *open_word)
{
	char text[64] = "";
	_cleanup_close_ int fd = openat(group, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		return errno == ENOENT; /* the controller is not enabled here */
	}
	ssize_t n = read(fd, text, sizeof(text) - 1);
	if (n < 0) {
		return false;
	}
	text[n] = '\0';
	text[strcspn(text, " \n")] = '\0';
	return strcmp(text, open_word) == 0;
}

static bool group_limits(const char *root, const char *path)
{
	char whole[PATH_MAX];
	int n = snprintf(whole, sizeof(whole), "%s%s", root, path);
	_cleanup_close_ int group =
		n < 0 || (size_t)n >= sizeof(whole)
			? -1
			: open(whole, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (group < 0) {
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		if (!is_open(group, limits[i].name, limits[i].open)) {
			return true;
		}
	}
	return false;
}

/* Is the service in this group or below it? */
static bool holds(const char *path, const char *service)
{
	size_t length = strlen(path);

	return strncmp(path, service, length) == 0 && (!service[length] || service[length] == '/');
}

bool warm_groups_differ(const char *root, const char *service, const char *client)
{
	char ours[PATH_MAX], theirs[PATH_MAX];

	if (strcmp(service, client) == 0) {
		return false;
	}
	if (!take_path(service, ours) || !take_path(client, theirs)) {
		return true;
	}
	if (!root) {
		return strcmp(ours, theirs) != 0;
	}
	while (theirs[0] && !holds(theirs, ours)) {
		if (group_limits(root, theirs)) {
			return true;
		}
		*strrchr(theirs, '/') = '\0';
	}
	return false;
}
