/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of MCP's HTTP transport. */
#ifndef BRIG_MCP_MCP_HTTP_INTERNAL_H
#define BRIG_MCP_MCP_HTTP_INTERNAL_H

#include "base/bytes/buf.h"
#include "mcp/mcp_internal.h"
#include "mcp/transport/mcp_http.h"

#define SESSION_ID 44 /* 32 random bytes as base64url, and the NUL */

struct mcp_event { /* kept in case the client comes back for it */
	struct mcp_event *next;
	unsigned number;
	size_t size;
	char text[];
};

/* A POST and its answer; or the stream that a GET of a session reads. */
struct mcp_stream {
	struct mcp_channel channel;
	struct mcp_http *http;
	struct mcp_session *session;        /* NULL: modern */
	struct mcp_peer peer;               /* modern: for this one request */
	struct mcp_http_exchange *exchange; /* NULL: the client is disconnected */
	bool takes_events;
	bool begun;      /* an event stream has begun */
	bool ended;      /* the answer was given */
	bool opens;      /* the answer tells the session's id */
	bool is_long;    /* the request, of more than MCP_AWAY_BODY_MAX */
	unsigned number; /* in the session; 0: its general one */
	unsigned last_event;
	size_t backlog;
	struct mcp_event *events; /* owned, oldest first */
	/* keeps the stream alive; ends the wait for a disconnected client */
	struct loop_timer timer;
	struct mcp_stream *next, **link; /* in the session, newest first */
};

struct mcp_session { /* legacy */
	char id[SESSION_ID];
	struct mcp_peer peer;
	struct mcp_http *http;
	struct mcp_stream general;
	struct mcp_stream *streams;
	unsigned last_stream;
	size_t events_bytes; /* of all streams */
	uint64_t used_ns;
	struct mcp_session *next, **link;
};

struct mcp_http {
	struct mcp_server *server;
	struct mcp_http_options options;
	char **hosts; /* owned */
	struct mcp_session *sessions;
	unsigned sessions_count;
	struct mcp_session *ended;
	struct loop_timer sweep;
	struct loop_timer free_ended;
};

/* mcp_http_check.c */
bool mcp_host_allowed(const struct mcp_http *http, struct mcp_http_exchange *exchange);
/* Do the headers match the modern request? False: *why has the mismatch. */
bool mcp_headers_match(struct mcp_server *server, struct mcp_http_exchange *exchange,
		       const struct mcp_message *message, struct buf *why);

/* mcp_http_stream.c */
struct mcp_stream *mcp_stream_new(struct mcp_http *http, struct mcp_session *session,
				  struct mcp_http_exchange *exchange, bool takes_events);
void mcp_stream_init_general(struct mcp_stream *stream, struct mcp_session *session);
void mcp_stream_free(struct mcp_stream *stream);
/* Continues the stream in this exchange, after the event with that number. */
void mcp_stream_attach(struct mcp_stream *stream, struct mcp_http_exchange *exchange,
		       unsigned last_event);
/* The session ends: so do all its answers. */
void mcp_stream_close(struct mcp_stream *stream);
void mcp_exchange_error(struct mcp_http_exchange *exchange, int status, json_t *id, int code,
			json_t *data, const char *text);

/* mcp_http_session.c */
struct mcp_session *mcp_session_new(struct mcp_http *http, const char *tenant);
/* A session of this tenant; those of others are not found. */
struct mcp_session *mcp_session_find(struct mcp_http *http, const char *id, const char *tenant);
/* It is not found any more. It is freed when no function can be using it. */
void mcp_session_end(struct mcp_session *session);
void mcp_sessions_free_ended(void *user);
/* Drops old events, and streams that were answered, except the one at hand. */
void mcp_session_trim(struct mcp_session *session, const struct mcp_stream *at_hand);
void mcp_session_sweep(void *user);
#endif
