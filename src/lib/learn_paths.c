/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a program names in its calls, and what for. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/sys.h"
#include "lib/learn.h"

#define NONE     (-1)
#define BY_FLAGS 0 /* open(2): what its flags say */

static const struct {
	unsigned call;
	int dirfd; /* which argument is the directory; NONE: the working directory */
	int path;
	int flags;    /* which argument has the flags, of open(2) */
	unsigned use; /* BY_FLAGS, or it */
} named[] = {
	{ SYS_open, NONE, 0, 1, BY_FLAGS },          { SYS_openat, 0, 1, 2, BY_FLAGS },
	{ SYS_creat, NONE, 0, NONE, LEARN_WRITE },   { SYS_execve, NONE, 0, NONE, LEARN_EXEC },
	{ SYS_execveat, 0, 1, NONE, LEARN_EXEC },    { SYS_stat, NONE, 0, NONE, LEARN_LOOK },
	{ SYS_lstat, NONE, 0, NONE, LEARN_LOOK },    { SYS_newfstatat, 0, 1, NONE, LEARN_LOOK },
	{ SYS_statx, 0, 1, NONE, LEARN_LOOK },       { SYS_access, NONE, 0, NONE, LEARN_LOOK },
	{ SYS_faccessat, 0, 1, NONE, LEARN_LOOK },   { SYS_faccessat2, 0, 1, NONE, LEARN_LOOK },
	{ SYS_readlink, NONE, 0, NONE, LEARN_LOOK }, { SYS_readlinkat, 0, 1, NONE, LEARN_LOOK },
	{ SYS_chdir, NONE, 0, NONE, LEARN_LOOK },    { SYS_mkdir, NONE, 0, NONE, LEARN_WRITE },
	{ SYS_mkdirat, 0, 1, NONE, LEARN_WRITE },    { SYS_unlink, NONE, 0, NONE, LEARN_WRITE },
	{ SYS_unlinkat, 0, 1, NONE, LEARN_WRITE },   { SYS_rmdir, NONE, 0, NONE, LEARN_WRITE },
	{ SYS_rename, NONE, 1, NONE, LEARN_WRITE },  { SYS_renameat, 2, 3, NONE, LEARN_WRITE },
	{ SYS_renameat2, 2, 3, NONE, LEARN_WRITE },  { SYS_truncate, NONE, 0, NONE, LEARN_WRITE },
	{ SYS_chmod, NONE, 0, NONE, LEARN_WRITE },   { SYS_fchmodat, 0, 1, NONE, LEARN_WRITE },
	{ SYS_symlink, NONE, 1, NONE, LEARN_WRITE }, { SYS_symlinkat, 1, 2, NONE, LEARN_WRITE },
	{ SYS_link, NONE, 1, NONE, LEARN_WRITE },    { SYS_linkat, 2, 3, NONE, LEARN_WRITE },
};

static unsigned use_of_flags(uint64_t flags)
{
	switch (flags & O_ACCMODE) {
	case O_WRONLY:
		return LEARN_WRITE;
	case O_RDWR:
		return LEARN_READ | LEARN_WRITE;
	default:
		return flags & O_CREAT ? LEARN_READ | LEARN_WRITE : LEARN_READ;
	}
}

/*
 * Is it there, in the cell? Resolved as the cell would: its links lead nowhere outside. For the
 * record only, so a race about it harms nobody.
 */
static bool is_in_cell(const struct watched_call *call, const char *path)
{
	char link[32];
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

	snprintf(link, sizeof(link), "/proc/%d/root", call->pid);
	_cleanup_close_ int root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0) {
		return true;
	}
	_cleanup_close_ int fd = sys_openat2(root, path, &how);
	return fd != -ENOENT && fd != -ENOTDIR;
}

/* FNV-1a: who chooses paths that collide only makes our record slower. */
static uint64_t hash_of(const char *path)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *path; path++) {
		hash = (hash ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
	}
	return hash;
}

static struct learn_path *find(struct learn *learn, const char *path, uint64_t hash)
{
	for (size_t i = 0; i < learn->paths_count; i++) {
		if (learn->paths[i].hash == hash && strcmp(learn->paths[i].path, path) == 0) {
			return &learn->paths[i];
		}
	}
	return NULL;
}

static struct learn_path *add(struct learn *learn, const struct watched_call *call,
			      const char *path, uint64_t hash)
{
	if (learn->paths_count == LEARN_PATHS_MAX) {
		learn->paths_untold++;
		return NULL;
	}
	if (!learn->paths) {
		learn->paths = calloc(LEARN_PATHS_MAX, sizeof(*learn->paths));
	}
	char *copy = learn->paths ? strdup(path) : NULL;
	if (!copy) {
		learn->paths_untold++;
		return NULL;
	}
	struct learn_path *new = &learn->paths[learn->paths_count++];
	*new = (struct learn_path){ .path = copy, .hash = hash, .absent = !is_in_cell(call, path) };
	return new;
}

static bool is_writable_place(const char *path)
{
	static const char *const places[] = { "/sandbox/", "/tmp/", "/dev/shm/", "/mnt/" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (strncmp(path, places[i], strlen(places[i])) == 0) {
			return true;
		}
	}
	/* What has no name is memory of its own: "/memfd:x (deleted)". */
	return strncmp(path, "/memfd:", 7) == 0;
}

/* Code that is mapped from a file counts as executed, as it does for the mount's flag. */
static void hear_mapping(struct learn *learn, const struct watched_call *call)
{
	char link[48], path[WATCHED_PATH_MAX];

	if (call->number != SYS_mmap || !(call->args[2] & PROT_EXEC) ||
	    (call->args[3] & MAP_ANONYMOUS)) {
		return;
	}
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", call->pid, (int)call->args[4]);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	if (n > 0) {
		path[n] = '\0';
		learn->exec_writable |= is_writable_place(path);
	}
}

static void note(struct learn *learn, const struct watched_call *call, const char *path,
		 unsigned use)
{
	uint64_t hash = hash_of(path);
	struct learn_path *found = find(learn, path, hash);

	found = found ? found : add(learn, call, path, hash);
	if (found) {
		found->uses |= use;
		found->count++;
	}
	if (call->decision.action == FILTER_ALLOW && (use & LEARN_EXEC)) {
		learn->exec_writable |= is_writable_place(path);
	}
}

void learn_paths_hear(struct learn *learn, const struct watched_call *call, char *about,
		      size_t size)
{
	char path[WATCHED_PATH_MAX];

	hear_mapping(learn, call);
	for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
		if (named[i].call != call->number) {
			continue;
		}
		int dirfd = named[i].dirfd == NONE ? AT_FDCWD : (int)call->args[named[i].dirfd];
		unsigned use = named[i].flags == NONE ? named[i].use
						      : use_of_flags(call->args[named[i].flags]);
		/* A pipe or socket has no path. */
		if (watched_path(call, dirfd, call->args[named[i].path], path, sizeof(path)) <= 0 ||
		    path[0] != '/') {
			return;
		}
		note(learn, call, path, use);
		snprintf(about, size, "%s", path);
		return;
	}
}
