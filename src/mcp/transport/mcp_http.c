/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoint: finds the kind of a request, its era, and its session. */
#include "mcp/transport/mcp_http.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "mcp/mcp_limits.h"
#include "mcp/transport/mcp_http_internal.h"

#define SESSION_NS (1800ull * 1000000000)
#define AWAY_NS    (60ull * 1000000000)

static const char *const loopback_names[] = { "localhost", "127.0.0.1", "[::1]" };

static int copy_hosts(struct mcp_http *http, const struct mcp_http_options *options)
{
	bool given = options && options->hosts;
	const char *const *hosts = given ? options->hosts : loopback_names;
	size_t count = given ? options->hosts_count : ARRAY_SIZE(loopback_names);

	http->hosts = calloc(count + 1, sizeof(*http->hosts));
	for (size_t i = 0; http->hosts && i < count; i++) {
		http->hosts[i] = strdup(hosts[i]);
		if (!http->hosts[i]) {
			return -ENOMEM;
		}
	}
	return http->hosts ? 0 : -ENOMEM;
}

int mcp_http_new(struct mcp_server *server, const struct mcp_http_options *options,
		 struct mcp_http **ret)
{
	struct mcp_http *http = calloc(1, sizeof(*http));

	if (!http) {
		return -ENOMEM;
	}
	http->server = server;
	if (copy_hosts(http, options) < 0) {
		mcp_http_free(http);
		return -ENOMEM;
	}
	struct mcp_http_options *o = &http->options;
	*o = options ? *options : (struct mcp_http_options){ 0 };
	o->hosts = NULL;
	o->sessions = o->sessions ? o->sessions : 1024;
	o->sessions_per_tenant = o->sessions_per_tenant ? o->sessions_per_tenant : 64;
	o->session_ns = o->session_ns ? o->session_ns : SESSION_NS;
	o->away_ns = o->away_ns ? o->away_ns : AWAY_NS;
	http->sweep.due = mcp_session_sweep;
	http->sweep.user = http;
	http->free_ended.due = mcp_sessions_free_ended;
	http->free_ended.user = http;
	*ret = http;
	return 0;
}

void mcp_http_free(struct mcp_http *http)
{
	if (!http) {
		return;
	}
	mcp_server_drain(http->server);
	while (http->sessions) {
		mcp_session_end(http->sessions);
	}
	mcp_sessions_free_ended(http);
	loop_timer_clear(&http->sweep);
	loop_timer_clear(&http->free_ended);
	for (char **host = http->hosts; host && *host; host++) {
		free(*host);
	}
	free(http->hosts);
	free(http);
}

unsigned mcp_http_sessions(const struct mcp_http *http)
{
	return http->sessions_count;
}

static void refuse(struct mcp_http_exchange *exchange, int status, const char *text)
{
	mcp_exchange_error(exchange, status, NULL, MCP_E_INVALID_REQUEST, NULL, text);
}

/* Is the media type in a list of them ("Accept"), or allowed by a wildcard? */
static bool accepts(struct mcp_http_exchange *exchange, const char *type, const char *range)
{
	const char *list = exchange->class->header(exchange, "Accept");

	return !list || strcasestr(list, type) || strstr(list, range) || strstr(list, "*/*");
}

/* A POST, from its headers and body. */
struct post {
	json_t *root; /* owned */
	bool batch;
	struct mcp_message message; /* unless it is a batch */
	const char *version;        /* the header, or NULL */
	bool modern;
	bool takes_events;
};

