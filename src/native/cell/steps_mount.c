/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that build the cell's file system. The root is reached by fd, never by a path. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/write_all.h"
#include "kernel/nolinks.h"
#include "kernel/sys.h"
#include "native/cell/cell.h"
#include "run/streams/terminal.h"

/* The id that the program will have, as the set-up namespace sees it. */
static uid_t payload_id(const struct cell *cell)
{
	return cell->plan->spec->ranged ? 1 : 0;
}

int step_private(struct cell *cell, const struct step *step)
{
	(void)step;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		return -errno;
	}
	return cell->terminal ? terminal_lock(cell->stdio) : 0;
}

int step_root(struct cell *cell, const struct step *step)
{
	const struct {
		const char *name, *value;
	} options[] = {
		{ "size", step->root.bytes_text },
		{ "nr_inodes", step->root.inodes_text },
		{ "mode", "0755" },
	};
	_cleanup_close_ int fs = sys_fsopen("tmpfs");

	if (fs < 0) {
		return fs;
	}
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		int r = sys_fsconfig(fs, FSCONFIG_SET_STRING, options[i].name, options[i].value);
		if (r < 0) {
			return r;
		}
	}
	int r = sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL);
	if (r < 0) {
		return r;
	}
	cell->root = sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (cell->root < 0) {
		return cell->root;
	}
	/* On top of "/": host paths are still resolved beneath it, so it hides nothing. */
	r = sys_move_mount(cell->root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH);
	if (r < 0) {
		return r;
	}
	return fchdir(cell->root) < 0 ? -errno : 0;
}

int step_overlay(struct cell *cell, const struct step *step)
{
	(void)cell;
	/*
	 * An overlay without an upper directory needs two layers (overlayfs.rst in
	 * Documentation/filesystems, "Multiple lower layers"). The upper one is the root's own
	 * empty "proc": statfs reports that one, so the host's disk is not visible.
	 */
	int r = mount("brig", step->overlay.target, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV,
		      step->overlay.options);
	return r < 0 ? -errno : 0;
}

int step_dir(struct cell *cell, const struct step *step)
{
	if (mkdirat(cell->root, step->dir.target, step->dir.mode) < 0) {
		return -errno;
	}
	if (strncmp(step->dir.target, "sandbox", 7) == 0) {
		return fchownat(cell->root, step->dir.target, payload_id(cell), payload_id(cell),
				AT_SYMLINK_NOFOLLOW) < 0
			       ? -errno
			       : 0;
	}
	return 0;
}

int step_link(struct cell *cell, const struct step *step)
{
	return symlinkat(step->link.to, cell->root, step->link.path) < 0 ? -errno : 0;
}

int step_file(struct cell *cell, const struct step *step)
{
	_cleanup_close_ int fd =
		openat(cell->root, step->file.target,
		       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, step->file.mode);
	if (fd < 0) {
		return -errno;
	}
	return write_all(fd, step->file.data, step->file.size);
}

static int attach_tree(struct cell *cell, int tree, const char *path, uint64_t attributes)
{
	/*
	 * Private: a clone of a shared mount is its peer (mount_namespaces(7)), and a mount on top
	 * of it here (the overlay on a read-only directory) would appear on the host.
	 */
	struct mount_attr attr = { .attr_set = attributes, .propagation = MS_PRIVATE };
	/* Recursive: the clone includes the operator's own mounts beneath the directory. */
	int r = sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr);

	if (r < 0) {
		return r;
	}
	return sys_move_mount(tree, "", cell->root, path, MOVE_MOUNT_F_EMPTY_PATH);
}

/*
 * A mount of the host beneath the directory is locked in this namespace: a clone without it would
 * reveal the files that it covers, so the kernel refuses that with EINVAL (has_locked_children(),
 * since Linux 3.12; mount_namespaces(7)).
 */
static int clone_tree(const char *path)
{
	unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW;
	int tree = sys_open_tree(AT_FDCWD, path, flags);

	return tree == -EINVAL ? sys_open_tree(AT_FDCWD, path, flags | AT_RECURSIVE) : tree;
}

int step_bind(struct cell *cell, const struct step *step)
{
	_cleanup_close_ int tree = clone_tree(step->bind.source);
	if (tree < 0) {
		return tree;
	}
	return attach_tree(cell, tree, step->bind.target, step->bind.attributes);
}

