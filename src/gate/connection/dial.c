/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a host to a connected socket. The addresses are resolved once; each is checked; the address
 * that was checked is the one that is connected to.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "gate/connection/connection.h"

#define DIAL_TIMEOUT_NS 15000000000ull
/*
 * The kernel's memory for a connection is charged to no cgroup, and grows to many megabytes in each
 * direction when one side is fast and the other does not read. So a few connections at a time,
 * enough for usual programs, are as fast as the host allows; the others have bounded buffers.
 */
#define WIDE_MAX     4
#define BUFFER_BYTES (256 << 10) /* the kernel takes twice that, with its own overhead */

static bool is_permitted(const struct cell_connection *c, const struct net_address *address)
{
	enum net_class class = net_classify(address);

	if (class == NET_PUBLIC && !c->rule->local &&
	    net_address_is_own(c->gate->routes, address)) {
		class = NET_LOCAL;
	}
	return net_rule_permits(c->rule, address, class);
}

static void bound_buffers(struct cell_connection *c)
{
	int size = BUFFER_BYTES;

	if (!c->wide && c->gate->wide < WIDE_MAX) {
		c->wide = true;
		c->gate->wide++;
	}
	if (!c->wide) {
		(void)setsockopt(c->outside, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
		(void)setsockopt(c->outside, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	}
}

static int dial(struct cell_connection *c, const struct net_address *address)
{
	struct sockaddr_storage to;
	socklen_t size = net_address_to(address, (uint16_t)c->record.port, &to);

	c->outside = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->outside < 0) {
		return -errno;
	}
	bound_buffers(c);
	net_address_format(address, c->record.address);
	if (connect(c->outside, (struct sockaddr *)&to, size) < 0 && errno != EINPROGRESS) {
		int r = -errno;
		close_fd(&c->outside);
		return r;
	}
	return 0;
}

static void dial_next(struct cell_connection *c)
{
	while (c->tried < c->addresses.count) {
		const struct net_address *address = &c->addresses.addresses[c->tried++];
		if (!is_permitted(c, address)) {
			c->forbidden = true;
			net_address_format(address, c->record.address);
			continue;
		}
		if (dial(c, address) == 0) {
			cell_connection_enter(c, CONNECTION_DIALLING);
			connection_wait(c);
			return;
		}
	}
	connection_end(c, c->forbidden              ? GATE_REFUSED_ADDRESS
			  : c->addresses.count == 0 ? GATE_UNRESOLVED
						    : GATE_UNREACHABLE);
}

static void on_resolved(void *user, const struct resolved *result)
{
	struct cell_connection *c = user;

	c->addresses = *result;
	lookup_free(TAKE_PTR(c->lookup));
	dial_next(c);
}

static void on_timeout(void *user)
{
	connection_end(user, GATE_UNREACHABLE);
}

void connection_resolve(struct cell_connection *c)
{
	loop_timer_clear(&c->timer);
	cell_connection_enter(c, CONNECTION_RESOLVING);
	c->timer = (struct loop_timer){ .due = on_timeout, .user = c };
	if (loop_timer_set(c->gate->loop, &c->timer, clock_now_ns() + DIAL_TIMEOUT_NS) < 0) {
		connection_end(c, GATE_UNREACHABLE);
		return;
	}
	if (!c->named) {
		c->addresses = (struct resolved){ .addresses = { c->target }, .count = 1 };
		dial_next(c);
		return;
	}
	if (lookup_start(&c->gate->resolver, c->record.host, on_resolved, c, &c->lookup) < 0) {
		connection_end(c, GATE_UNRESOLVED);
		return;
	}
	connection_wait(c);
}

void connection_dialled(struct cell_connection *c)
{
	int failure = 0;
	socklen_t size = sizeof(failure);

	if (getsockopt(c->outside, SOL_SOCKET, SO_ERROR, &failure, &size) < 0 || failure) {
		socket_watch_done(&c->out_watch);
		close_fd(&c->outside);
		dial_next(c);
		return;
	}
	if (c->opened) {
		connection_open_outside(c);
	} else {
		connection_pass(c);
	}
}
