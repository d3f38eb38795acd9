/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a payload's tree: see walk.h. One step at a time, with one open directory per level. */
#include "kernel/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/path.h"
#include "kernel/sys.h"

/* The most names without an entry in one step: a program may have made nothing else. */
#define NAMES_AT_ONCE 256u

struct walk_level {
	DIR *dir;      /* owned */
	size_t length; /* of the path up to and including this directory's '/' */
};

struct walk {
	struct walk_level levels[WALK_DEPTH_MAX];
	unsigned depth;
	char path[1024];
	struct stat stat; /* of the entry that was returned last... */
	bool entered;     /* ...which is no directory, or was entered */
	unsigned entries;
	struct walk_report report;
};

/*
 * Opens one name in a directory. openat2 refuses links, magic links and other mounts by itself;
 * without it, O_NOFOLLOW has the same effect on a single name.
 */
static int open_name(int dir, const char *name, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV,
	};
	int fd = sys_openat2(dir, name, &how);

	if (fd == -ENOSYS) {
		fd = openat(dir, name, (int)how.flags);
		return fd < 0 ? -errno : fd;
	}
	return fd;
}

/* The program may have removed the permission to read; we own the file too, so we restore it. */
static int open_again(int dir, const char *name, int flags, mode_t mode)
{
	char path[32];
	_cleanup_close_ int handle = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (handle < 0) {
		return -errno;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
	if (chmod(path, mode) < 0) {
		return -errno;
	}
	return open_name(dir, name, flags);
}

static int open_readable(int dir, const char *name, int flags, mode_t mode)
{
	int fd = open_name(dir, name, flags);

	return fd == -EACCES ? open_again(dir, name, flags, mode) : fd;
}

int walk_open(const struct walk_entry *entry)
{
	struct stat now;
	_cleanup_close_ int fd = open_readable(entry->dir, entry->name, O_RDONLY, 0600);

	if (fd < 0) {
		return fd;
	}
	if (fstat(fd, &now) < 0) {
		return -errno;
	}
	if (!S_ISREG(now.st_mode)) {
		return -EINVAL;
	}
	return TAKE_FD(fd);
}

static int push_level(struct walk *walk, int fd, size_t length)
{
	DIR *dir = fdopendir(fd);

	if (!dir) {
		int saved = errno;
		close(fd);
		return -saved;
	}
	walk->levels[walk->depth++] = (struct walk_level){ .dir = dir, .length = length };
	return 0;
}

static void pop_level(struct walk *walk)
{
	closedir(walk->levels[--walk->depth].dir);
}

/* Enters the directory that was returned last. */
static int enter_directory(struct walk *walk)
{
	struct walk_level *level = &walk->levels[walk->depth - 1];
	const char *name = walk->path + level->length;

	if (walk->depth == WALK_DEPTH_MAX) {
		walk->report.too_deep++;
		return 0;
	}
	int fd = open_readable(dirfd(level->dir), name, O_RDONLY | O_DIRECTORY, 0700);
	if (fd < 0) {
		walk->report.odd_names++;
		return 0;
	}
	size_t length = level->length + strlen(name);
	walk->path[length] = '/';
	return push_level(walk, fd, length + 1);
}

/* 1: an entry; 0: this name is skipped. */
static int visit_name(struct walk *walk, const char *name, struct walk_entry *ret)
{
	struct walk_level *level = &walk->levels[walk->depth - 1];
	int dir = dirfd(level->dir);
	size_t size = strlen(name);

	if (level->length + size + 2 > sizeof(walk->path)) {
		walk->report.too_deep++;
		return 0;
	}
	memcpy(walk->path + level->length, name, size + 1);
	if (!path_is_beneath(walk->path, NULL)) {
		walk->report.odd_names++;
		return 0;
	}
	if (fstatat(dir, name, &walk->stat, AT_SYMLINK_NOFOLLOW) < 0) {
		return 0;
	}
	*ret = (struct walk_entry){ walk->path, walk->path + level->length, dir, &walk->stat };
	walk->entered = !S_ISDIR(walk->stat.st_mode);
	return 1;
}

int walk_new(int root, struct walk **ret)
{
	struct walk *walk = calloc(1, sizeof(*walk));
	int fd = walk ? open_name(root, ".", O_RDONLY | O_DIRECTORY) : -ENOMEM;

	if (walk) {
		walk->entered = true;
	}
	int r = fd < 0 ? fd : push_level(walk, fd, 0);
	if (r < 0) {
		walk_free(walk);
		return r;
	}
	*ret = walk;
	return 0;
}

void walk_free(struct walk *walk)
{
	while (walk && walk->depth > 0) {
		pop_level(walk);
	}
	free(walk);
}

int walk_next(struct walk *walk, struct walk_entry *ret)
{
	int r = walk->entered ? 0 : enter_directory(walk);

	walk->entered = true;
	for (unsigned names = 0; r == 0 && walk->depth > 0; names++) {
		if (names == NAMES_AT_ONCE) {
			return 2;
		}
		struct dirent *next = readdir(walk->levels[walk->depth - 1].dir);
		if (!next) {
			pop_level(walk);
			continue;
		}
		if (strcmp(next->d_name, ".") == 0 || strcmp(next->d_name, "..") == 0) {
			continue;
		}
		if (++walk->entries > WALK_ENTRIES_MAX) {
			walk->report.too_many = true;
			break;
		}
		r = visit_name(walk, next->d_name, ret);
	}
	return r;
}

const struct walk_report *walk_report_of(const struct walk *walk)
{
	return &walk->report;
}

unsigned walk_names(const struct walk *walk)
{
	return walk->entries;
}