static bool post_read(struct mcp_http *http, struct mcp_http_exchange *exchange, struct post *post)
{
	const char *type = exchange->class->header(exchange, "Content-Type");
	const char *why;

	if (!type || strncasecmp(type, "application/json", 16) != 0 ||
	    (type[16] && !strchr("; \t", type[16]))) {
		refuse(exchange, 415, "Content-Type must be application/json");
		return false;
	}
	post->takes_events = accepts(exchange, "text/event-stream", "text/*");
	if (!post->takes_events && !accepts(exchange, "application/json", "application/*")) {
		refuse(exchange, 406, "Accept must have application/json and text/event-stream");
		return false;
	}
	if (exchange->refusal) {
		post->root = json_incref(exchange->root);
		why = mcp_message_refused(exchange->refusal);
	} else {
		post->root = mcp_message_load(exchange->body, exchange->body_size,
					      http->server->options.message_bytes, &why);
	}
	if (!post->root) {
		mcp_exchange_error(exchange, 400, NULL, MCP_E_PARSE, NULL, why);
		return false;
	}
	post->batch = json_is_array(post->root);
	if (!post->batch && !mcp_message_read(post->root, &post->message, &why)) {
		mcp_exchange_error(exchange, 400, post->message.id, MCP_E_INVALID_REQUEST, NULL,
				   why);
		return false;
	}
	return true;
}

/* The era: from the body, otherwise from the header. */
static bool post_era(struct mcp_http_exchange *exchange, struct post *post)
{
	bool request = !post->batch && post->message.kind == MCP_REQUEST;

	post->version = exchange->class->header(exchange, "MCP-Protocol-Version");
	post->modern = (request && mcp_message_is_modern(&post->message)) ||
		       mcp_version_known(post->version, true);
	if (!post->modern && post->version && !mcp_version_known(post->version, false)) {
		mcp_exchange_error(exchange, 400, post->message.id, MCP_E_UNSUPPORTED_VERSION,
				   json_pack("{s:o, s:o}", "supported", mcp_versions(), "requested",
					     mcp_string(post->version, strlen(post->version))),
				   "Unsupported protocol version");
		return false;
	}
	return true;
}

static void post_modern(struct mcp_http *http, struct mcp_http_exchange *exchange,
			const struct post *post)
{
	struct buf why = { 0 };

	if (post->batch || post->message.kind == MCP_RESPONSE) {
		refuse(exchange, 400, "a POST must have one request or notification");
	} else if (post->message.kind == MCP_NOTIFICATION) {
		exchange->class->respond(exchange, 202, NULL, NULL, 0);
	} else if (!mcp_headers_match(http->server, exchange, &post->message, &why)) {
		mcp_exchange_error(exchange, 400, post->message.id, MCP_E_HEADER_MISMATCH, NULL,
				   why.data ? why.data : "Header mismatch");
	} else {
		struct mcp_stream *stream =
			mcp_stream_new(http, NULL, exchange, post->takes_events);
		if (stream) {
			mcp_peer_request(&stream->peer, &post->message, true, &stream->channel,
					 &stream->channel);
		} else {
			refuse(exchange, 503, "out of memory");
		}
	}
	buf_done(&why);
}

/* The session that the request names. NULL: it was refused. */
static struct mcp_session *named_session(struct mcp_http *http, struct mcp_http_exchange *exchange,
					 json_t *id)
{
	const char *name = exchange->class->header(exchange, "Mcp-Session-Id");
	struct mcp_session *session = name ? mcp_session_find(http, name, exchange->tenant) : NULL;

	if (!name) {
		mcp_exchange_error(exchange, 400, id, MCP_E_INVALID_REQUEST, NULL,
				   "Mcp-Session-Id is missing: initialize comes first, or requests "
				   "have the _meta of " VERSION_MODERN);
	} else if (!session) {
		mcp_exchange_error(exchange, 404, id, MCP_E_INVALID_REQUEST, NULL,
				   "the session is not known, or has ended: initialize again");
	}
	return session;
}

static void post_legacy(struct mcp_http *http, struct mcp_http_exchange *exchange,
			const struct post *post)
{
	bool opens = !post->batch && post->message.kind == MCP_REQUEST &&
		     strcmp(post->message.method, "initialize") == 0;
	struct mcp_session *session = opens ? mcp_session_new(http, exchange->tenant)
					    : named_session(http, exchange, post->message.id);

	if (!session) {
		if (opens) {
			refuse(exchange, 503, "too many sessions: end some of them (DELETE)");
		}
		return;
	}
	if (post->batch && session->peer.batches >= MCP_BATCHES_MAX) {
		mcp_exchange_error(exchange, 429, NULL, MCP_E_INTERNAL, NULL,
				   "too many batches of this session are under way: wait until one "
				   "of them has ended");
		return;
	}
	struct mcp_stream *stream = mcp_stream_new(http, session, exchange, post->takes_events);
	if (!stream) {
		refuse(exchange, 503, "out of memory");
		return;
	}
	stream->opens = opens;
	if (!mcp_peer_receive(&session->peer, post->root, &stream->channel)) {
		mcp_stream_free(stream);
		exchange->gone = NULL;
		exchange->drained = NULL;
		exchange->class->respond(exchange, 202, NULL, NULL, 0);
	} else if (opens && !session->peer.version) {
		mcp_session_end(session);
	}
}

