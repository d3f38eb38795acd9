/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS as a transport of HTTP: see endpoint.h. libtls reads and writes the socket by our functions,
 * so that none blocks, none raises a signal, and none reads for ever: a peer that sends only
 * records without content must not keep the loop from other connections.
 */
#include "tls/endpoint.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <tls.h>

#include "base/cleanup.h"
#include "tls/library.h"

#define RECORD_BYTES 16384       /* the most that one record holds */
#define TURN_BYTES   (64 * 1024) /* read from a socket before the next one gets its turn */
/*
 * Of version 1.2. The set that libtls calls "secure" is OpenSSL's default, which includes CBC and
 * key exchange without forward secrecy.
 */
#define CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"

_Static_assert(HTTP_TRANSPORT_BYTES >= RECORD_BYTES, "a part of a record would be left behind");

/*
 * A certificate and its key in use. Connections that were opened with it hold a reference: a
 * handshake in progress uses OpenSSL's context, which uses libtls's.
 */
struct identity {
	struct tls *server; /* owned */
	size_t holders;
};

struct endpoint {
	struct identity *identity; /* of new connections; held */
	struct http_transport transport;
	char record[RECORD_BYTES]; /* parts of a response, put together */
};

struct link {
	struct endpoint *endpoint;
	struct identity *identity; /* held */
	struct tls *tls;           /* owned */
	int fd;                    /* the connection's */
	size_t turn;               /* bytes that may still be read now */
	bool heard;                /* the first byte was read */
	bool clear;                /* and it is plain HTTP */
	bool open;                 /* the handshake is done */
	bool failed;               /* nothing can be sent any more */
};

static void identity_drop(struct identity *identity)
{
	if (identity && --identity->holders == 0) {
		tls_free(identity->server);
		free(identity);
	}
}

/* --- between libtls and the socket ------------------------------------------------------------ */

static void look_at_first(struct link *link, const char *data)
{
	link->clear = !link->heard && *data >= 'A' && *data <= 'Z'; /* a method */
	link->heard = true;
}

static ssize_t read_socket(struct tls *tls, void *data, size_t size, void *user)
{
	struct link *link = user;

	(void)tls;
	if (link->turn == 0) {
		return TLS_WANT_POLLIN;
	}
	ssize_t n = recv(link->fd, data, size < link->turn ? size : link->turn, MSG_DONTWAIT);
	if (n < 0) {
		return errno == EAGAIN || errno == EINTR ? TLS_WANT_POLLIN : -1;
	}
	if (n > 0 && !link->heard) {
		look_at_first(link, data);
	}
	link->turn -= (size_t)n;
	return n;
}

