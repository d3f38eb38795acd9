/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that name a file: one table for all code that checks paths, so that none misses a call. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "native/calls/watched_call.h"

#define NONE (-1)

static const struct watched_name names[] = {
	{ SYS_open, NONE, 0, WATCHED_BY_FLAGS, true },
	{ SYS_openat, 0, 1, WATCHED_BY_FLAGS, true },
	{ SYS_openat2, 0, 1, WATCHED_BY_FLAGS, true },
	{ SYS_creat, NONE, 0, WATCHED_WRITE, true },
	{ SYS_truncate, NONE, 0, WATCHED_WRITE, true },
	{ SYS_execve, NONE, 0, WATCHED_EXEC, true },
	{ SYS_execveat, 0, 1, WATCHED_EXEC, true },
	{ SYS_stat, NONE, 0, WATCHED_LOOK, false },
	{ SYS_lstat, NONE, 0, WATCHED_LOOK, false },
	{ SYS_newfstatat, 0, 1, WATCHED_LOOK, false },
	{ SYS_statx, 0, 1, WATCHED_LOOK, false },
	{ SYS_access, NONE, 0, WATCHED_LOOK, false },
	{ SYS_faccessat, 0, 1, WATCHED_LOOK, false },
	{ SYS_faccessat2, 0, 1, WATCHED_LOOK, false },
	{ SYS_readlink, NONE, 0, WATCHED_LOOK, false },
	{ SYS_readlinkat, 0, 1, WATCHED_LOOK, false },
	{ SYS_chdir, NONE, 0, WATCHED_LOOK, false },
	{ SYS_mkdir, NONE, 0, WATCHED_WRITE, false },
	{ SYS_mkdirat, 0, 1, WATCHED_WRITE, false },
	{ SYS_unlink, NONE, 0, WATCHED_WRITE, false },
	{ SYS_unlinkat, 0, 1, WATCHED_WRITE, false },
	{ SYS_rmdir, NONE, 0, WATCHED_WRITE, false },
	{ SYS_rename, NONE, 1, WATCHED_WRITE, false },
	{ SYS_renameat, 2, 3, WATCHED_WRITE, false },
	{ SYS_renameat2, 2, 3, WATCHED_WRITE, false },
	{ SYS_chmod, NONE, 0, WATCHED_WRITE, false },
	{ SYS_fchmodat, 0, 1, WATCHED_WRITE, false },
	{ SYS_symlink, NONE, 1, WATCHED_WRITE, false },
	{ SYS_symlinkat, 1, 2, WATCHED_WRITE, false },
	{ SYS_link, NONE, 1, WATCHED_WRITE, false },
	{ SYS_linkat, 2, 3, WATCHED_WRITE, false },
};

const struct watched_name *watched_name_of(unsigned call)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].call == call) {
			return &names[i];
		}
	}
	return NULL;
}

void watched_opening_calls(struct call_set *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].opens) {
			call_set_add(ret, names[i].call);
		}
	}
}

int watched_named_path(const struct watched_call *call, const struct watched_name *name, char *ret,
		       size_t size)
{
	int directory = name->directory == NONE ? AT_FDCWD : (int)call->args[name->directory];

	return watched_path(call, directory, call->args[name->path], ret, size);
}

static unsigned use_of_flags(uint64_t flags)
{
	switch (flags & O_ACCMODE) {
	case O_WRONLY:
		return WATCHED_WRITE;
	case O_RDWR:
		return WATCHED_READ | WATCHED_WRITE;
	default:
		return flags & O_CREAT ? WATCHED_READ | WATCHED_WRITE : WATCHED_READ;
	}
}

unsigned watched_use_of(const struct watched_call *call, const struct watched_name *name)
{
	uint64_t flags;

	if (name->use != WATCHED_BY_FLAGS) {
		return name->use;
	}
	if (call->number != SYS_openat2) {
		return use_of_flags(call->args[name->path + 1]);
	}
	/*
	 * Its flags are at the start of a structure in memory; if that cannot be read, the call
	 * fails too.
	 */
	ssize_t n = watched_read(call, call->args[2], &flags, sizeof(flags));
	return n == sizeof(flags) ? use_of_flags(flags) : WATCHED_LOOK;
}

int watched_root(const struct watched_call *call)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/%d/root", call->pid);
	_cleanup_close_ int root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || !watched_is_waiting(call)) {
		return -1;
	}
	return TAKE_FD(root);
}
