/* SPDX-License-Identifier: Apache-2.0 */
/* All listening sockets: see listen.h. */
#include "serve/listen/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/fdpass.h"
#include "serve/listen/listen_internal.h"

#define FIRST_PASSED 3 /* where systemd puts the first socket */
/* The front of a server that was killed still listens for a moment. */
#define BUSY_TRIES   40
#define BUSY_WAIT_NS 50000000

static int try_socket(struct listen_socket *listener, const char *text,
		      const struct serve_config *config, struct brig_error *err)
{
	*listener = (struct listen_socket){ .fd = -1 };
	if (strncmp(text, "unix:", 5) == 0) {
		return listen_unix(listener, text + 5, config, err);
	}
	if (text[0] == '/') {
		return listen_unix(listener, text, config, err);
	}
	return listen_tcp(listener, text, config, err);
}

static int open_socket(struct listen_socket *listener, const char *text,
		       const struct serve_config *config, struct brig_error *err)
{
	const struct timespec wait = { .tv_nsec = BUSY_WAIT_NS };
	int r = try_socket(listener, text, config, err);

	for (int i = 0; r == -EADDRINUSE && i < BUSY_TRIES; i++) {
		close_fd(&listener->fd);
		nanosleep(&wait, NULL);
		r = try_socket(listener, text, config, err);
	}
	return r;
}

/* The number of sockets that systemd has passed to this process. */
static unsigned passed_count(void)
{
	const char *pid = secure_getenv("LISTEN_PID");
	const char *fds = secure_getenv("LISTEN_FDS");
	uint64_t for_pid = 0, count = 0;

	if (!pid || !fds || unit_parse(UNIT_COUNT, pid, &for_pid) < 0 ||
	    unit_parse(UNIT_COUNT, fds, &count) < 0 || for_pid != (uint64_t)getpid()) {
		return 0;
	}
	return count > LISTENERS_MAX ? LISTENERS_MAX + 1 : (unsigned)count;
}

static int take_passed(struct listen_socket *listener, int fd, const struct serve_config *config,
		       struct brig_error *err)
{
	int type = 0, accepts = 0;
	socklen_t size = sizeof(type), accepts_size = sizeof(accepts);

	*listener = (struct listen_socket){ .fd = fd };
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &accepts_size) < 0 ||
	    type != SOCK_STREAM || !accepts) {
		listener->fd = -1;
		error_set(err, BRIG_E_INPUT, EINVAL,
			  "descriptor %d from systemd is not a listening stream socket", fd);
		error_remedy(err, "use ListenStream= and Accept=no in the socket unit");
		return -EINVAL;
	}
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "descriptor %d", fd);
	}
	return listen_check(listener, config, err);
}

static int open_passed(struct listeners *listeners, unsigned count,
		       const struct serve_config *config, struct brig_error *err)
{
	if (count > LISTENERS_MAX) {
		return error_set(err, BRIG_E_INPUT, E2BIG, "more than %d sockets from systemd",
				 LISTENERS_MAX);
	}
	for (unsigned i = 0; i < count; i++) {
		int r = take_passed(&listeners->items[listeners->count++], FIRST_PASSED + (int)i,
				    config, err);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/*
 * A caller that sends descriptors would let the service close them, and wait. The connections of a
 * listening socket have its setting.
 */
static int refuse_descriptors(const struct listeners *listeners, struct brig_error *err)
{
	for (unsigned i = 0; i < listeners->count; i++) {
		int r = fdpass_refuse(listeners->items[i].fd);
		if (r < 0) {
			return error_errno(err, BRIG_E_SYSTEM, -r, "listen on %s",
					   listeners->items[i].place);
		}
	}
	return 0;
}

int listeners_open(struct listeners *listeners, const struct serve_config *config,
		   struct brig_error *err)
{
	unsigned passed = passed_count();
	int r = 0;

	listeners->count = 0;
	listeners->tls = config->tls_certificate != NULL;
	if (passed > 0) {
		r = open_passed(listeners, passed, config, err);
	}
	for (size_t i = 0; r == 0 && passed == 0 && i < config->listen.count; i++) {
		r = open_socket(&listeners->items[listeners->count++], config->listen.items[i],
				config, err);
	}
	r = r < 0 ? r : refuse_descriptors(listeners, err);
	if (r < 0) {
		listeners_done(listeners);
	}
	return r;
}

/* Another server may have put its own socket there meanwhile. */
static void remove_file(const struct listen_socket *listener)
{
	struct stat st;

	if (listener->path && lstat(listener->path, &st) == 0 && st.st_dev == listener->device &&
	    st.st_ino == listener->inode) {
		unlink(listener->path);
	}
}

void listeners_done(struct listeners *listeners)
{
	for (unsigned i = 0; i < listeners->count; i++) {
		struct listen_socket *listener = &listeners->items[i];
		remove_file(listener);
		close_fd(&listener->fd);
		free(listener->place);
		free(listener->path);
	}
	listeners->count = 0;
}
