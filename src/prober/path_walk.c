/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows a path as the kernel does, and stops where it does not exist, or where it leads through
 * the state of the process that asks: links of the kernel below /proc/PID, and numbers of
 * processes, threads and descriptors that this process does not have. O_PATH opens nothing, so that
 * neither devices nor FIFOs are affected. No permission is decided here: attempt.c asks for those.
 */
#include "prober/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as in the kernel */
/* The inode of /proc itself; its links, such as /proc/self, are ordinary ones. */
#define PROC_ROOT_INODE 1

bool path_is_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* Takes the first component. false: there is none, or it is too long for any file system. */
static bool next_name(struct path_walk *walk)
{
	const char *from = walk->rest + strspn(walk->rest, "/");
	size_t length = strcspn(from, "/");

	walk->errnum = length > NAME_MAX ? ENAMETOOLONG : 0;
	if (length == 0 || length > NAME_MAX) {
		return false;
	}
	memcpy(walk->name, from, length);
	walk->name[length] = '\0';
	memmove(walk->rest, from + length, strlen(from + length) + 1);
	return true;
}

static bool enter(struct path_walk *walk, int fd)
{
	if (walk->fd >= 0) {
		close(walk->fd);
	}
	walk->fd = fd;
	walk->errnum = fd < 0 || fstat(fd, &walk->info) < 0 ? errno : 0;
	return walk->errnum == 0;
}

/* The process's own root and directory are those of every program at its start. */
static bool is_own_start(const struct path_walk *walk)
{
	struct stat own;

	return (strcmp(walk->name, "root") == 0 || strcmp(walk->name, "cwd") == 0) &&
	       stat("/proc/self", &own) == 0 && own.st_dev == walk->info.st_dev &&
	       own.st_ino == walk->info.st_ino;
}

static bool follow_text(struct path_walk *walk, int link)
{
	char target[PATH_MAX];
	ssize_t size = readlinkat(link, "", target, sizeof(target) - 1);
	size_t rest = strlen(walk->rest);

	if (size <= 0) {
		walk->errnum = size < 0 ? errno : ENOENT;
		return false;
	}
	target[size] = '\0';
	if ((size_t)size + rest + 2 > sizeof(walk->rest)) {
		walk->errnum = ENAMETOOLONG;
		return false;
	}
	memmove(walk->rest + size + 1, walk->rest, rest + 1);
	memcpy(walk->rest, target, (size_t)size);
	walk->rest[size] = '/';
	return target[0] != '/' || enter(walk, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static bool follow(struct path_walk *walk, int link)
{
	if (!path_is_proc(link) || walk->info.st_ino == PROC_ROOT_INODE) {
		return follow_text(walk, link);
	}
	if (is_own_start(walk)) {
		return enter(walk, openat(walk->fd, walk->name, O_PATH | O_DIRECTORY | O_CLOEXEC));
	}
	walk->depends = true;
	return false;
}

/* A process, thread or descriptor that a program might have; process 1 is brig's, and hidden. */
static bool might_exist(const struct path_walk *walk)
{
	bool number = walk->name[strspn(walk->name, "0123456789")] == '\0';
	bool first = strcmp(walk->name, "1") == 0 && walk->info.st_ino == PROC_ROOT_INODE;

	return walk->errnum == ENOENT && number && !first && path_is_proc(walk->fd);
}

static bool walk_name(struct path_walk *walk, unsigned *links)
{
	int next = openat(walk->fd, walk->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat info;

	if (next < 0) {
		walk->errnum = errno;
		walk->depends = might_exist(walk);
		return false;
	}
	if (fstat(next, &info) < 0) {
		walk->errnum = errno;
		close(next);
		return false;
	}
	if (!S_ISLNK(info.st_mode)) {
		return enter(walk, next);
	}
	walk->errnum = ++*links > LINKS_MAX ? ELOOP : 0;
	bool on = walk->errnum == 0 && follow(walk, next);
	close(next);
	return on;
}

void path_walk(const char *path, struct path_walk *ret)
{
	unsigned links = 0;
	size_t size = strnlen(path, PROBER_PATH_MAX);

	*ret = (struct path_walk){ .fd = -1 };
	memcpy(ret->rest, path, size);
	if (!enter(ret, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC))) {
		return;
	}
	while (next_name(ret) && walk_name(ret, &links)) {
	}
}

void path_walk_done(struct path_walk *walk)
{
	if (walk->fd >= 0) {
		close(walk->fd);
	}
	walk->fd = -1;
}
