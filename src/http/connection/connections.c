/* SPDX-License-Identifier: Apache-2.0 */
/* All connections of a server: see connections.h. */
#include "http/connection/connections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "http/connection/budget.h"
#include "http/connection/exchange.h"
#include "http/message/answer.h"

#define EVICT_AGE_NS 100000000u

static void queue_leave(struct http_connection *c)
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

void connections_queue(struct http_connection *c, struct connection_queue *queue)
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
	struct http_connection *c = queue->first;

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

/* They are ordered by age: all that follow one that is too young are younger. */
static bool evict_of_peer(const struct connection_queue *queue, const struct peer *peer)
{
	uint64_t now = clock_now_ns();

	for (struct http_connection *c = queue->first; c && now - c->since_ns >= EVICT_AGE_NS;
	     c = c->queue_next) {
		if (c->peer == peer) {
			connection_end(c);
			return true;
		}
	}
	return false;
}

static bool has_room(struct http_server *server, const struct peer *peer)
{
	const struct http_limits *limits = &server->options.limits;

	if (peer->connections > limits->connections_per_peer) {
		return evict_of_peer(&server->idle, peer) || evict_of_peer(&server->heads, peer);
	}
	return server->counts.connections < limits->connections || connections_evict(server);
}

static int connection_new(struct http_server *server, int fd, const struct http_peer *who,
			  struct http_connection **ret)
{
	struct http_connection *c = calloc(1, sizeof(*c));

	if (!c) {
		return -ENOMEM;
	}
	*c = (struct http_connection){ .server = server, .byte_stream = { .fd = fd } };
	c->peer = peers_hold(&server->peers, who);
	int r = !c->peer ? -ENOMEM : has_room(server, c->peer) ? 0 : -EBUSY;
	if (r == 0 && server->options.tcp && !who->local) {
		r = byte_stream_open(&c->byte_stream, server->options.tcp);
	}
	r = r < 0 ? r : connection_start(c);
	if (r < 0) {
		byte_stream_forget(&c->byte_stream);
		peers_release(&server->peers, c->peer);
		free(c);
		return r;
	}
	*ret = c;
	return 0;
}

/* Nothing waits for the peer to read it: there is no room to keep the connection. */
static void turn_away(struct http_server *server, int fd)
{
	const struct http_server_options *options = &server->options;
	_cleanup_free_ char *problem =
		options->problem ? options->problem(options->user, 503,
						    "there are too many connections, or too many "
						    "of yours (http.connections_per_peer)")
				 : NULL;
	struct answer_form form = { .status = 503,
				    .content_type = "application/problem+json",
				    .length = problem ? strlen(problem) : 0,
				    .close = true };
	struct buf text = { 0 }, headers = { 0 };

	answer_add(&headers, "Retry-After", "1");
	answer_head(&text, &form, &headers);
	buf_adds(&text, problem ? problem : "");
	if (!text.failed) {
		(void)send(fd, text.data, text.size, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	buf_done(&headers);
	buf_done(&text);
}

void connections_accept(struct http_server *server, int fd)
{
	struct http_peer who;
	struct http_connection *c = NULL;
	int r = peers_identify(fd, &who);

	r = r < 0 ? r : connection_new(server, fd, &who, &c);
	if (r < 0) {
		if (r == -EBUSY) {
			turn_away(server, fd);
		}
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
	connection_enter(c, c->byte_stream.transport ? CONNECTION_OPENING : CONNECTION_IDLE);
}

void connection_end(struct http_connection *c)
{
	struct http_server *server = c->server;

	*(c->previous ? &c->previous->next : &server->connections) = c->next;
	if (c->next) {
		c->next->previous = c->previous;
	}
	connection_enter(c, CONNECTION_BROKEN);
	loop_timer_clear(&c->timer);
	loop_remove(c->source);
	byte_stream_done(&c->byte_stream);
	struct exchange *x = c->exchange;
	budget_charge(c, NULL);
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