static ssize_t write_socket(struct tls *tls, const void *data, size_t size, void *user)
{
	const struct link *link = user;
	ssize_t n;

	(void)tls;
	do {
		n = send(link->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 && errno == EAGAIN ? TLS_WANT_POLLOUT : n;
}

/* --- between HTTP and libtls ------------------------------------------------------------------ */

static void *link_open(void *user, int fd)
{
	struct endpoint *endpoint = user;
	struct link *link = malloc(sizeof(*link));

	if (!link) {
		return NULL;
	}
	*link = (struct link){ .endpoint = endpoint, .identity = endpoint->identity, .fd = fd };
	if (tls_accept_cbs(link->identity->server, &link->tls, read_socket, write_socket, link) <
	    0) {
		free(link);
		return NULL;
	}
	link->identity->holders++;
	return link;
}

/* The result of libtls, as the transport returns it. */
static ssize_t outcome(struct link *link, ssize_t n)
{
	if (n == TLS_WANT_POLLIN) {
		return HTTP_WANTS_INPUT;
	}
	if (n == TLS_WANT_POLLOUT) {
		return HTTP_WANTS_OUTPUT;
	}
	link->failed = link->failed || n < 0;
	return n < 0 ? -EPROTO : n;
}

/*
 * In version 1.3 the client sends the last message, and we send nothing that would carry the
 * acknowledgement: a client that waits for it before it sends its request would wait 40 ms.
 */
static void acknowledge(const struct link *link)
{
	static const int on = 1;

	setsockopt(link->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
}

static int link_begin(void *state)
{
	struct link *link = state;

	link->turn = TURN_BYTES;
	ssize_t r = outcome(link, tls_handshake(link->tls));
	link->open = r == 0;
	if (link->open) {
		acknowledge(link);
	}
	return link->failed && link->clear ? -EPROTOTYPE : (int)r;
}

static ssize_t link_receive(void *state, void *data, size_t size)
{
	struct link *link = state;

	link->turn = TURN_BYTES;
	return outcome(link, tls_read(link->tls, data, size));
}

/* Up to one record after the first `skip` bytes; in place if that needs no copy. */
static struct iovec gather(struct endpoint *endpoint, const struct iovec *parts, size_t count,
			   size_t skip)
{
	size_t size = 0;

	while (count > 0 && skip >= parts->iov_len) {
		skip -= parts->iov_len;
		parts++, count--;
	}
	if (count == 0 || count == 1 || parts->iov_len - skip >= RECORD_BYTES) {
		size_t left = count == 0 ? 0 : parts->iov_len - skip;
		return (struct iovec){ .iov_base = left ? (char *)parts->iov_base + skip : NULL,
				       .iov_len = left < RECORD_BYTES ? left : RECORD_BYTES };
	}
	for (; count > 0 && size < RECORD_BYTES; parts++, count--, skip = 0) {
		size_t part = parts->iov_len - skip;
		part = part < RECORD_BYTES - size ? part : RECORD_BYTES - size;
		if (part > 0) {
			memcpy(endpoint->record + size, (const char *)parts->iov_base + skip, part);
		}
		size += part;
	}
	return (struct iovec){ .iov_base = endpoint->record, .iov_len = size };
}

/*
 * A record that was begun must be finished with the same bytes. It is: bytes that were not taken
 * come again in the same order, and at least as many.
 */
static ssize_t link_send(void *state, const struct iovec *parts, size_t count)
{
	struct link *link = state;
	size_t sent = 0;

	for (;;) {
		struct iovec piece = gather(link->endpoint, parts, count, sent);
		if (piece.iov_len == 0) {
			return (ssize_t)sent;
		}
		ssize_t n = outcome(link, tls_write(link->tls, piece.iov_base, piece.iov_len));
		if (n == HTTP_WANTS_OUTPUT) {
			return (ssize_t)sent;
		}
		if (n < 0) { /* needs to read first: only a renegotiating client does */
			link->failed = true;
			return -EPROTO;
		}
		sent += (size_t)n;
	}
}

static int link_end(void *state)
{
	struct link *link = state;

	if (!link->open || link->failed) {
		return 0;
	}
	int r = tls_close(link->tls);
	link->failed = r != TLS_WANT_POLLOUT; /* sent, or never to be sent */
	return link->failed ? 0 : HTTP_WANTS_OUTPUT;
}

static void link_free(void *state)
{
	struct link *link = state;

	tls_free(link->tls);
	identity_drop(link->identity);
	free(link);
}

/* --- the endpoint ----------------------------------------------------------------------------- */

static int configure(struct tls *server, struct tls_config *config,
		     const struct endpoint_texts *texts, struct brig_error *err)
{
	if (tls_config_set_keypair_mem(config, (const uint8_t *)texts->certificate,
				       texts->certificate_size, (const uint8_t *)texts->key,
				       texts->key_size) < 0 ||
	    tls_config_set_protocols(config, TLS_PROTOCOLS_DEFAULT) < 0 ||
	    tls_config_set_ciphers(config, CIPHERS) < 0 ||
	    tls_config_set_alpn(config, "http/1.1") < 0) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "TLS: %s", tls_config_error(config));
	}
	if (tls_configure(server, config) < 0) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "TLS: %s", tls_error(server));
	}
	/* OpenSSL has the key now; the text that it was parsed from is not needed. */
	tls_config_clear_keys(config);
	return 0;
}

static int identity_new(const struct endpoint_texts *texts, struct identity **ret,
			struct brig_error *err)
{
	struct identity *identity = calloc(1, sizeof(*identity));
	struct tls_config *config = tls_config_new();

	if (identity) {
		identity->holders = 1;
		identity->server = tls_server();
	}
	int r = identity && identity->server && config
			? configure(identity->server, config, texts, err)
			: error_errno(err, BRIG_E_SYSTEM, ENOMEM, "TLS");
	tls_config_free(config);
	if (r < 0) {
		identity_drop(identity);
		return r;
	}
	*ret = identity;
	return 0;
}

int endpoint_new(const struct endpoint_texts *texts, struct endpoint **ret, struct brig_error *err)
{
	int r = library_init(err);

	if (r < 0) {
		return r;
	}
	struct endpoint *endpoint = calloc(1, sizeof(*endpoint));
	if (!endpoint) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "TLS");
	}
	endpoint->transport = (struct http_transport){ .open = link_open,
						       .begin = link_begin,
						       .receive = link_receive,
						       .send = link_send,
						       .end = link_end,
						       .free = link_free,
						       .user = endpoint };
	r = identity_new(texts, &endpoint->identity, err);
	if (r < 0) {
		endpoint_free(endpoint);
		return r;
	}
	*ret = endpoint;
	return 0;
}

int endpoint_renew(struct endpoint *endpoint, const struct endpoint_texts *texts,
		   struct brig_error *err)
{
	struct identity *fresh = NULL;
	int r = identity_new(texts, &fresh, err);

	if (r < 0) {
		return r;
	}
	identity_drop(endpoint->identity);
	endpoint->identity = fresh;
	return 0;
}

void endpoint_free(struct endpoint *endpoint)
{
	if (endpoint) {
		identity_drop(endpoint->identity);
		free(endpoint);
	}
}

const struct http_transport *endpoint_transport(const struct endpoint *endpoint)
{
	return endpoint ? &endpoint->transport : NULL;
}
