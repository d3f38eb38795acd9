/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Local working directories: see workdir.h. The process that makes one holds a lock on it as long
 * as it lives, so that directories of dead processes are recognized and removed.
 */
#include "local/workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PREFIX    "brig-run-"
#define DEPTH_MAX 64
#define YOUNG_S   60 /* younger ones may not be locked yet */

static const char *base_dir(void)
{
	const char *dir = secure_getenv("TMPDIR");

	return dir && dir[0] == '/' ? dir : "/tmp";
}

/* Depth-first by dirfd; files that are too deep or cannot be removed stay until the next sweep. */
static void remove_tree(int parent, const char *name, int depth)
{
	if (unlinkat(parent, name, 0) == 0 || (errno != EISDIR && errno != EPERM) ||
	    depth == DEPTH_MAX) {
		return;
	}
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0) {
		fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		close_fd(&fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
			remove_tree(dirfd(dir), entry->d_name, depth + 1);
		}
	}
	closedir(dir);
	unlinkat(parent, name, AT_REMOVEDIR);
}

static bool abandoned(int parent, const char *name)
{
	struct stat info;
	_cleanup_close_ int fd =
		openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && fstat(fd, &info) == 0 && info.st_uid == geteuid() &&
	       info.st_ctime + YOUNG_S < time(NULL) && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

void workdir_sweep(void)
{
	DIR *dir = opendir(base_dir());

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 &&
		    abandoned(dirfd(dir), entry->d_name)) {
			remove_tree(dirfd(dir), entry->d_name, 0);
		}
	}
	if (dir) {
		closedir(dir);
	}
}

int workdir_make(char **ret_path, int *ret_fd, struct brig_error *err)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/" PREFIX "XXXXXX", base_dir()) < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	if (!mkdtemp(path)) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot make a directory in %s",
				   base_dir());
	}
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int r = error_errno(err, BRIG_E_SYSTEM, errno, "cannot hold %s", path);
		rmdir(path);
		return r;
	}
	*ret_path = TAKE_PTR(path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int make_parents(int dir, const char *name)
{
	char part[1024];

	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - name), name);
		if (mkdirat(dir, part, 0700) < 0 && errno != EEXIST) {
			return -errno;
		}
	}
	return 0;
}

static int copy_input(int dir, const struct spec_input *input)
{
	char chunk[16384];
	uint64_t at = 0;
	int r = make_parents(dir, input->name);

	if (r < 0) {
		return r;
	}
	_cleanup_close_ int fd =
		openat(dir, input->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       input->mode);
	if (fd < 0) {
		return -errno;
	}
	while (at < input->size) {
		size_t want = input->size - at < sizeof(chunk) ? (size_t)(input->size - at)
							       : sizeof(chunk);
		const char *from = (const char *)input->data + at;
		ssize_t n = (ssize_t)want;
		if (input->fd >= 0) {
			n = pread(input->fd, chunk, want, (off_t)at);
			from = chunk;
		}
		if (n <= 0 || write(fd, from, (size_t)n) != n) {
			return n == 0 ? -ESTALE : -errno;
		}
		at += (uint64_t)n;
	}
	return 0;
}

int workdir_fill(int dir, const struct spec_input *inputs, size_t count, struct brig_error *err)
{
	static const char cannot[] = "cannot fill the working directory";

	if (mkdirat(dir, "out", 0700) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, cannot);
	}
	for (size_t i = 0; i < count; i++) {
		int r = copy_input(dir, &inputs[i]);
		if (r < 0) {
			return error_errno(err, BRIG_E_SYSTEM, -r, cannot);
		}
	}
	return 0;
}

void workdir_remove(const char *path)
{
	if (path) {
		remove_tree(AT_FDCWD, path, 0);
	}
}
