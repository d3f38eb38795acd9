/* All connections of a server: see connections.h. */
#include "http/connections.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "http/exchange.h"

#define EVICT_AGE_NS 100000000u

static void queue_leave(struct connection *c)
{
	struct connection_queue *queue = c->queue;

	if (!queue) {
		return;
	}
	*(c->queue_previous ? &c->queue_previous->queue_next : &queue->first) = c->queue_next;
	*(c->queue_next ? &c->queue_next->queue_previous : &queue->last) = c->queue_previous;
	c->queue = NULL;
	c->queue_previous = c->queue_next = NULL;
}

void connections_queue(struct connection *c, struct connection_queue *queue)
{
	queue_leave(c);
	if (!queue) {
		return;
	}
	c->queue = queue;
	c->queue_previous = queue->last;
	*(queue->last ? &queue->last->queue_next : &queue->first) = c;
	queue->last = c;
}

static bool evict_first(const struct connection_queue *queue)
{
	struct connection *c = queue->first;

	if (!c || clock_now_ns() - c->since_ns < EVICT_AGE_NS) {
		return false;
	}
	connection_end(c);
	return true;
}

bool connections_evict(struct http_server *server)
{
	return evict_first(&server->idle) || evict_first(&server->heads);
}

static bool has_room(struct http_server *server, const struct peer *peer)
{
	const struct http_limits *limits = &server->options.limits;

	if (limits->connections_per_peer && peer->connections > limits->connections_per_peer) {
		return false;
	}
	return server->counts.connections < limits->connections || connections_evict(server);
}

static int connection_new(struct http_server *server, int fd, const struct http_peer *who,
			  struct connection **ret)
{
	struct connection *c = calloc(1, sizeof(*c));

	if (!c) {
		return -ENOMEM;
	}
	*c = (struct connection){ .server = server, .carrier = { .fd = fd } };
	c->peer = peers_hold(&server->peers, who);
	int r = !c->peer ? -ENOMEM : has_room(server, c->peer) ? 0 : -EBUSY;
	if (r == 0 && server->options.tcp && !who->local) {
		r = carrier_open(&c->carrier, server->options.tcp);
	}
	r = r < 0 ? r : connection_start(c);
	if (r < 0) {
		carrier_forget(&c->carrier);
		peers_release(&server->peers, c->peer);
		free(c);
		return r;
	}
	*ret = c;
	return 0;
}

void connections_accept(struct http_server *server, int fd)
{
	struct http_peer who;
	struct connection *c = NULL;

	if (peers_look(fd, &who) < 0 || connection_new(server, fd, &who, &c) < 0) {
		close(fd);
		return;
	}
	c->next = server->connections;
	if (c->next) {
		c->next->previous = c;
	}
	server->connections = c;
	server->counts.connections++;
	server->counts.accepted++;
	connection_enter(c, c->carrier.transport ? CONNECTION_OPENING : CONNECTION_IDLE);
}

void connection_end(struct connection *c)
{
	struct http_server *server = c->server;

	*(c->previous ? &c->previous->next : &server->connections) = c->next;
	if (c->next) {
		c->next->previous = c->previous;
	}
	connections_queue(c, NULL);
	loop_timer_clear(&c->timer);
	loop_remove(c->source);
	if (c->state == CONNECTION_IDLE) {
		/* All was answered. It is tried once; what was cut off must not look like it. */
		(void)carrier_end(&c->carrier);
	}
	carrier_done(&c->carrier);
	struct exchange *x = c->exchange;
	outbox_done(&c->outbox);
	free(c->stash);
	peers_release(&server->peers, c->peer);
	free(c);
	if (x) {
		exchange_abandon(x);
	}
	server->counts.connections--;
	server_connection_ended(server);
}
