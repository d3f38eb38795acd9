/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool that runs hostile input by itself, as an emulator does: it has no capabilities, gains
 * none, and of the host it sees programs and libraries only, and the files that the warden has
 * opened for it. Only async-signal-safe calls: see holder.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "holder/holder.h"
#include "kernel/caps.h"
#include "kernel/sys.h"

/* Not there: the tool says so. */
static int bind_device(const char *path)
{
	int r = holder_make_dir("dev", 0755);

	r = r < 0 ? r : holder_make_file(path + 1, "", 0, 0444);
	_cleanup_close_ int tree =
		sys_open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (r < 0 || tree < 0) {
		return r;
	}
	return holder_attach(tree, path + 1, MOUNT_ATTR_NOEXEC);
}

/* Root's files cannot be reached from here, and belong to somebody else: nothing to protect. */
static int bind_shared(const struct holder_files *files)
{
	_cleanup_close_ int tree =
		sys_open_tree(AT_FDCWD, files->directory, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0) {
		return 0;
	}
	int r = holder_make_dir(HOLDER_SHARED, 0755);
	return r < 0 ? r
		     : holder_attach(tree, HOLDER_SHARED,
				     MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

int holder_confined_root(const struct holder_start *start)
{
	int r = start->files.directory ? bind_shared(&start->files) : 0;

	r = r < 0 || !start->kvm ? r : bind_device("/dev/kvm");
	return r < 0 || !start->urandom ? r : bind_device("/dev/urandom");
}

/* Since the warden has opened it, somebody may have put another one in its place. */
static bool is_same(int a, int b)
{
	struct stat first, second;

	return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

/* With ids of its own the holder is not the owner of the files, and may not change them. */
int holder_confined_files(struct holder_start *start)
{
	for (size_t i = 0; i < start->files.count && !start->spec->ranged; i++) {
		char path[HOLDER_PATH_MAX];
		if (!start->files.names[i]) {
			continue;
		}
		int r = holder_join_path(path, "/" HOLDER_SHARED, start->files.names[i]);
		_cleanup_close_ int low = r < 0 ? r : open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		/* The tool's streams take the numbers 0 to 2. */
		int fd = low < 0 ? low : fcntl(low, F_DUPFD_CLOEXEC, 3);
		if (fd < 0) {
			return r < 0 ? r : -errno;
		}
		if (!is_same(fd, start->files.fds[i])) {
			close(fd);
			return -ESTALE;
		}
		close(start->files.fds[i]);
		start->files.fds[i] = fd;
	}
	return 0;
}

/* Neither the host's network and its abstract sockets, nor its shared memory, are in reach. */
int holder_confine(void)
{
	const int spaces = CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
	const struct rlimit none = { 0, 0 };

	if (unshare(spaces) < 0 || setrlimit(RLIMIT_CORE, &none) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		return -errno;
	}
	return caps_drop_all();
}
