/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends of TLS: see tls_end.h. Bytes that come encrypted from the network go out decrypted, and the
 * other way round. Each direction has room for one record, and waits while that cannot be sent.
 */
#include "gate_tls/tls_end.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gate/connection/socket_watch.h"
#include "gate_tls/handshake_result.h"
#include "gate_tls/hosts.h"
#include "gate_tls/tls_overhead.h"
#include "tls/tls_context.h"
#include "tls/tls_stream.h"

#define TURNS 8

struct half {
	char data[TLS_RECORD_BYTES];
	size_t at, size;
	bool over; /* end of input */
};

struct openssl_end {
	struct tls_end base; /* first: the part that callers see */
	struct gate *gate;
	struct tls_end_options options;
	struct tls_stream stream; /* its socket is owned as well */
	struct tls_overhead overhead;
	int plain; /* owned */
	struct socket_watch wire_watch, plain_watch;
	struct half down, up; /* to the plain side; to the network */
	bool writes;          /* TLS waits until the socket is writable */
	/* it must read before it can encrypt more: a message has come in parts */
	bool reads_first;
	const struct tls_end *like; /* closes as this one did; NULL: cleanly */
};

static bool has(const struct half *half)
{
	return half->at < half->size;
}

static void fail(struct openssl_end *end, enum gate_cause cause)
{
	end->base.failed = true;
	end->base.cause = cause;
}

/* true: not an error, only waiting. */
static bool waits(struct openssl_end *end, ssize_t r)
{
	end->writes |= r == TLS_WANTS_OUTPUT;
	return r == TLS_WANTS_INPUT || r == TLS_WANTS_OUTPUT;
}

/* --- shaking hands --------------------------------------------------------------------------- */

static void shake(struct openssl_end *end)
{
	int r = tls_stream_shake(&end->stream);

	end->base.open = r == 0 && handshake_is_valid(end->stream.ssl);
	if (!end->base.open && !waits(end, r)) {
		fail(end, handshake_failure_cause(end->stream.ssl));
	}
}

/* --- both directions ------------------------------------------------------------------------- */

/* All of these: true when bytes have moved. */
static bool move_out(struct openssl_end *end, struct half *half)
{
	ssize_t n = send(end->plain, half->data + half->at, half->size - half->at,
			 MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		fail(end, GATE_CAUSE_NONE);
	}
	half->at += n > 0 ? (size_t)n : 0;
	return n > 0;
}

static bool open_record(struct openssl_end *end, struct half *half)
{
	ssize_t n = tls_stream_receive(&end->stream, half->data, sizeof(half->data));

	if (n > 0) {
		half->at = 0;
		half->size = (size_t)n;
		end->overhead.unsealed += (uint64_t)n;
		return true;
	}
	if (waits(end, n)) {
		return false;
	}
	bool said = n == 0;
	if (!said && !end->stream.wire.over) {
		fail(end, GATE_CAUSE_NONE);
		return false;
	}
	end->base.ragged = !said;
	half->over = true;
	(void)shutdown(end->plain, SHUT_WR);
	return true;
}

static bool go_down(struct openssl_end *end)
{
	struct half *half = &end->down;

	if (has(half)) {
		return move_out(end, half);
	}
	return !half->over && open_record(end, half);
}

static bool move_in(struct openssl_end *end, struct half *half)
{
	ssize_t n = recv(end->plain, half->data, sizeof(half->data), MSG_DONTWAIT);

	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR) {
			fail(end, GATE_CAUSE_NONE);
		}
		return false;
	}
	half->at = 0;
	half->size = (size_t)n;
	half->over = n == 0;
	end->overhead.sealed += (uint64_t)n;
	return true;
}

static bool seal_record(struct openssl_end *end, struct half *half)
{
	ssize_t n = tls_stream_send(&end->stream, half->data + half->at, half->size - half->at);

	end->reads_first = n == TLS_WANTS_INPUT;
	if (n > 0) {
		half->at += (size_t)n;
		return true;
	}
	if (!waits(end, n)) {
		fail(end, GATE_CAUSE_NONE);
	}
	return false;
}

/* Sends close_notify, unless the side that we pass on from was cut off. */
static bool finish(struct openssl_end *end)
{
	bool says = !end->like || !end->like->ragged;

	if (says && waits(end, tls_stream_end(&end->stream))) {
		return false;
	}
	(void)shutdown(end->stream.wire.fd, SHUT_WR);
	end->base.flushed = true;
	return true;
}

static bool go_up(struct openssl_end *end)
{
	struct half *half = &end->up;

	if (has(half)) {
		return seal_record(end, half);
	}
	if (half->over) {
		return !end->base.flushed && finish(end);
	}
	return move_in(end, half);
}

/* --- waiting --------------------------------------------------------------------------------- */

static void on_ready(void *user, uint32_t events);

