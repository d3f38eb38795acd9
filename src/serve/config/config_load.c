/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds serve.json, and fills in paths that are not set. The file decides who may run code here, so
 * it must belong to root or to the user who starts the service, and no other user may be able to
 * change it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/config_path.h"
#include "serve/config.h"

#define FILE_BYTES_MAX (1 << 20)
#define FILE_NAME      "serve.json"

static int check_trust(int fd, const char *path, mode_t kind, struct brig_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "%s", path);
	}
	if ((st.st_mode & S_IFMT) != kind) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "%s: not a %s", path,
				 kind == S_IFDIR ? "directory" : "regular file");
	}
	if (st.st_uid != 0 && st.st_uid != geteuid()) {
		error_set(err, BRIG_E_INPUT, EPERM,
			  "%s: owned by user %u, who could change how the service behaves", path,
			  (unsigned)st.st_uid);
		error_remedy(err, "chown %u %s", (unsigned)geteuid(), path);
		return -EPERM;
	}
	if (st.st_mode & (S_IWGRP | S_IWOTH)) {
		error_set(err, BRIG_E_INPUT, EPERM, "%s: others may write to it", path);
		error_remedy(err, "chmod go-w %s", path);
		return -EPERM;
	}
	return 0;
}

/* The directory itself: a user who can write to it can replace the file. */
static int open_parent(const char *path, struct brig_error *err)
{
	_cleanup_free_ char *parent = NULL;
	const char *slash = strrchr(path, '/');

	if (path[0] != '/' || !slash) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "%s: not an absolute path", path);
	}
	if (asprintf(&parent, "%.*s", slash == path ? 1 : (int)(slash - path), path) < 0) {
		parent = NULL;
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
	}
	_cleanup_close_ int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		return errno == ENOENT ? -ENOENT
				       : error_errno(err, BRIG_E_INPUT, errno, "%s", parent);
	}
	int r = check_trust(fd, parent, S_IFDIR, err);
	return r < 0 ? r : TAKE_FD(fd);
}

static int read_whole(int fd, const char *path, struct buf *ret, struct brig_error *err)
{
	char block[16384];
	ssize_t n;

	while ((n = read(fd, block, sizeof(block))) > 0) {
		buf_add(ret, block, (size_t)n);
		if (ret->size > FILE_BYTES_MAX) {
			return error_set(err, BRIG_E_INPUT, EFBIG, "%s: larger than 1M", path);
		}
	}
	explicit_bzero(block, sizeof(block));
	if (n < 0) {
		return error_errno(err, BRIG_E_INPUT, errno, "%s", path);
	}
	return ret->failed ? error_errno(err, BRIG_E_SYSTEM, ENOMEM, "%s", path) : 0;
}

/* Other users: neither root nor the service's own. A group may read a file that root gave to it. */
static int check_secret(int fd, const char *path, struct brig_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "%s", path);
	}
	if (!(st.st_mode & S_IRWXO) && (st.st_uid == 0 || !(st.st_mode & S_IRWXG))) {
		return 0;
	}
	error_set(err, BRIG_E_INPUT, EPERM, "%s: others may read it, and it is secret", path);
	error_remedy(err, "chmod 600 %s", path);
	return -EPERM;
}

static int read_file(const char *path, bool secret, struct buf *ret, struct brig_error *err)
{
	_cleanup_close_ int parent = open_parent(path, err);
	_cleanup_close_ int fd = -1;

	if (parent < 0) {
		return parent;
	}
	fd = openat(parent, strrchr(path, '/') + 1,
		    O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		return errno == ENOENT ? -ENOENT
				       : error_errno(err, BRIG_E_INPUT, errno, "%s", path);
	}
	int r = check_trust(fd, path, S_IFREG, err);
	r = r < 0 || !secret ? r : check_secret(fd, path, err);
	return r < 0 ? r : read_whole(fd, path, ret, err);
}

int config_file(const char *path, struct buf *ret, struct brig_error *err)
{
	return read_file(path, false, ret, err);
}

/* The link's directory is checked like the file's: no other user can have made the link. */
int config_file_linked(const char *path, bool secret, struct buf *ret, struct brig_error *err)
{
	_cleanup_close_ int parent = open_parent(path, err);
	_cleanup_free_ char *target = NULL;

	if (parent < 0) {
		return parent;
	}
	target = realpath(path, NULL);
	if (!target) {
		return errno == ENOENT ? -ENOENT
				       : error_errno(err, BRIG_E_INPUT, errno, "%s", path);
	}
	return read_file(target, secret, ret, err);
}

int config_load(struct serve_config *config, const char *directory, struct brig_error *err)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_(buf_done)
	struct buf text = { 0 };

	if (asprintf(&path, "%s/" FILE_NAME, directory) < 0) {
		path = NULL;
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, FILE_NAME);
	}
	int r = config_file(path, &text, err);
	if (r == -ENOENT) {
		return 0;
	}
	return r < 0 ? r
		     : config_read(config, path, text.data ? text.data : "", text.size, false, err);
}

/* --- paths ------------------------------------------------------------------------------- */

static int place_state(struct serve_config *config, struct brig_error *err)
{
	if (config->state_dir) {
		return 0;
	}
	config->state_dir = geteuid() == 0 ? strdup("/var/lib/brig")
					   : config_user_path("XDG_STATE_HOME", ".local/state");
	if (!config->state_dir) {
		error_set(err, BRIG_E_INPUT, ENOENT, "no directory for state: HOME is not set");
		error_remedy(err, "choose one: brig serve --state DIR");
		return -ENOENT;
	}
	return 0;
}

static int place_socket(struct serve_config *config, struct brig_error *err)
{
	_cleanup_free_ char *runtime = NULL;

	if (config->listen.count > 0) {
		return 0;
	}
	runtime = geteuid() == 0 ? strdup("/run/brig") : config_user_path("XDG_RUNTIME_DIR", NULL);
	int r = strlist_addf(&config->listen, "unix:%s/brig.sock",
			     runtime ? runtime : config->state_dir);
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "listen") : 0;
}

/* Names in the file are relative to the directory of the file. */
static int place_file(char **name, const char *base, struct brig_error *err)
{
	char *path = NULL;

	if (!*name || **name == '/') {
		return 0;
	}
	if (asprintf(&path, "%s/%s", base, *name) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "%s", *name);
	}
	free(*name);
	*name = path;
	return 0;
}

int config_paths(struct serve_config *config, const char *base, struct brig_error *err)
{
	int r = 0;

	if (!config->config_dir) {
		config->config_dir = config_path();
		r = config->config_dir ? 0 : error_errno(err, BRIG_E_SYSTEM, ENOMEM, "config_dir");
	}
	if (!config->dev) { /* a trial has its own directory */
		r = r < 0 ? r : place_state(config, err);
		r = r < 0 ? r : place_socket(config, err);
	}
	r = r < 0 ? r : place_file(&config->tokens, base, err);
	r = r < 0 ? r : place_file(&config->tls_certificate, base, err);
	return r < 0 ? r : place_file(&config->tls_key, base, err);
}
