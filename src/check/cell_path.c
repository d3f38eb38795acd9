/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves a path in a cell: follows the plan's steps as the kernel would follow the resulting
 * mounts. Below a bind the host's own tree is read, but links there are resolved in the cell.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check/internal.h"

#define LINKS_MAX 40

struct cell_path_walk {
	const struct plan *plan;
	char at[PATH_MAX];   /* so far, without a slash at either end */
	char rest[PATH_MAX]; /* still to be resolved */
	unsigned links;
	struct cell_path *ret;
};

static bool is_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return strncmp(path, directory, length) == 0 &&
	       (path[length] == '\0' || path[length] == '/');
}

/* The step of this kind that makes exactly this path. */
static const struct step *find_step(const struct plan *plan, enum step_kind kind, const char *path)
{
	for (unsigned i = 0; i < plan->count; i++) {
		const struct step *step = &plan->steps[i];
		if (step->kind == kind && step->path && strcmp(step->path, path) == 0) {
			return step;
		}
	}
	return NULL;
}

/* The last mount that covers it. */
static const struct step *find_mount(const struct plan *plan, const char *path)
{
	const struct step *found = NULL;

	for (unsigned i = 0; i < plan->count; i++) {
		const struct step *step = &plan->steps[i];
		bool mount = step->kind == STEP_BIND || step->kind == STEP_WRITABLE ||
			     step->kind == STEP_PROC || step->kind == STEP_DEVICES ||
			     step->kind == STEP_DEVICE;
		if (mount && is_below(path, step->path)) {
			found = step;
		}
	}
	return found;
}

/* Takes the first component of the remaining path. */
static bool next_part(struct cell_path_walk *walk, char part[NAME_MAX + 1])
{
	const char *from = walk->rest + strspn(walk->rest, "/");
	size_t length = strcspn(from, "/");

	if (length == 0 || length > NAME_MAX) {
		return false;
	}
	memcpy(part, from, length);
	part[length] = '\0';
	memmove(walk->rest, from + length, strlen(from + length) + 1);
	return true;
}

/* Puts a link's target before the remaining path. */
static bool follow(struct cell_path_walk *walk, const char *target)
{
	char rest[PATH_MAX];
	int n = snprintf(rest, sizeof(rest), "%s/%s", target, walk->rest);

	if (n < 0 || n >= PATH_MAX || ++walk->links > LINKS_MAX) {
		return false;
	}
	memcpy(walk->rest, rest, (size_t)n + 1);
	if (target[0] == '/') {
		walk->at[0] = '\0';
	}
	return true;
}

/*
 * The mode bits for the program's user: without root, the caller of brig is that user in the cell.
 */
static unsigned bits_of(const struct stat *info)
{
	bool own = geteuid() != 0 && info->st_uid == geteuid();

	return (own ? info->st_mode >> 6 : info->st_mode) & 7u;
}

enum went { WENT_ON, WENT_LINK, WENT_NOWHERE };

static enum went walk_host(struct cell_path_walk *walk, const struct step *bind, const char *next)
{
	char host[PATH_MAX], target[PATH_MAX];
	struct stat info;
	struct cell_path *place = walk->ret;
	int n = snprintf(host, sizeof(host), "%s%s", bind->text, next + strlen(bind->path));

	if (n < 0 || n >= PATH_MAX || lstat(host, &info) < 0) {
		return WENT_NOWHERE;
	}
	if (S_ISLNK(info.st_mode)) {
		ssize_t length = readlink(host, target, sizeof(target) - 1);
		if (length <= 0) {
			return WENT_NOWHERE;
		}
		target[length] = '\0';
		return follow(walk, target) ? WENT_LINK : WENT_NOWHERE;
	}
	place->directory = S_ISDIR(info.st_mode);
	place->mode = bits_of(&info);
	place->kind = CELL_PATH_HOST;
	if (place->directory && !(place->mode & 1) && walk->rest[strspn(walk->rest, "/")]) {
		place->kind = CELL_PATH_CLOSED;
		return WENT_NOWHERE;
	}
	return WENT_ON;
}

static bool is_device(const char *name)
{
	static const char *const names[] = { "null", "zero", "full", "random", "urandom" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i]) == 0) {
			return true;
		}
	}
	return false;
}

