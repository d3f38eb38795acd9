/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the configuration: see config_path.h. */
#include "base/config_path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LINKS_MAX 40 /* the kernel's limit */

char *config_user_path(const char *name, const char *fallback)
{
	const char *base = name ? secure_getenv(name) : NULL;
	const char *home = secure_getenv("HOME");
	char *path = NULL;
	int n = -1;

	if (base && base[0] == '/') {
		n = asprintf(&path, "%s/brig", base);
	} else if (fallback && home && home[0] == '/') {
		n = asprintf(&path, "%s/%s/brig", home, fallback);
	}
	return n < 0 ? NULL : path;
}

char *config_path(void)
{
	struct stat info;
	/* Root's programs serve the machine: the environment must not choose their policies. */
	_cleanup_free_ char *own =
		geteuid() == 0 ? NULL : config_user_path("XDG_CONFIG_HOME", ".config");

	if (own && stat(own, &info) == 0 && S_ISDIR(info.st_mode)) {
		return TAKE_PTR(own);
	}
	return strdup(CONFIG_DIR_MACHINE);
}

char *config_cache_path(void)
{
	return geteuid() == 0 ? strdup("/var/cache/brig")
			      : config_user_path("XDG_CACHE_HOME", ".cache");
}

/* A path that is resolved part by part: the resolved part, and the rest. */
struct trail {
	char real[PATH_MAX];
	char rest[PATH_MAX];
};

/* Puts the target of a link in front of the rest. False: it is too long. */
static bool trail_follow(struct trail *trail, const char *target)
{
	char rest[PATH_MAX];
	int n = snprintf(rest, sizeof(rest), "%s/%s", target, trail->rest);

	if (n < 0 || (size_t)n >= sizeof(rest)) {
		return false;
	}
	memcpy(trail->rest, rest, (size_t)n + 1);
	if (target[0] == '/') {
		trail->real[0] = '\0';
	}
	return true;
}

/* Removes the next part from the rest; "": there is none. False: it is too long. */
static bool trail_next(struct trail *trail, char part[NAME_MAX + 1])
{
	const char *at = trail->rest + strspn(trail->rest, "/");
	size_t length = strcspn(at, "/");

	if (length > NAME_MAX) {
		return false;
	}
	memcpy(part, at, length);
	part[length] = '\0';
	memmove(trail->rest, at + length, strlen(at + length) + 1);
	return true;
}

/* A part that is not a link, whether it exists or not. */
static void trail_enter(struct trail *trail, const char *place, const char *part)
{
	if (strcmp(part, "..") == 0) {
		char *slash = strrchr(trail->real, '/');
		*(slash ? slash : trail->real) = '\0';
	} else if (strcmp(part, ".") != 0) {
		snprintf(trail->real, sizeof(trail->real), "%s", place);
	}
}

bool config_path_leads_by(const char *path, bool (*is_it)(void *user, const char *place),
			  void *user)
{
	struct trail trail = { 0 };
	char part[NAME_MAX + 1], place[PATH_MAX], target[PATH_MAX];
	int n = snprintf(trail.rest, sizeof(trail.rest), "%s", path);

	for (int links = 0; n >= 0 && (size_t)n < sizeof(place) && trail_next(&trail, part);) {
		if (!part[0]) {
			return is_it(user, trail.real[0] ? trail.real : "/");
		}
		n = snprintf(place, sizeof(place), "%s/%s", trail.real, part);
		ssize_t size = readlink(place, target, sizeof(target) - 1);
		if (size <= 0) {
			trail_enter(&trail, place, part);
			continue;
		}
		target[size] = '\0';
		if (is_it(user, place)) {
			return true;
		}
		if (++links > LINKS_MAX || !trail_follow(&trail, target)) {
			return false;
		}
	}
	return false;
}
