/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the operator's runtimes/ directory. A runtime file decides which files of the host a cell
 * sees, so it must belong to root or to the user of brig, and no other user may be able to change
 * it.
 */
#include "runtime/config_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "broker_client/broker_client.h"

#define FILE_MAX  (1024 * 1024)
#define NAMES_MAX 256

static const char extension[] = ".json";

static int check_trust(const struct runtime_source *source, int fd, const char *what, bool want_dir,
		       struct brig_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "%s", what);
	}
	if (want_dir ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode)) {
		return error_set(err, BRIG_E_RUNTIME, EINVAL, "%s is not a regular %s", what,
				 want_dir ? "directory" : "file");
	}
	if (!owner_trusted(source->broker, fd, &st)) {
		error_set(err, BRIG_E_RUNTIME, EPERM, "%s belongs to user %u: not trusted", what,
			  (unsigned)st.st_uid);
		error_remedy(err, "chown root %s", what);
		return -EPERM;
	}
	if (st.st_mode & (S_IWGRP | S_IWOTH)) {
		error_set(err, BRIG_E_RUNTIME, EPERM, "%s is writable by other users: not trusted",
			  what);
		error_remedy(err, "chmod go-w %s", what);
		return -EPERM;
	}
	return 0;
}

static int cannot_open(const struct runtime_source *source, const char *what, int errnum,
		       struct brig_error *err)
{
	const char *remedy = owner_remedy(source->broker, errnum);

	error_errno(err, BRIG_E_RUNTIME, errnum, "%s/%s", source->config_dir, what);
	if (remedy) {
		error_remedy(err, "%s %s/%s", remedy, source->config_dir, what);
	}
	return -errnum;
}

static int open_folder(const struct runtime_source *source, int top, struct brig_error *err)
{
	char name[64];

	snprintf(name, sizeof(name), "runtimes/%s/", source->folder);
	_cleanup_close_ int fd =
		openat(top, source->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		return errno == ENOENT ? -ENOENT : cannot_open(source, name, errno, err);
	}
	int r = check_trust(source, fd, name, true, err);
	return r < 0 ? r : TAKE_FD(fd);
}

int config_dir_open(const struct runtime_source *source, struct brig_error *err)
{
	const char *config_dir = source->config_dir;
	_cleanup_close_ int config_fd = -1;
	_cleanup_close_ int fd = -1;
	int r;

	config_fd = open(config_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (config_fd >= 0) {
		fd = openat(config_fd, "runtimes", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (fd < 0) {
		return errno == ENOENT ? -ENOENT : cannot_open(source, "runtimes/", errno, err);
	}
	r = check_trust(source, fd, "runtimes/", true, err);
	return r < 0 ? r : source->folder ? open_folder(source, fd, err) : TAKE_FD(fd);
}

/* "python" of "python.json"; false for other files (such as those that editors leave). */
static bool name_of(const char *file, char name[NAME_MAX + 1])
{
	size_t size = strlen(file), tail = sizeof(extension) - 1;

	if (size <= tail || size > NAME_MAX || strcmp(file + size - tail, extension) != 0) {
		return false;
	}
	memcpy(name, file, size - tail);
	name[size - tail] = '\0';
	return id_name_valid(name);
}

static int compare(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static void close_dir(DIR **dir)
{
	if (*dir) {
		closedir(*dir);
	}
}

/* A separate stream: reading it does not move the caller's offset. */
static DIR *open_stream(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0) {
		(void)close(fd);
	}
	return dir;
}

int config_dir_names(int dir_fd, struct strlist *ret, struct brig_error *err)
{
	_cleanup_(close_dir)
	DIR *dir = open_stream(dir_fd);
	size_t first = ret->count;
	const struct dirent *entry;
	char name[NAME_MAX + 1];

	if (!dir) {
		return error_errno(err, BRIG_E_RUNTIME, errno, "runtimes/");
	}
	while ((entry = readdir(dir))) {
		if (!name_of(entry->d_name, name)) {
			continue;
		}
		if (ret->count - first >= NAMES_MAX) {
			return error_set(err, BRIG_E_RUNTIME, E2BIG,
					 "runtimes/ has more than %d files", NAMES_MAX);
		}
		if (strlist_add(ret, name) < 0) {
			return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "runtimes/");
		}
	}
	if (ret->count > first) {
		qsort(ret->items + first, ret->count - first, sizeof(ret->items[0]), compare);
	}
	return 0;
}

int config_file_read(const struct runtime_source *source, int dir_fd, const char *name,
		     struct buf *ret, struct brig_error *err)
{
	_cleanup_close_ int fd = -1;
	char file[NAME_MAX + 1], what[NAME_MAX + 16], chunk[4096];
	ssize_t n;
	int r;

	if ((size_t)snprintf(file, sizeof(file), "%s%s", name, extension) >= sizeof(file)) {
		return -ENOENT;
	}
	(void)snprintf(what, sizeof(what), "runtimes/%s", file);
	fd = openat(dir_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		return errno == ENOENT ? -ENOENT : cannot_open(source, what, errno, err);
	}
	r = check_trust(source, fd, what, false, err);
	if (r < 0) {
		return r;
	}
	while ((n = read(fd, chunk, sizeof(chunk))) > 0) {
		buf_add(ret, chunk, (size_t)n);
		if (ret->size > FILE_MAX) {
			return error_set(err, BRIG_E_RUNTIME, EFBIG, "%s is over 1M", what);
		}
	}
	if (n < 0 || ret->failed) {
		return error_errno(err, BRIG_E_SYSTEM, n < 0 ? errno : ENOMEM, "%s", what);
	}
	return 0;
}