static void handle_post(struct mcp_http *http, struct mcp_http_exchange *exchange)
{
	struct post post = { 0 };

	if (post_read(http, exchange, &post) && post_era(exchange, &post)) {
		(post.modern ? post_modern : post_legacy)(http, exchange, &post);
	}
	json_decref(post.root);
}

static void not_allowed(struct mcp_http_exchange *exchange)
{
	exchange->class->answer_header(exchange, "Allow", "POST");
	refuse(exchange, 405, "clients without a session can only use POST");
}

/* The number at the start of a text, which is moved on; false: none. */
static bool take_number(const char **text, unsigned *ret)
{
	char *end;

	if (**text < '0' || **text > '9') {
		return false;
	}
	unsigned long number = strtoul(*text, &end, 10);
	if (number > UINT_MAX) {
		return false;
	}
	*ret = (unsigned)number;
	*text = end;
	return true;
}

/* The stream of an event's id ("2-15"), and the event's number. */
static struct mcp_stream *event_stream(struct mcp_session *session, const char *id,
				       unsigned *ret_number)
{
	unsigned number;

	if (!id || !take_number(&id, &number) || *id++ != '-' || !take_number(&id, ret_number) ||
	    *id) {
		return NULL;
	}
	for (struct mcp_stream *stream = session->streams; stream; stream = stream->next) {
		if (stream->number == number && stream->begun && !stream->is_long) {
			return stream;
		}
	}
	return NULL;
}

static void handle_get(struct mcp_http *http, struct mcp_http_exchange *exchange)
{
	const char *last = exchange->class->header(exchange, "Last-Event-ID");
	unsigned number = 0;

	if (!exchange->class->header(exchange, "Mcp-Session-Id")) {
		not_allowed(exchange);
		return;
	}
	struct mcp_session *session = named_session(http, exchange, NULL);
	if (!session) {
		return;
	}
	if (!accepts(exchange, "text/event-stream", "text/*")) {
		refuse(exchange, 406, "Accept must have text/event-stream");
		return;
	}
	struct mcp_stream *stream = event_stream(session, last, &number);
	if (!stream && session->general.exchange) {
		refuse(exchange, 409, "the session has such a stream already");
		return;
	}
	mcp_stream_attach(stream ? stream : &session->general, exchange, number);
}

static void handle_delete(struct mcp_http *http, struct mcp_http_exchange *exchange)
{
	if (!exchange->class->header(exchange, "Mcp-Session-Id")) {
		not_allowed(exchange);
		return;
	}
	struct mcp_session *session = named_session(http, exchange, NULL);
	if (session) {
		mcp_session_end(session);
		exchange->class->respond(exchange, 204, NULL, NULL, 0);
	}
}

void mcp_http_handle(struct mcp_http *http, struct mcp_http_exchange *exchange)
{
	static const struct {
		const char *method;
		void (*handle)(struct mcp_http *http, struct mcp_http_exchange *exchange);
	} methods[] = {
		{ "POST", handle_post },
		{ "GET", handle_get },
		{ "DELETE", handle_delete },
	};

	exchange->gone = NULL;
	exchange->drained = NULL;
	if (!mcp_host_allowed(http, exchange)) {
		refuse(exchange, 403, "Host or Origin is not a name of this server");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (strcmp(methods[i].method, exchange->method) == 0) {
			methods[i].handle(http, exchange);
			return;
		}
	}
	exchange->class->answer_header(exchange, "Allow", "POST, GET, DELETE");
	refuse(exchange, 405, "the method is not allowed here");
}
