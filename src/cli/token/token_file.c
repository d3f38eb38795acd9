/* SPDX-License-Identifier: Apache-2.0 */
/* Changes the token file. */
#include "cli/token/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/json/json_in.h"

#define BYTES_MAX  (1u << 20)
#define LOCK_TRIES 16

static int read_file(int fd, const char *path, struct buf *ret, struct brig_error *err)
{
	char chunk[16384];
	struct stat info;
	ssize_t n;

	if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode)) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "%s is not a regular file", path);
	}
	if ((info.st_mode & 022) || (info.st_uid != geteuid() && info.st_uid != 0)) {
		error_set(err, BRIG_E_INPUT, EPERM, "%s is writable by other users", path);
		error_remedy(err, "chmod 600 %s, and check its owner", path);
		return -EPERM;
	}
	while ((n = read(fd, chunk, sizeof(chunk))) > 0 && ret->size <= BYTES_MAX) {
		buf_add(ret, chunk, (size_t)n);
	}
	return n < 0 || ret->failed || ret->size > BYTES_MAX
		       ? error_set(err, BRIG_E_INPUT, EIO, "cannot read %s", path)
		       : 0;
}

static int load(int fd, const char *path, json_t **ret, struct brig_error *err)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };
	_cleanup_(json_doc_done)
	struct json_doc doc = { 0 };
	int r = read_file(fd, path, &text, err);

	if (r < 0) {
		return r;
	}
	if (text.size == 0) {
		*ret = json_pack("{s:[]}", "tokens");
		return *ret ? 0 : error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	r = json_doc_load(&doc, path, text.data, text.size, err);
	if (r < 0) {
		return r;
	}
	if (!json_is_array(json_object_get(doc.root, "tokens"))) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "%s has no list \"tokens\"", path);
	}
	*ret = json_incref(doc.root);
	return 0;
}

static int append(json_t *root, json_t *entry, const char *path, struct brig_error *err)
{
	json_t *list = json_object_get(root, "tokens");
	const char *name = json_string_value(json_object_get(entry, "name"));
	json_t *item;
	size_t index;

	json_array_foreach(list, index, item)
	{
		const char *other = json_string_value(json_object_get(item, "name"));
		if (other && strcmp(other, name) == 0) {
			error_set(err, BRIG_E_INPUT, EEXIST, "%s already has a token %s", path,
				  name);
			error_remedy(err,
				     "remove it with brig token revoke %s --file %s, or choose "
				     "another name",
				     name, path);
			return -EEXIST;
		}
	}
	return json_array_append(list, entry) < 0
		       ? error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory")
		       : 0;
}

/* Keeps group and mode: the service's own user must be able to read the new file. */
static int keep_access(int old, int fd)
{
	struct stat info;

	if (fstat(old, &info) < 0 || fchown(fd, info.st_uid, info.st_gid) < 0 ||
	    fchmod(fd, info.st_mode & 0644) < 0) {
		return -errno;
	}
	return 0;
}

/* Written under another name first, then renamed over the old file. */
static int replace(int old, const char *path, json_t *root, struct brig_error *err)
{
	_cleanup_free_ char *text = json_dumps(root, JSON_INDENT(2));
	_cleanup_free_ char *other = NULL;

	if (!text || asprintf(&other, "%s.new", path) < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	unlink(other);
	_cleanup_close_ int fd =
		open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	size_t size = strlen(text);
	bool written = fd >= 0 && write(fd, text, size) == (ssize_t)size &&
		       write(fd, "\n", 1) == 1 && keep_access(old, fd) == 0 && fsync(fd) == 0;
	if (!written || rename(other, path) < 0) {
		int r = error_errno(err, BRIG_E_SYSTEM, errno, "cannot write %s", path);
		unlink(other);
		return r;
	}
	return 0;
}

/* All of that name: none of them may stay valid. */
static int take_out(json_t *root, const char *name, const char *path, struct brig_error *err)
{
	json_t *list = json_object_get(root, "tokens");
	size_t before = json_array_size(list);

	for (size_t i = before; i-- > 0;) {
		json_t *entry = json_array_get(list, i);
		const char *other = json_string_value(json_object_get(entry, "name"));

		if (other && strcmp(other, name) == 0) {
			json_array_remove(list, i);
		}
	}
	if (json_array_size(list) < before) {
		return 0;
	}
	error_set(err, BRIG_E_INPUT, ENOENT, "%s has no token %s", path, name);
	error_remedy(err, "brig token list --file %s shows them", path);
	return -ENOENT;
}

/* The previous holder of the lock may have replaced the file. */
static bool is_in_place(int fd, const char *path)
{
	struct stat ours, named;

	return fstat(fd, &ours) == 0 && lstat(path, &named) == 0 && ours.st_dev == named.st_dev &&
	       ours.st_ino == named.st_ino;
}

/* Two concurrent changes must not lose each other: a revoked token stays revoked. */
static int open_locked(const char *path, int flags, struct brig_error *err)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		_cleanup_close_ int fd =
			open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600);

		if (fd < 0) {
			return error_errno(err, BRIG_E_INPUT, errno, "cannot open %s", path);
		}
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			return error_errno(err, BRIG_E_INPUT, errno,
					   "%s is locked by another process", path);
		}
		if (is_in_place(fd, path)) {
			return TAKE_FD(fd);
		}
	}
	return error_errno(err, BRIG_E_INPUT, EBUSY, "%s is locked by another process", path);
}

int token_file_read(const char *path, json_t **ret, struct brig_error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd < 0 ? error_errno(err, BRIG_E_INPUT, errno, "cannot open %s", path)
		      : load(fd, path, ret, err);
}

int token_file_remove(const char *path, const char *name, struct brig_error *err)
{
	json_auto_t *root = NULL;
	_cleanup_close_ int fd = open_locked(path, 0, err);

	if (fd < 0) {
		return fd;
	}
	int r = load(fd, path, &root, err);
	if (r < 0) {
		return r;
	}
	r = take_out(root, name, path, err);
	return r < 0 ? r : replace(fd, path, root, err);
}

int token_file_add(const char *path, json_t *entry, struct brig_error *err)
{
	json_auto_t *root = NULL;
	_cleanup_close_ int fd = open_locked(path, O_CREAT, err);

	if (fd < 0) {
		return fd;
	}
	int r = load(fd, path, &root, err);
	if (r < 0) {
		return r;
	}
	r = append(root, entry, path, err);
	return r < 0 ? r : replace(fd, path, root, err);
}
