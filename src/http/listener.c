/* SPDX-License-Identifier: Apache-2.0 */
/* Accepting connections. A host that is short of descriptors makes it pause, not fail. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "http/connection/connections.h"

#define ACCEPT_AT_ONCE 64
#define PAUSE_NS       100000000u

struct http_listener {
	struct http_server *server;
	struct loop_source *source;
	int fd; /* the caller's */
	struct http_listener *next;
};

static void set_accepting(struct http_server *server, bool accepting)
{
	for (struct http_listener *listener = server->listeners; listener;
	     listener = listener->next) {
		loop_change(listener->source, accepting ? EPOLLIN : 0);
	}
	server->accept_paused = !accepting;
}

void listeners_resume(struct http_server *server)
{
	if (server->accept_paused) {
		loop_timer_clear(&server->resume);
		set_accepting(server, true);
	}
}

static void resume(void *user)
{
	listeners_resume(user);
}

static void pause_accepting(struct http_server *server)
{
	server->resume.due = resume;
	server->resume.user = server;
	if (loop_timer_set(server->loop, &server->resume, clock_now_ns() + PAUSE_NS) == 0) {
		set_accepting(server, false);
	}
}

/* False: nothing more to accept now. */
static bool accept_one(struct http_listener *listener)
{
	static const int on = 1;
	int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0) {
		/*
		 * Answers are written whole: waiting for more only delays them. Keepalive detects
		 * peers that vanish. Neither has an effect on a unix socket.
		 */
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
		connections_accept(listener->server, fd);
		return true;
	}
	switch (errno) {
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
		if (!connections_evict(listener->server)) {
			pause_accepting(listener->server);
			return false;
		}
		return true;
	case EAGAIN:
	case EBADF:
	case EINVAL:
		return false;
	default: /* an error of one connection that is gone already */
		return true;
	}
}

static void ready(void *user, uint32_t events)
{
	(void)events;
	for (unsigned i = 0; i < ACCEPT_AT_ONCE && accept_one(user); i++) {
	}
}

int http_server_listen(struct http_server *server, int socket)
{
	int flags = fcntl(socket, F_GETFL);

	if (flags < 0 || fcntl(socket, F_SETFL, flags | O_NONBLOCK) < 0) {
		return -errno;
	}
	struct http_listener *listener = calloc(1, sizeof(*listener));
	if (!listener) {
		return -ENOMEM;
	}
	*listener =
		(struct http_listener){ .server = server, .fd = socket, .next = server->listeners };
	int r = loop_add(server->loop, socket, EPOLLIN, ready, listener, &listener->source);
	if (r < 0) {
		free(listener);
		return r;
	}
	server->listeners = listener;
	return 0;
}

void listeners_remove(struct http_server *server)
{
	loop_timer_clear(&server->resume);
	while (server->listeners) {
		struct http_listener *listener = server->listeners;
		server->listeners = listener->next;
		loop_remove(listener->source);
		free(listener);
	}
}
