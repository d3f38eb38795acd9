/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A template's view of the host: see template_view.h. After a clone: async-signal-safe calls only.
 */
#include "native/keeper/template_view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/sys.h"

/* Directories with the host's private files. The runtime's own files are never hidden. */
static const char *const hidden[] = { "/boot", "/etc", "/home", "/media", "/mnt", "/opt",
				      "/root", "/run", "/srv",  "/tmp",   "/var" };

static bool is_beneath(const char *path, const char *dir)
{
	size_t length = strlen(dir);

	return strncmp(path, dir, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* Links are made anew in the empty directory; files that are bound from there must stay visible. */
static bool is_needed(const struct closure *closure, const char *dir)
{
	for (size_t i = 0; i < closure->count; i++) {
		if (closure->items[i].kind != CLOSURE_LINK &&
		    is_beneath(closure->items[i].path, dir)) {
			return true;
		}
	}
	return false;
}

static int make_parents(const char *path)
{
	char part[4096];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		size_t length = (size_t)(slash - path);
		if (length >= sizeof(part)) {
			return -ENAMETOOLONG;
		}
		memcpy(part, path, length);
		part[length] = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST) {
			return -errno;
		}
	}
	return 0;
}

static int make_links(const struct closure *closure, const char *dir)
{
	for (size_t i = 0; i < closure->count; i++) {
		const struct closure_item *item = &closure->items[i];
		if (item->kind != CLOSURE_LINK || !is_beneath(item->path, dir)) {
			continue;
		}
		int r = make_parents(item->path);
		if (r < 0) {
			return r;
		}
		if (symlink(item->target, item->path) < 0) {
			return -errno;
		}
	}
	return 0;
}

static int hide_directory(const struct closure *closure, const char *dir)
{
	unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	if (is_needed(closure, dir)) {
		return 0;
	}
	if (mount("brig", dir, "tmpfs", flags, "mode=0755,size=256k,nr_inodes=256") < 0) {
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	}
	int r = make_links(closure, dir);
	if (r < 0) {
		return r;
	}
	flags |= MS_REMOUNT | MS_BIND | MS_RDONLY;
	return mount(NULL, dir, NULL, flags, NULL) < 0 ? -errno : 0;
}

int template_view_build(const struct closure *closure)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || sethostname("brig", 4) < 0 ||
	    setdomainname("(none)", 6) < 0) {
		return -errno;
	}
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++) {
		int r = hide_directory(closure, hidden[i]);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int make_memory_mount(bool huge)
{
	_cleanup_close_ int fs = sys_fsopen("tmpfs");

	if (fs < 0) {
		return fs;
	}
	int r = sys_fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0755");
	if (r < 0) {
		return r;
	}
	/*
	 * Large pages (tmpfs(5)): fewer to map, and to free at every end. Not all kernels have
	 * them.
	 */
	if (huge) {
		sys_fsconfig(fs, FSCONFIG_SET_STRING, "huge", "always");
	}
	r = sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL);
	return r < 0 ? r : sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

static int copy_all(int from, int to)
{
	struct stat info;

	if (fstat(from, &info) < 0) {
		return -errno;
	}
	off_t at = 0;
	while (at < info.st_size) {
		ssize_t n = sendfile(to, from, &at, (size_t)(info.st_size - at));
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n <= 0) {
			return n < 0 ? -errno : -ESTALE;
		}
	}
	return 0;
}

static int copy_into(int dir, const char *name, int from)
{
	int copy = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);

	if (copy < 0) {
		return -errno;
	}
	int r = copy_all(from, copy);
	/* Before exec, which refuses a file that is open for writing: ETXTBSY, execve(2). */
	close(copy);
	return r;
}

int template_view_copy_program(int program, const char *name, bool huge)
{
	struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };
	_cleanup_close_ int dir = make_memory_mount(huge);

	if (dir < 0) {
		return dir;
	}
	int r = copy_into(dir, name, program);
	if (r < 0) {
		return r;
	}
	r = sys_mount_setattr(dir, "", AT_EMPTY_PATH, &read_only);
	return r < 0 ? r : TAKE_FD(dir);
}

int template_view_open_copy(int program, const char *name)
{
	_cleanup_close_ int dir = template_view_copy_program(program, name, false);

	if (dir < 0) {
		return dir;
	}
	int file = openat(dir, name, O_RDONLY | O_CLOEXEC);
	return file < 0 ? -errno : file;
}
