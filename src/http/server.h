/* SPDX-License-Identifier: Apache-2.0 */
/* The server, internal to its own parts. */
#ifndef BRIG_HTTP_SERVER_H
#define BRIG_HTTP_SERVER_H

#include "http/http.h"
#include "http/message/body.h"
#include "http/peers.h"

#define SERVER_READ_BYTES 65536

struct http_connection;
struct http_listener;

/* In the order in which they were added. */
struct connection_queue {
	struct http_connection *first, *last;
};

struct http_server {
	struct loop *loop;
	struct http_server_options options; /* with all limits set */
	struct http_counts counts;
	struct body_pool bodies;
	struct peers peers;

	struct http_connection *connections; /* all */
	struct connection_queue idle, heads; /* subsets of them: see connections_evict() */

	struct http_listener *listeners;
	struct loop_timer resume; /* accepts again after the host was short of a resource */
	bool accept_paused;

	bool draining;
	void (*drained)(void *user);
	void *drained_user;

	/* The shared input buffer: a connection that waits needs none. */
	char input[SERVER_READ_BYTES];
};

/* A connection has ended: there is room for another, or a drain may be complete. */
void server_connection_ended(struct http_server *server);

void listeners_remove(struct http_server *server);
/* Accepts again, if it was paused. */
void listeners_resume(struct http_server *server);
#endif
