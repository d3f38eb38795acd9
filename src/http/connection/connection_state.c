/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a connection: which state follows which. */
#include "http/connection/connections.h"
#include "http/connection/timeouts.h"

#define BIT(name) STATE_BIT(CONNECTION_##name)

static const uint32_t connection_edges[CONNECTION_STATES] = {
	[CONNECTION_ACCEPTED] = BIT(OPENING) | BIT(IDLE),
	/* A handshake that failed: without an answer, or with one if the peer speaks plain HTTP. */
	[CONNECTION_OPENING] =
		BIT(IDLE) | BIT(FLUSHING) | BIT(ENDING) | BIT(LINGERING) | BIT(BROKEN),
	/* One read may bring a whole head, or a whole request. */
	[CONNECTION_IDLE] = BIT(HEAD) | BIT(BODY) | BIT(WORKING) | BIT(FLUSHING) | BIT(BROKEN),
	[CONNECTION_HEAD] = BIT(BODY) | BIT(WORKING) | BIT(FLUSHING) | BIT(BROKEN),
	[CONNECTION_BODY] = BIT(WORKING) | BIT(FLUSHING) | BIT(BROKEN),
	[CONNECTION_WORKING] = BIT(STREAMING) | BIT(FLUSHING) | BIT(BROKEN),
	[CONNECTION_STREAMING] = BIT(HELD) | BIT(FLUSHING) | BIT(BROKEN),
	[CONNECTION_HELD] = BIT(STREAMING) | BIT(FLUSHING) | BIT(BROKEN),
	[CONNECTION_FLUSHING] = BIT(IDLE) | BIT(ENDING) | BIT(LINGERING) | BIT(BROKEN),
	[CONNECTION_ENDING] = BIT(LINGERING) | BIT(BROKEN),
	[CONNECTION_LINGERING] = BIT(BROKEN),
	/* The steps of a handler that has not been told yet. */
	[CONNECTION_BROKEN] =
		BIT(BODY) | BIT(WORKING) | BIT(STREAMING) | BIT(FLUSHING) | BIT(BROKEN),
};

/* There is a request, from the first byte of its head to the end of its answer. */
#define WITH_EXCHANGE (BIT(HEAD) | BIT(BODY) | BIT(WORKING) | BIT(STREAMING) | BIT(HELD))
#define ANSWERED      (BIT(OPENING) | BIT(IDLE) | BIT(ENDING) | BIT(LINGERING))

/* The queue from which the server evicts connections in this state, or NULL. */
static struct connection_queue *queue_of(struct http_server *server, enum connection_state state)
{
	if (STATE_BIT(state) & (BIT(IDLE) | BIT(ENDING) | BIT(LINGERING))) {
		return &server->idle;
	}
	return STATE_BIT(state) & (BIT(OPENING) | BIT(HEAD)) ? &server->heads : NULL;
}

void connection_enter(struct http_connection *c, enum connection_state state)
{
	invariant(state_allows(connection_edges, c->state, state));
	if (c->state == CONNECTION_BROKEN) {
		return;
	}
	bool was_idle = c->state == CONNECTION_IDLE;
	c->state = (uint8_t)state;
	invariant(c->exchange || !connection_in(c, WITH_EXCHANGE));
	invariant((!c->exchange && outbox_waiting(&c->outbox) == 0) || !connection_in(c, ANSWERED));
	connections_queue(c, queue_of(c->server, state));
	if (state != CONNECTION_BROKEN) {
		timeouts_enter(c);
	} else if (was_idle) {
		/*
		 * Everything was answered. The end is tried once; a cut stream must not look
		 * complete.
		 */
		(void)byte_stream_end(&c->byte_stream);
	}
}