int step_devices(struct cell *cell, const struct step *step)
{
	/* shm stays on the cell's own tmpfs, under its quota: taken before it is covered. */
	_cleanup_close_ int shm =
		sys_open_tree(cell->root, step->devices.shm, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (shm < 0) {
		return shm;
	}
	_cleanup_close_ int own = step->devices.fd;
	int r = attach_tree(cell, own, step->devices.target, step->devices.attributes);
	return r < 0 ? r : attach_tree(cell, shm, step->devices.shm, step->devices.shm_attributes);
}

int step_proc(struct cell *cell, const struct step *step)
{
	(void)cell; /* the root is the working directory */
	int r = mount("proc", step->proc.target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		      step->proc.options);
	return r < 0 ? -errno : 0;
}

int step_writable(struct cell *cell, const struct step *step)
{
	_cleanup_close_ int tree = sys_open_tree(cell->root, step->writable.target,
						 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0) {
		return tree;
	}
	return attach_tree(cell, tree, step->writable.target, step->writable.attributes);
}

int step_mount(struct cell *cell, const struct step *step)
{
	/* For a cell with ids of its own the warden has already cloned and id-mapped the tree. */
	if (step->mount.cloned) {
		_cleanup_close_ int own = step->mount.fd;
		return attach_tree(cell, own, step->mount.target, step->mount.attributes);
	}
	/*
	 * A directory that was opened outside cannot be cloned from inside: its mount belongs to
	 * the host's namespace, and open_tree(OPEN_TREE_CLONE) answers EINVAL (check_mnt(),
	 * fs/namespace.c, since 5.2). So it is looked up again in our copy of that tree.
	 */
	_cleanup_close_ int known = step->mount.fd;
	_cleanup_close_ int fd = reopen_without_links(known, step->mount.source);
	if (fd < 0) {
		return fd;
	}
	_cleanup_close_ int tree =
		sys_open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	if (tree < 0) {
		return tree;
	}
	return attach_tree(cell, tree, step->mount.target, step->mount.attributes);
}

/* Parents of an input, each owned by the program; returns the fd of the innermost, or -errno. */
static int input_parent(struct cell *cell, const char *path, const char **last)
{
	uid_t id = payload_id(cell);
	int dir = openat(cell->root, "sandbox", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	for (const char *slash = strchr(path, '/'); dir >= 0 && slash; slash = strchr(path, '/')) {
		char part[256];
		size_t length = (size_t)(slash - path);
		if (length >= sizeof(part)) {
			close(dir);
			return -ENAMETOOLONG;
		}
		memcpy(part, path, length);
		part[length] = '\0';
		if (mkdirat(dir, part, 0700) == 0 &&
		    fchownat(dir, part, id, id, AT_SYMLINK_NOFOLLOW) < 0) {
			int r = -errno;
			close(dir);
			return r;
		}
		int next = openat(dir, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int saved = errno;
		close(dir);
		errno = saved;
		dir = next;
		path = slash + 1;
	}
	*last = path;
	return dir < 0 ? -errno : dir;
}

static int copy_fd(int from, int to, uint64_t size)
{
	char chunk[16384];
	uint64_t at = 0;

	while (at < size) {
		size_t want = size - at < sizeof(chunk) ? (size_t)(size - at) : sizeof(chunk);
		ssize_t n = pread(from, chunk, want, (off_t)at);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return -errno;
		}
		if (n == 0) {
			return -ESTALE; /* shrank since it was measured */
		}
		int r = write_all(to, chunk, (uint64_t)n);
		if (r < 0) {
			return r;
		}
		at += (uint64_t)n;
	}
	return 0;
}

int step_input(struct cell *cell, const struct step *step)
{
	const char *name = step->input.name;
	uid_t id = payload_id(cell);
	_cleanup_close_ int dir = input_parent(cell, step->input.name, &name);

	if (dir < 0) {
		return dir;
	}
	_cleanup_close_ int fd = openat(
		dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, step->input.mode);
	if (fd < 0) {
		return -errno;
	}
	int r = step->input.fd >= 0 ? copy_fd(step->input.fd, fd, step->input.size)
				    : write_all(fd, step->input.data, step->input.size);
	if (step->input.fd >= 0) {
		close(step->input.fd);
	}
	if (r < 0) {
		return r;
	}
	return fchown(fd, id, id) < 0 ? -errno : 0;
}

int step_pivot(struct cell *cell, const struct step *step)
{
	(void)cell;
	(void)step;
	/* "." twice: the old root is stacked on the new one, then unmounted. */
	int r = sys_pivot_root(".", ".");
	if (r < 0) {
		return r;
	}
	if (umount2(".", MNT_DETACH) < 0) {
		return -errno;
	}
	return chdir("/") < 0 ? -errno : 0;
}

int step_lockroot(struct cell *cell, const struct step *step)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	(void)step;
	return sys_mount_setattr(cell->root, "", AT_EMPTY_PATH, &attr);
}

int step_handles(struct cell *cell, const struct step *step)
{
	struct wire_record record = { .kind = WIRE_HANDLES };
	_cleanup_close_ int sandbox = open("/sandbox", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Opened while it can be read: later no process in the cell can. */
	_cleanup_close_ int sockets = open("/proc/self/net/sockstat", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int names = TAKE_FD(cell->names);
	int fds[4] = { sandbox, proc, sockets, names };

	(void)step;
	if (sandbox < 0 || proc < 0 || sockets < 0) {
		return -errno;
	}
	struct statfs fs;
	if (fstatfs(sandbox, &fs) == 0) {
		record.value = (uint32_t)(fs.f_blocks - fs.f_bfree);
		record.status = (int32_t)(fs.f_files - fs.f_ffree);
	}
	close_fd(&cell->root);
	return wire_send(cell->control, &record, fds, names < 0 ? 3 : 4);
}
