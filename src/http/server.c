/* SPDX-License-Identifier: Apache-2.0 */
/* The server as a whole: start, counts, end. */
#include "http/server.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "http/connection/connections.h"
#include "http/http_limits.h"

int http_server_new(struct loop *loop, const struct http_server_options *options,
		    struct http_server **ret)
{
	if (!options->handle) {
		return -EINVAL;
	}
	struct http_server *server = calloc(1, sizeof(*server));
	if (!server) {
		return -ENOMEM;
	}
	server->loop = loop;
	server->options = *options;
	limits_complete(&server->options.limits);
	server->bodies.limit = server->options.limits.bodies_bytes;
	*ret = server;
	return 0;
}

void http_server_counts(const struct http_server *server, struct http_counts *ret)
{
	*ret = server->counts;
}

void server_connection_ended(struct http_server *server)
{
	listeners_resume(server);
	if (server->draining && !server->connections && server->drained) {
		void (*drained)(void *user) = TAKE_PTR(server->drained);
		drained(server->drained_user);
	}
}

void http_server_drain(struct http_server *server, void (*done)(void *user), void *user)
{
	listeners_remove(server);
	server->draining = true;
	for (struct http_connection *c = server->connections; c;) {
		struct http_connection *next = c->next;
		if (!c->busy &&
		    connection_in(c, STATE_BIT(CONNECTION_OPENING) | STATE_BIT(CONNECTION_IDLE))) {
			connection_end(c);
		}
		c = next;
	}
	if (!server->connections) {
		done(user);
		return;
	}
	server->drained = done;
	server->drained_user = user;
}

void http_bodies_keep(struct http_server *server, struct http_budget *budget, size_t size)
{
	if (server) {
		server->bodies.used += size;
	}
	if (budget) {
		budget->bodies += size;
	}
}

void http_bodies_give(struct http_server *server, struct http_budget *budget, size_t size)
{
	if (server) {
		server->bodies.used -= size;
	}
	if (budget) {
		budget->bodies -= size;
	}
}

void http_server_free(struct http_server *server)
{
	if (!server) {
		return;
	}
	server->drained = NULL;
	listeners_remove(server);
	while (server->connections) {
		connection_end(server->connections);
	}
	free(server);
}
