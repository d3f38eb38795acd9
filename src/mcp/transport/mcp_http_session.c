/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of the legacy era: unguessable, bound to a tenant, bounded in number, expiring. */
#include <sodium.h>
#include <string.h>

#include "base/clock.h"
#include "mcp/transport/mcp_http_internal.h"

/* Sent events are kept within these limits, in case the client comes back for them. */
#define EVENTS_BYTES  (1u << 20)
#define STREAMS_ENDED 16
#define SWEEP_NS      (30ull * 1000000000)

static bool session_idle(const struct mcp_session *session)
{
	for (const struct mcp_stream *stream = session->streams; stream; stream = stream->next) {
		if (stream->exchange) {
			return false;
		}
	}
	return !session->peer.calls && !session->peer.batches && !session->general.exchange;
}

/* Makes room by ending the least recently used one; false: all are in use. */
static bool make_room(struct mcp_http *http, const char *tenant)
{
	struct mcp_session *oldest = NULL;

	for (struct mcp_session *one = http->sessions; one; one = one->next) {
		if ((!tenant || strcmp(one->peer.tenant, tenant) == 0) && session_idle(one) &&
		    (!oldest || one->used_ns < oldest->used_ns)) {
			oldest = one;
		}
	}
	if (oldest) {
		mcp_session_end(oldest);
	}
	return oldest != NULL;
}

static unsigned sessions_of(const struct mcp_http *http, const char *tenant)
{
	unsigned count = 0;

	for (const struct mcp_session *one = http->sessions; one; one = one->next) {
		count += strcmp(one->peer.tenant, tenant) == 0;
	}
	return count;
}

struct mcp_session *mcp_session_new(struct mcp_http *http, const char *tenant)
{
	unsigned char random[32];

	if (sessions_of(http, tenant) >= http->options.sessions_per_tenant &&
	    !make_room(http, tenant)) {
		return NULL;
	}
	if (http->sessions_count >= http->options.sessions && !make_room(http, NULL)) {
		return NULL;
	}
	struct mcp_session *session = calloc(1, sizeof(*session));
	if (!session || mcp_peer_init(&session->peer, http->server, tenant) < 0) {
		free(session);
		return NULL;
	}
	randombytes_buf(random, sizeof(random));
	sodium_bin2base64(session->id, sizeof(session->id), random, sizeof(random),
			  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	session->http = http;
	session->used_ns = clock_now_ns();
	mcp_stream_init_general(&session->general, session);
	session->peer.general = &session->general.channel;
	session->next = http->sessions;
	session->link = &http->sessions;
	if (session->next) {
		session->next->link = &session->next;
	}
	http->sessions = session;
	http->sessions_count++;
	if (!http->sweep.place) {
		loop_timer_set(http->server->loop, &http->sweep, clock_now_ns() + SWEEP_NS);
	}
	return session;
}

struct mcp_session *mcp_session_find(struct mcp_http *http, const char *id, const char *tenant)
{
	struct mcp_session *found = NULL;

	if (strlen(id) != SESSION_ID - 1) {
		return NULL;
	}
	/* All of them, each in constant time: the duration reveals nothing. */
	for (struct mcp_session *one = http->sessions; one; one = one->next) {
		if (sodium_memcmp(one->id, id, SESSION_ID - 1) == 0 &&
		    strcmp(one->peer.tenant, tenant) == 0) {
			found = one;
		}
	}
	if (found) {
		found->used_ns = clock_now_ns();
	}
	return found;
}

static void session_free(struct mcp_session *session)
{
	/* Batches and calls first: they must not use a stream that has been freed. */
	mcp_batch_drop(&session->peer, NULL);
	while (session->peer.calls) {
		mcp_peer_abandon(&session->peer, session->peer.calls->base);
	}
	while (session->streams) {
		mcp_stream_close(session->streams);
	}
	mcp_stream_close(&session->general);
	mcp_peer_done(&session->peer);
	sodium_memzero(session->id, sizeof(session->id));
	free(session);
}

void mcp_session_end(struct mcp_session *session)
{
	struct mcp_http *http = session->http;

	*session->link = session->next;
	if (session->next) {
		session->next->link = session->link;
	}
	http->sessions_count--;
	session->peer.general = NULL;
	session->next = http->ended;
	http->ended = session;
	loop_timer_set(http->server->loop, &http->free_ended, clock_now_ns());
}

void mcp_sessions_free_ended(void *user)
{
	struct mcp_http *http = user;

	while (http->ended) {
		struct mcp_session *session = http->ended;
		http->ended = session->next;
		session_free(session);
	}
}

/* The oldest stream that has been answered, and how many there are; except the one at hand. */
static struct mcp_stream *oldest_ended(const struct mcp_session *session,
				       const struct mcp_stream *at_hand, unsigned *ret_count)
{
	struct mcp_stream *oldest = NULL;

	*ret_count = 0;
	for (struct mcp_stream *stream = session->streams; stream; stream = stream->next) {
		if (stream->ended && stream != at_hand) {
			oldest = stream;
			(*ret_count)++;
		}
	}
	return oldest;
}

void mcp_session_trim(struct mcp_session *session, const struct mcp_stream *at_hand)
{
	unsigned count;
	struct mcp_stream *stream;

	while ((stream = oldest_ended(session, at_hand, &count)) &&
	       (count > STREAMS_ENDED || session->events_bytes > EVENTS_BYTES)) {
		mcp_stream_free(stream);
	}
	/* Then streams in progress lose their first events, but never the last one. */
	for (stream = session->streams; stream; stream = stream->next) {
		while (session->events_bytes > EVENTS_BYTES && stream->events &&
		       stream->events->next) {
			struct mcp_event *event = stream->events;
			stream->events = event->next;
			session->events_bytes -= event->size;
			free(event);
		}
	}
}

void mcp_session_sweep(void *user)
{
	struct mcp_http *http = user;
	uint64_t now = clock_now_ns();
	struct mcp_session *next;

	for (struct mcp_session *one = http->sessions; one; one = next) {
		next = one->next;
		if (session_idle(one) && one->used_ns + http->options.session_ns < now) {
			mcp_session_end(one);
		}
	}
	if (http->sessions) {
		loop_timer_set(http->server->loop, &http->sweep, now + SWEEP_NS);
	}
}
