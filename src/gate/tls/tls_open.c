/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections whose TLS is opened. First the cell's end: then the program's request can be read,
 * and is inspected like one in clear. Only for an accepted request is the host connected to; only
 * after the host has proved its identity is anything sent there, above all the credential.
 */
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "gate/connection/connection.h"

#define CLOSE_TIMEOUT_NS 2000000000ull

/* Waits until the connection's last bytes are sent, but not for ever. */
static void on_close_timeout(void *user)
{
	connection_free(user);
}

static void on_inside_changed(void *user)
{
	struct cell_connection *c = user;

	if (c->state == CONNECTION_CLOSING) {
		if (c->in_end->failed || c->in_end->flushed) {
			connection_free(c);
		}
	} else if (c->in_end->failed && c->state == CONNECTION_INSPECTING) {
		c->record.cause = c->in_end->cause;
		connection_end(c, GATE_REFUSED_PROTOCOL);
	} else if (c->in_end->failed) {
		connection_end(c, GATE_ALLOWED);
	} else if (connection_passes(c)) {
		connection_step(c);
	}
}

void connection_open_inside(struct cell_connection *c)
{
	struct tls_end_options options = {
		.host = c->record.host,
		.wire = TAKE_FD(c->inside),
		.first = c->first.data,
		.first_size = c->first.size,
		.changed = on_inside_changed,
		.user = c,
	};

	socket_watch_done(&c->in_watch);
	int r = c->gate->opener->accept(c->gate, &options, &c->in_end, &c->inside);
	buf_done(&c->first);
	if (r < 0) {
		connection_end(c, GATE_UNREACHABLE);
		return;
	}
	c->protocol = NET_HTTP;
	connection_wait(c);
}

static void on_outside_changed(void *user)
{
	struct cell_connection *c = user;

	if (c->out_end->failed && c->state == CONNECTION_HANDSHAKE) {
		c->record.cause = c->out_end->cause;
		connection_end(c, c->record.cause ? GATE_REFUSED_PEER : GATE_UNREACHABLE);
	} else if (c->out_end->failed) {
		connection_end(c, GATE_ALLOWED);
	} else if (c->out_end->open && c->state == CONNECTION_HANDSHAKE) {
		connection_pass(c);
	}
}

void connection_open_outside(struct cell_connection *c)
{
	struct tls_end_options options = {
		.host = c->record.host,
		.wire = TAKE_FD(c->outside),
		.changed = on_outside_changed,
		.user = c,
	};

	socket_watch_done(&c->out_watch);
	cell_connection_enter(c, CONNECTION_HANDSHAKE);
	if (c->gate->opener->connect(c->gate, &options, &c->out_end, &c->outside) < 0) {
		connection_end(c, GATE_UNREACHABLE);
		return;
	}
	/* A response that the host has cut off must not look complete to the program. */
	c->gate->opener->follow(c->in_end, c->out_end);
	connection_wait(c);
}

void connection_close_gracefully(struct cell_connection *c)
{
	socket_watch_done(&c->in_watch);
	socket_watch_done(&c->out_watch);
	loop_timer_clear(&c->timer);
	lookup_free(TAKE_PTR(c->lookup));
	c->gate->opener->follow(c->in_end, NULL);
	c->gate->opener->free(TAKE_PTR(c->out_end), true);
	cell_connection_enter(c, CONNECTION_CLOSING);
	(void)shutdown(c->inside, SHUT_WR);
	c->timer = (struct loop_timer){ .due = on_close_timeout, .user = c };
	if (loop_timer_set(c->gate->loop, &c->timer, clock_now_ns() + CLOSE_TIMEOUT_NS) < 0) {
		connection_free(c);
	}
}
