/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inspects the first bytes of a connection: TLS and HTTP must be for the host that it was made for.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "gate/connection/connection.h"
#include "gate/connection/http_head.h"
#include "gate/tls/client_hello.h"

#define FIRST_MAX     HTTP_HEAD_MAX
#define DRAINED_MAX   64 /* reads: a program that never stops writing is cut off instead */
#define TLS_HANDSHAKE 0x16
#define TLS_MAJOR     0x03

int connection_read_first(struct cell_connection *c)
{
	char data[4096];
	size_t room = FIRST_MAX - c->first.size;
	ssize_t n = recv(c->inside, data, room < sizeof(data) ? room : sizeof(data), MSG_DONTWAIT);

	if (n <= 0) {
		return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -EPIPE;
	}
	buf_add(&c->first, data, (size_t)n);
	return c->first.failed ? -ENOMEM : 1;
}

/* Charges these bytes as sent, and against the limit. */
static int send_first(struct cell_connection *c, const char *data, size_t size)
{
	buf_add(&c->head, data, size);
	if (c->gate->bytes + c->head.size > c->gate->limits.bytes) {
		return -EDQUOT;
	}
	c->record.bytes_up += c->head.size;
	c->gate->bytes += c->head.size;
	return c->head.failed ? -ENOMEM : 1;
}

/*
 * A ClientHello without a name reaches the host's default site: accepted only where any protocol
 * is.
 */
int connection_judge_hello(struct cell_connection *c, size_t *ret_size)
{
	char name[NET_NAME_MAX + 1] = "";
	int r = client_hello_parse((const unsigned char *)c->first.data, c->first.size, name,
				   ret_size);

	if (r == -EAGAIN) {
		return c->first.size < FIRST_MAX ? -EAGAIN : -EBADMSG;
	}
	if (r < 0 || (name[0] && strcmp(name, c->record.host) != 0) ||
	    (!name[0] && c->protocol == NET_TLS)) {
		return -EPERM;
	}
	return 0;
}

static int inspect_hello(struct cell_connection *c)
{
	size_t size;
	int r = connection_judge_hello(c, &size);

	if (r < 0) {
		return r == -EAGAIN ? 0 : r;
	}
	r = c->opened ? 0 : connection_follow_hello(c, size);
	return r < 0 ? r : 1;
}

static int inspect_request(struct cell_connection *c)
{
	struct http_extra extras[GATE_CREDENTIALS_MAX];
	struct http_expect expect = { .name = c->record.host,
				      .port = (uint16_t)c->record.port,
				      .scheme = c->opened ? "https://" : "http://",
				      .extras = extras };

	for (unsigned i = 0; i < c->gate->credentials_count; i++) {
		const struct gate_credential *credential = &c->gate->credentials[i];
		/*
		 * A credential that is meant for TLS is never sent in clear, whatever the program
		 * requests.
		 */
		if (strcmp(credential->name, c->record.host) == 0 &&
		    credential->opened == c->opened) {
			extras[expect.extras_count++] =
				(struct http_extra){ credential->header, credential->value };
		}
	}
	buf_done(&c->head);
	int r = http_head_rewrite(&c->http, c->first.data, c->first.size, &expect, &c->head);
	if (r < 0) {
		return r == -EAGAIN ? 0 : r;
	}
	/* Bytes after this request would be a second request. */
	const char *body = c->first.data + c->http.head_size;
	long came = http_body_take(&c->http, body, c->first.size - c->http.head_size);
	if (came < 0) {
		return (int)came;
	}
	c->body = c->http.framing.chunked ? 0 : c->http.left;
	return send_first(c, body, (size_t)came);
}

bool connection_is_measured(const struct cell_connection *c)
{
	return c->http.framing.chunked && c->http.state != HTTP1_DONE;
}

/*
 * The bytes are inspected in the socket's buffer, and then passed on as far as they belong to the
 * body.
 */
int connection_measure(struct cell_connection *c)
{
	char data[16384];

	if (!connection_is_measured(c) || c->up.left || c->up.held) {
		return 0;
	}
	ssize_t n = recv(c->inside, data, sizeof(data), MSG_PEEK | MSG_DONTWAIT);
	if (n <= 0) {
		return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -EPIPE;
	}
	long came = http_body_take(&c->http, data, (size_t)n);
	c->up.left = came > 0 ? (uint64_t)came : 0;
	return came < 0 ? (int)came : 0;
}

/* A protocol that need not be known: only TLS is inspected, the rest passes. */
static int inspect_any(struct cell_connection *c)
{
	const unsigned char *data = (const unsigned char *)c->first.data;

	if (data[0] != TLS_HANDSHAKE || (c->first.size > 1 && data[1] != TLS_MAJOR)) {
		return send_first(c, c->first.data, c->first.size);
	}
	return inspect_hello(c);
}

int connection_inspect(struct cell_connection *c)
{
	int r = connection_read_first(c);

	/* Closed without a byte: nothing to refuse. */
	if (r == -EPIPE && c->protocol == NET_ANY && c->first.size == 0) {
		return 1;
	}
	if (r <= 0) {
		return r;
	}
	switch (c->protocol) {
	case NET_TLS:
		return inspect_hello(c);
	case NET_HTTP:
		return inspect_request(c);
	default:
		return inspect_any(c);
	}
}

/* The numbers are those of RFC 8446: unrecognized_name, access_denied. */
static void explain_tls(const struct cell_connection *c, enum gate_verdict verdict)
{
	unsigned char alert[] = {
		0x15, 0x03, 0x03, 0x00, 0x02, 0x02, verdict == GATE_REFUSED_PROTOCOL ? 112 : 49
	};

	(void)send(c->inside, alert, sizeof(alert), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void explain_http(const struct cell_connection *c, enum gate_verdict verdict)
{
	static const char *const words[GATE_VERDICTS] = {
		[GATE_REFUSED_ADDRESS] = "the host resolves to a private or special address",
		[GATE_REFUSED_PROTOCOL] = "not a plain request for the connection's host",
		[GATE_REFUSED_PEER] = "the host did not prove its identity by TLS",
		[GATE_UNRESOLVED] = "the host's name was not found",
		[GATE_UNREACHABLE] = "cannot connect to the host",
	};
	char text[512], body[160];
	const char *word = words[verdict] ? words[verdict] : "refused";
	int size = snprintf(body, sizeof(body), "brig: %s\n", word);
	int n = snprintf(text, sizeof(text),
			 "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
			 "Connection: close\r\n\r\n%s",
			 verdict >= GATE_REFUSED_PEER ? "502 Bad Gateway" : "403 Forbidden", size,
			 body);

	(void)send(c->inside, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool connection_explain(struct cell_connection *c, enum gate_verdict verdict)
{
	char rest[4096];

	/* Once the host has answered, the program is in the middle of its conversation. */
	if (c->record.bytes_down || c->first.size == 0 || c->protocol == NET_ANY) {
		return false;
	}
	if (c->protocol == NET_TLS) {
		explain_tls(c, verdict);
	} else {
		explain_http(c, verdict);
	}
	/* Unread bytes would turn the close into a reset, and the message would be lost. */
	for (int i = 0; i < DRAINED_MAX; i++) {
		if (recv(c->inside, rest, sizeof(rest), MSG_DONTWAIT) < (ssize_t)sizeof(rest)) {
			break;
		}
	}
	return true;
}
