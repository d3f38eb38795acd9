/* SPDX-License-Identifier: Apache-2.0 */
/* The service's socket: see warm_socket.h. */
#include "cli/warm/warm_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "thin/warm_message.h"

#define BACKLOG      64
#define FIRST_PASSED 3 /* where systemd puts it */

static int runtime_directory(char *path, size_t room, struct brig_error *err)
{
	const char *given = getenv("XDG_RUNTIME_DIR");
	int n = given && given[0] == '/'
			? snprintf(path, room, "%s", given)
			: snprintf(path, room, "/run/user/%u", (unsigned)geteuid());

	if (n < 0 || (size_t)n >= room) {
		return error_set(err, BRIG_E_HOST, ENAMETOOLONG, "XDG_RUNTIME_DIR is too long");
	}
	return 0;
}

int warm_socket_name(struct sockaddr_un *ret, struct brig_error *err)
{
	char directory[sizeof(ret->sun_path)];
	int r = runtime_directory(directory, sizeof(directory), err);

	if (r < 0) {
		return r;
	}
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	int n = snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/%s/%s", directory,
			 WARM_DIRECTORY, WARM_SOCKET);
	if (n < 0 || (size_t)n >= sizeof(ret->sun_path)) {
		r = error_set(err, BRIG_E_HOST, ENAMETOOLONG, "XDG_RUNTIME_DIR is too long");
		error_remedy(err, "name a directory with a shorter path");
	}
	return r;
}

static int bad_directory(const char *runtime, uid_t owner, struct brig_error *err)
{
	int r = error_set(err, BRIG_E_HOST, EACCES, "%s has a directory %s that is not yours alone",
			  runtime, WARM_DIRECTORY);

	if (owner == geteuid()) {
		error_remedy(err, "make it yours alone: chmod 700 %s/%s", runtime, WARM_DIRECTORY);
	} else {
		error_remedy(err, "set XDG_RUNTIME_DIR to a directory that only you can use");
	}
	return r;
}

/* The directory of the socket, by a descriptor, and nobody else's. */
static int open_directory(const char *runtime, struct brig_error *err)
{
	struct stat info;
	_cleanup_close_ int above = open(runtime, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (above < 0) {
		int r = error_errno(err, BRIG_E_HOST, errno, "the runtime directory %s", runtime);
		error_remedy(err, "set XDG_RUNTIME_DIR to a directory that only you can use");
		return r;
	}
	if (mkdirat(above, WARM_DIRECTORY, 0700) < 0 && errno != EEXIST) {
		return error_errno(err, BRIG_E_HOST, errno, "cannot make %s/%s", runtime,
				   WARM_DIRECTORY);
	}
	_cleanup_close_ int directory =
		openat(above, WARM_DIRECTORY, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (directory < 0 || fstat(directory, &info) < 0) {
		return error_errno(err, BRIG_E_HOST, errno, "%s/%s", runtime, WARM_DIRECTORY);
	}
	if (info.st_uid != geteuid() || (info.st_mode & 022)) {
		return bad_directory(runtime, info.st_uid, err);
	}
	return TAKE_FD(directory);
}

/* A socket on which nobody listens is left from a service that was killed. */
static bool is_dead(const struct sockaddr_un *name)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd >= 0 && connect(fd, (const struct sockaddr *)name, sizeof(*name)) < 0 &&
	       errno == ECONNREFUSED;
}

int warm_socket_listen(struct sockaddr_un *ret_name, struct brig_error *err)
{
	char runtime[sizeof(ret_name->sun_path)];
	int r = runtime_directory(runtime, sizeof(runtime), err);

	r = r < 0 ? r : warm_socket_name(ret_name, err);
	if (r < 0) {
		return r;
	}
	_cleanup_close_ int directory = open_directory(runtime, err);
	if (directory < 0) {
		return directory;
	}
	/* Nobody else can put another name there meanwhile: the directory is ours. */
	if (is_dead(ret_name)) {
		unlinkat(directory, WARM_SOCKET, 0);
	}
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t before = umask(0177);
	r = fd < 0 || bind(fd, (const struct sockaddr *)ret_name, sizeof(*ret_name)) < 0 ? -errno
											 : 0;
	umask(before);
	if (r == -EADDRINUSE) {
		error_set(err, BRIG_E_HOST, EADDRINUSE, "a warm service listens on %s already",
			  ret_name->sun_path);
		error_remedy(err, "brig warm status shows it, brig warm stop ends it");
		return r;
	}
	if (r < 0 || listen(fd, BACKLOG) < 0) {
		return error_errno(err, BRIG_E_HOST, r < 0 ? -r : errno, "cannot listen on %s",
				   ret_name->sun_path);
	}
	return TAKE_FD(fd);
}

int warm_socket_passed(void)
{
	const char *pid = secure_getenv("LISTEN_PID"), *fds = secure_getenv("LISTEN_FDS");
	uint64_t for_pid = 0, count = 0;
	int type = 0, family = 0;
	socklen_t size = sizeof(type), family_size = sizeof(family);

	if (!pid || !fds || unit_parse(UNIT_COUNT, pid, &for_pid) < 0 ||
	    unit_parse(UNIT_COUNT, fds, &count) < 0 || for_pid != (uint64_t)getpid() ||
	    count != 1) {
		return -1;
	}
	if (getsockopt(FIRST_PASSED, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
	    getsockopt(FIRST_PASSED, SOL_SOCKET, SO_DOMAIN, &family, &family_size) < 0 ||
	    type != SOCK_SEQPACKET || family != AF_UNIX) {
		return -1;
	}
	/* Again: from now on clients see this process as their peer, and not systemd. */
	if (fcntl(FIRST_PASSED, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(FIRST_PASSED, F_SETFL, O_NONBLOCK) < 0 || listen(FIRST_PASSED, BACKLOG) < 0) {
		return -1;
	}
	return FIRST_PASSED;
}

int warm_socket_connect(pid_t *ret_pid, struct brig_error *err)
{
	struct sockaddr_un name;
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	int r = warm_socket_name(&name, err);

	if (r < 0) {
		return r;
	}
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&name, sizeof(name)) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
		r = error_errno(err, BRIG_E_HOST, errno, "no warm service answers at %s",
				name.sun_path);
		error_remedy(err, "start one: brig warm start");
		return r;
	}
	if (peer.uid != geteuid()) {
		r = error_set(err, BRIG_E_HOST, EPERM, "the service at %s is of user %u, not yours",
			      name.sun_path, (unsigned)peer.uid);
		error_remedy(err,
			     "brig run does not use it; check who may write to that directory");
		return r;
	}
	*ret_pid = peer.pid;
	return TAKE_FD(fd);
}
