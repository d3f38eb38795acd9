/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listening sockets that the cell's init made in the cell's network. All that arrives there
 * comes from the cell.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gate/gate.h"

#define ACCEPTS_AT_ONCE 16

static void take_all(struct gate_listener *listener, void (*take)(struct gate *gate, int fd))
{
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0) {
			return;
		}
		take(listener->gate, fd);
	}
}

static void on_connection(void *user, uint32_t events)
{
	(void)events;
	take_all(user, connection_new);
}

static void on_dns_stream(void *user, uint32_t events)
{
	(void)events;
	take_all(user, dns_stream_new);
}

static int option(int fd, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, name, &value, &size) < 0 ? -1 : value;
}

/* In the order of GATE_LISTENERS. A socket of another kind breaks the protocol. */
static loop_ready *handler_of(unsigned index, int fd)
{
	int type = option(fd, SO_TYPE), domain = option(fd, SO_DOMAIN);

	if ((domain != AF_INET && domain != AF_INET6) ||
	    type != (index == 0 ? SOCK_DGRAM : SOCK_STREAM) ||
	    (index > 0 && option(fd, SO_ACCEPTCONN) != 1)) {
		return NULL;
	}
	return index == 0 ? gate_on_datagram : index == 1 ? on_dns_stream : on_connection;
}

int gate_listen(struct gate *gate, const int *fds, unsigned count)
{
	int r = count < 2 ? -EPROTO : 0;

	for (unsigned i = 0; i < count; i++) {
		struct gate_listener *listener = &gate->listeners[gate->listeners_count++];
		*listener = (struct gate_listener){ .gate = gate, .fd = fds[i] };
		loop_ready *ready = r == 0 ? handler_of(i, fds[i]) : NULL;
		if (r == 0) {
			r = ready ? loop_add(gate->loop, fds[i], EPOLLIN, ready, listener,
					     &listener->source)
				  : -EPROTO;
		}
	}
	return r;
}

void gate_listen_done(struct gate *gate)
{
	while (gate->listeners_count) {
		struct gate_listener *listener = &gate->listeners[--gate->listeners_count];
		loop_remove(listener->source);
		close_fd(&listener->fd);
	}
}
