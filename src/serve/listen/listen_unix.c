/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A unix socket that clients see only when it is complete: it gets its mode, group and queue under
 * another name first. An existing file is removed only if it is a socket that no process listens
 * on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "serve/account.h"
#include "serve/listen/listen_internal.h"

static int fill(struct sockaddr_un *address, const char *path, struct brig_error *err)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (path[0] != '/') {
		error_set(err, BRIG_E_INPUT, EINVAL, "listen: unix:%.200s is not absolute", path);
		error_remedy(err, "write the path from / on");
		return -EINVAL;
	}
	if (strlen(path) >= sizeof(address->sun_path)) {
		error_set(err, BRIG_E_INPUT, ENAMETOOLONG,
			  "listen: the path of a unix socket has at most %zu bytes: %.200s",
			  sizeof(address->sun_path) - 1, path);
		error_remedy(err, "choose a shorter one");
		return -ENAMETOOLONG;
	}
	memcpy(address->sun_path, path, strlen(path) + 1);
	return 0;
}

/*
 * The owner of the directory, and users that may write to it, can replace our socket with their own
 * and read what clients send. The sticky bit of a directory like /tmp prevents that.
 */
static int check_parent(const char *parent, struct brig_error *err)
{
	struct stat st;

	if (stat(parent, &st) < 0) {
		return error_errno(err, BRIG_E_INPUT, errno, "listen: %s", parent);
	}
	if (st.st_uid != 0 && st.st_uid != geteuid()) {
		error_set(err, BRIG_E_INPUT, EPERM,
			  "listen: %s is owned by user %u, who could take the socket's place",
			  parent, (unsigned)st.st_uid);
		error_remedy(err, "choose a directory of root's or your own: --listen unix:PATH");
		return -EPERM;
	}
	if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX)) {
		error_set(err, BRIG_E_INPUT, EPERM,
			  "listen: others may write to %s, and could take the socket's place",
			  parent);
		error_remedy(err, "chmod o-w %s", parent);
		return -EPERM;
	}
	return 0;
}

/* The last directory is created if it is missing: /run is empty after a boot. */
static int make_parent(const char *path, struct brig_error *err)
{
	_cleanup_free_ char *parent = NULL;
	const char *slash = strrchr(path, '/');

	if (!slash || slash == path) {
		return 0;
	}
	if (asprintf(&parent, "%.*s", (int)(slash - path), path) < 0) {
		parent = NULL;
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "listen on %s", path);
	}
	if (mkdir(parent, geteuid() == 0 ? 0755 : 0700) < 0 && errno != EEXIST) {
		return error_errno(err, BRIG_E_INPUT, errno, "listen: cannot make %s", parent);
	}
	return check_parent(parent, err);
}

/* 0: the path is free. */
static int clear_stale(const struct sockaddr_un *address, struct brig_error *err)
{
	const char *path = address->sun_path;
	struct stat st;

	if (lstat(path, &st) < 0) {
		return errno == ENOENT ? 0 : error_errno(err, BRIG_E_INPUT, errno, "%s", path);
	}
	if (!S_ISSOCK(st.st_mode)) {
		error_set(err, BRIG_E_INPUT, EEXIST, "%s is in the way and is no socket", path);
		error_remedy(err, "remove it, or listen elsewhere: --listen unix:PATH");
		return -EEXIST;
	}
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "socket");
	}
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
	    errno == ECONNREFUSED) {
		return 0;
	}
	error_set(err, BRIG_E_INPUT, EADDRINUSE, "another process listens on %s", path);
	error_remedy(err, "stop it, or listen elsewhere: --listen unix:PATH");
	return -EADDRINUSE;
}

static int set_access(const char *path, const struct serve_config *config, struct brig_error *err)
{
	gid_t group = (gid_t)-1;

	if (config->socket_group && account_group(config->socket_group, &group) < 0) {
		error_set(err, BRIG_E_INPUT, ENOENT, "socket_group: there is no group %s",
			  config->socket_group);
		error_remedy(err, "groupadd --system %s", config->socket_group);
		return -ENOENT;
	}
	if (group != (gid_t)-1 && chown(path, (uid_t)-1, group) < 0) {
		return error_errno(err, BRIG_E_INPUT, errno, "socket_group %s",
				   config->socket_group);
	}
	if (chmod(path, (mode_t)config->socket_mode) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "%s", path);
	}
	return 0;
}

/* Under a temporary name until it is complete. */
static int bind_hidden(int fd, const struct sockaddr_un *address, struct sockaddr_un *hidden,
		       struct brig_error *err)
{
	*hidden = (struct sockaddr_un){ .sun_family = AF_UNIX };
	const char *slash = strrchr(address->sun_path, '/');
	int n = snprintf(hidden->sun_path, sizeof(hidden->sun_path), "%.*s/.%x",
			 (int)(slash - address->sun_path), address->sun_path, (unsigned)getpid());
	if (n < 0 || (size_t)n >= sizeof(hidden->sun_path)) {
		return error_set(err, BRIG_E_INPUT, ENAMETOOLONG, "listen: %s is too long",
				 address->sun_path);
	}
	unlink(hidden->sun_path); /* left by a killed process with the same pid */
	mode_t mask = umask(0177);
	int r = bind(fd, (const struct sockaddr *)hidden, sizeof(*hidden)) < 0 ? -errno : 0;
	umask(mask);
	return r < 0 ? error_errno(err, BRIG_E_INPUT, -r, "listen on %s", address->sun_path) : 0;
}

static int publish(int fd, const struct sockaddr_un *hidden, const struct sockaddr_un *address,
		   const struct serve_config *config, struct brig_error *err)
{
	int r = set_access(hidden->sun_path, config, err);
	if (r < 0) {
		return r;
	}
	if (listen(fd, LISTEN_BACKLOG) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "listen on %s", address->sun_path);
	}
	r = clear_stale(address, err);
	if (r < 0) {
		return r;
	}
	if (rename(hidden->sun_path, address->sun_path) < 0) {
		return error_errno(err, BRIG_E_INPUT, errno, "listen on %s", address->sun_path);
	}
	return 0;
}

int listen_unix(struct listen_socket *listener, const char *path, const struct serve_config *config,
		struct brig_error *err)
{
	struct sockaddr_un address, hidden;
	struct stat st;
	int r = fill(&address, path, err);

	if (r < 0 || (r = make_parent(path, err)) < 0) {
		return r;
	}
	listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "socket");
	}
	r = bind_hidden(listener->fd, &address, &hidden, err);
	if (r < 0) {
		return r;
	}
	r = publish(listener->fd, &hidden, &address, config, err);
	if (r < 0) {
		unlink(hidden.sun_path);
		return r;
	}
	listener->path = strdup(path);
	if (asprintf(&listener->place, "unix:%s", path) < 0 || !listener->path ||
	    lstat(path, &st) < 0) {
		listener->place = NULL;
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "listen on %s", path);
	}
	listener->device = st.st_dev;
	listener->inode = st.st_ino;
	return 0;
}