static void wait_for_more(struct openssl_end *end)
{
	bool open = end->base.open;
	bool reads = !open || (!has(&end->down) && !end->down.over);
	bool takes = open && !has(&end->up) && !end->up.over;
	/* Also a direction that has used its turn, and is not over. */
	bool gives = end->writes || (has(&end->up) && !end->reads_first) ||
		     (end->up.over && !end->base.flushed);
	uint32_t wire = (reads ? EPOLLIN : 0u) | (gives ? EPOLLOUT : 0u);
	uint32_t plain = (takes ? EPOLLIN : 0u) | (has(&end->down) ? EPOLLOUT : 0u);

	struct socket_watch_request wires = {
		.fd = end->stream.wire.fd,
		.events = wire,
		/* Bytes that a host has sent before its reset still go to the program. */
		.resets = SSL_is_server(end->stream.ssl) && !end->base.flushed,
		.ready = on_ready,
		.user = end,
	};
	struct socket_watch_request plains = {
		.fd = end->plain, .events = plain, .ready = on_ready, .user = end
	};

	if (socket_watch_set(&end->wire_watch, end->gate->loop, &wires) < 0 ||
	    socket_watch_set(&end->plain_watch, end->gate->loop, &plains) < 0) {
		fail(end, GATE_CAUSE_NONE);
	}
}

static void on_ready(void *user, uint32_t events)
{
	struct openssl_end *end = user;
	const struct tls_end before = end->base;

	if (socket_watch_is_gone(&end->wire_watch, events)) {
		fail(end, GATE_CAUSE_NONE); /* the program has gone */
	}
	end->writes = end->reads_first = false;
	end->stream.wire.left = tls_overhead_room(&end->overhead, TLS_TURN_BYTES);
	if (!end->base.open) {
		shake(end);
	}
	bool moves = end->base.open;
	for (int i = 0; moves && !end->base.failed && i < TURNS; i++) {
		moves = go_down(end);
		moves = (!end->base.failed && go_up(end)) || moves;
	}
	if (!tls_overhead_charge(&end->overhead, &end->stream.wire, false)) {
		return; /* the gate ends all connections, this one too */
	}
	if (!end->base.failed) {
		wait_for_more(end);
	}
	if (end->base.failed) {
		socket_watch_done(&end->wire_watch);
		socket_watch_done(&end->plain_watch);
	}
	/* Last: the end may be freed by this. */
	if (end->base.open != before.open || end->base.failed != before.failed ||
	    end->base.flushed != before.flushed) {
		end->options.changed(end->options.user);
	}
}

/* --- beginning and end ----------------------------------------------------------------------- */

static int make_pair(struct openssl_end *end, int *plain)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
		return -errno;
	}
	end->plain = pair[0];
	*plain = pair[1];
	return 0;
}

static int begin(struct openssl_end *end, SSL_CTX *context, int *plain)
{
	struct buf *first = &end->stream.wire.first;

	buf_add(first, end->options.first, end->options.first_size);
	int r = context && !first->failed ? tls_stream_init(&end->stream, context) : -ENOMEM;
	return r < 0 ? r : make_pair(end, plain);
}

static struct openssl_end *end_new(struct gate *gate, const struct tls_end_options *options)
{
	struct openssl_end *end = calloc(1, sizeof(*end));
	int wire = options->wire, on = 1;

	if (!end) {
		close_fd(&wire);
		return NULL;
	}
	(void)setsockopt(wire, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	end->gate = gate;
	end->options = *options;
	end->stream.wire.fd = wire;
	end->plain = -1;
	return end;
}

/*
 * The handshake begins from the loop, so that the caller first gets its result, then the callback.
 */
static int start(struct openssl_end *end, int r, struct tls_end **ret, int *plain)
{
	struct socket_watch_request first = { .fd = end->stream.wire.fd,
					      .events = EPOLLIN | EPOLLOUT,
					      .ready = on_ready,
					      .user = end };

	r = r < 0 ? r : socket_watch_set(&end->wire_watch, end->gate->loop, &first);
	if (r < 0) {
		tls_end_free(&end->base, true);
		close_fd(plain);
		return r;
	}
	*ret = &end->base;
	return 0;
}

int tls_end_accept(struct gate *gate, const struct tls_end_options *options, struct tls_end **ret,
		   int *plain)
{
	const struct tls_host *host = tls_host_find(gate, options->host);
	struct openssl_end *end = end_new(gate, options);

	if (!end) {
		return -ENOMEM;
	}
	int r = begin(end, host ? host->server : NULL, plain);
	return start(end, r, ret, plain);
}

int tls_end_connect(struct gate *gate, const struct tls_end_options *options, struct tls_end **ret,
		    int *plain)
{
	const struct tls_host *host = tls_host_find(gate, options->host);
	struct openssl_end *end = end_new(gate, options);

	if (!end) {
		return -ENOMEM;
	}
	end->overhead.gate = gate;
	int r = begin(end, host ? host->client : NULL, plain);
	if (r == 0 && !tls_name_peer(end->stream.ssl, options->host)) {
		r = -ENOMEM;
	}
	return start(end, r, ret, plain);
}

void tls_end_follow(struct tls_end *end, const struct tls_end *other)
{
	((struct openssl_end *)end)->like = other;
}

void tls_end_free(struct tls_end *base, bool reset)
{
	struct openssl_end *end = (struct openssl_end *)base;
	struct linger now = { .l_onoff = 1 };

	if (!end) {
		return;
	}
	socket_watch_done(&end->wire_watch);
	socket_watch_done(&end->plain_watch);
	(void)tls_overhead_charge(&end->overhead, &end->stream.wire, true);
	/* A peer whose handshake failed has received an alert. */
	if (reset && end->stream.wire.fd >= 0 && !end->base.cause) {
		(void)setsockopt(end->stream.wire.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	}
	tls_stream_done(&end->stream);
	close_fd(&end->stream.wire.fd);
	close_fd(&end->plain);
	/* It may contain a credential. */
	explicit_bzero(end, sizeof(*end));
	free(end);
}