static enum went walk_devices(struct cell_path_walk *walk, const char *next)
{
	static const struct {
		const char *name, *target;
	} links[] = {
		{ "dev/fd", "/proc/self/fd" },
		{ "dev/stdin", "/proc/self/fd/0" },
		{ "dev/stdout", "/proc/self/fd/1" },
		{ "dev/stderr", "/proc/self/fd/2" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		if (strcmp(next, links[i].name) == 0) {
			return follow(walk, links[i].target) ? WENT_LINK : WENT_NOWHERE;
		}
	}
	bool top = strcmp(next, "dev") == 0;
	walk->ret->kind = top                                ? CELL_PATH_MADE
			  : is_device(next + strlen("dev/")) ? CELL_PATH_DEVICE
							     : CELL_PATH_MISSING;
	walk->ret->directory = top;
	return walk->ret->kind == CELL_PATH_MISSING ? WENT_NOWHERE : WENT_ON;
}

/* A path that brig itself has made. */
static enum went walk_made(struct cell_path_walk *walk, const char *next)
{
	const struct step *link = find_step(walk->plan, STEP_LINK, next);

	if (link) {
		return follow(walk, link->text) ? WENT_LINK : WENT_NOWHERE;
	}
	bool directory = find_step(walk->plan, STEP_DIR, next) != NULL;
	if (!directory && !find_step(walk->plan, STEP_FILE, next)) {
		return WENT_NOWHERE;
	}
	walk->ret->kind = CELL_PATH_MADE;
	walk->ret->directory = directory;
	return WENT_ON;
}

/* Links of the kernel that lead out of /proc. */
static enum went walk_proc(struct cell_path_walk *walk, const char *next)
{
	bool root = strcmp(next, "proc/self/root") == 0;

	walk->ret->kind = CELL_PATH_PROC;
	walk->ret->directory = strcmp(next, "proc") == 0;
	if (root || strcmp(next, "proc/self/cwd") == 0) {
		return follow(walk, root ? "/" : "/sandbox") ? WENT_LINK : WENT_NOWHERE;
	}
	return WENT_ON;
}

static enum went walk_to(struct cell_path_walk *walk, const char *next)
{
	const struct step *mount = find_mount(walk->plan, next);
	bool shm = is_below(next, "dev/shm");

	if (shm || (mount && mount->kind == STEP_WRITABLE)) {
		/* The contents are up to the program. */
		walk->ret->kind = shm ? CELL_PATH_SHM : CELL_PATH_WRITABLE;
		walk->ret->directory = strcmp(next, shm ? "dev/shm" : mount->path) == 0;
		return WENT_ON;
	}
	if (!mount) {
		return walk_made(walk, next);
	}
	switch (mount->kind) {
	case STEP_BIND:
		return walk_host(walk, mount, next);
	case STEP_PROC:
		return walk_proc(walk, next);
	case STEP_DEVICES:
		return walk_devices(walk, next);
	default:
		walk->ret->kind = CELL_PATH_DEVICE;
		walk->ret->directory = false;
		return WENT_ON;
	}
}

static enum went walk_back(struct cell_path_walk *walk)
{
	char *slash = strrchr(walk->at, '/');

	*(slash ? slash : walk->at) = '\0';
	walk->ret->kind = CELL_PATH_MADE;
	walk->ret->directory = true;
	return walk->at[0] ? walk_to(walk, walk->at) : WENT_ON;
}

static enum went walk_part(struct cell_path_walk *walk, const char *part)
{
	char next[PATH_MAX];

	if (strcmp(part, ".") == 0) {
		return WENT_ON;
	}
	if (strcmp(part, "..") == 0) {
		return walk_back(walk);
	}
	int n = snprintf(next, sizeof(next), "%s%s%s", walk->at, walk->at[0] ? "/" : "", part);
	enum went went = n < 0 || n >= PATH_MAX ? WENT_NOWHERE : walk_to(walk, next);
	if (went == WENT_ON) {
		memcpy(walk->at, next, (size_t)n + 1);
	}
	return went;
}

void cell_path_resolve(const struct plan *plan, const char *path, struct cell_path *ret)
{
	struct cell_path_walk walk = { .plan = plan, .ret = ret };
	char part[NAME_MAX + 1];

	*ret = (struct cell_path){ .kind = CELL_PATH_MADE, .directory = true };
	if (strlen(path) >= sizeof(walk.rest)) {
		ret->kind = CELL_PATH_MISSING;
		return;
	}
	snprintf(walk.rest, sizeof(walk.rest), "%s", path);
	while (next_part(&walk, part)) {
		if (walk_part(&walk, part) == WENT_NOWHERE) {
			ret->kind = ret->kind == CELL_PATH_CLOSED ? CELL_PATH_CLOSED
								  : CELL_PATH_MISSING;
			break;
		}
	}
	/* A component that is too long for any file system. */
	if (walk.rest[strspn(walk.rest, "/")] && ret->kind != CELL_PATH_CLOSED) {
		ret->kind = CELL_PATH_MISSING;
	}
	snprintf(ret->path, sizeof(ret->path), "/%.4000s", walk.at);
}
