/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS as a transport of HTTP: see endpoint.h. Each call may read a limited number of bytes from the
 * socket: a peer that sends only records without content must not keep the loop from other
 * connections.
 */
#include "http_tls/endpoint.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "tls/library.h"
#include "tls/pem.h"
#include "tls/tls_context.h"
#include "tls/tls_stream.h"

_Static_assert(HTTP_TRANSPORT_BYTES >= TLS_RECORD_BYTES, "a part of a record would be left behind");
_Static_assert(HTTP_WANTS_INPUT == TLS_WANTS_INPUT && HTTP_WANTS_OUTPUT == TLS_WANTS_OUTPUT,
	       "results are passed on as they are");

struct endpoint {
	SSL_CTX *context; /* of new connections; owned: open ones have their own reference */
	struct http_transport transport;
	char record[TLS_RECORD_BYTES]; /* parts of a response, put together */
};

struct link {
	struct endpoint *endpoint;
	struct tls_stream stream; /* owned; the socket is the connection's */
	bool open;                /* the handshake is done */
	bool failed;              /* nothing can be sent any more */
};

/* --- between HTTP and TLS --------------------------------------------------------------------- */

static void link_free(void *state)
{
	struct link *link = state;

	tls_stream_done(&link->stream);
	free(link);
}

static void *link_open(void *user, int fd)
{
	struct endpoint *endpoint = user;
	struct link *link = malloc(sizeof(*link));

	if (!link) {
		return NULL;
	}
	*link = (struct link){ .endpoint = endpoint, .stream.wire.fd = fd };
	if (tls_stream_init(&link->stream, endpoint->context) < 0) {
		link_free(link);
		return NULL;
	}
	return link;
}

/*
 * In version 1.3 the client sends the last message, and we send nothing that would carry the
 * acknowledgement: a client that waits for it before it sends its request would wait 40 ms.
 */
static void acknowledge(const struct link *link)
{
	static const int on = 1;

	setsockopt(link->stream.wire.fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
}

/* Has the peer sent a method of HTTP instead of a record? */
static bool is_clear(const struct socket_bio *wire)
{
	return wire->received > 0 && wire->opening >= 'A' && wire->opening <= 'Z';
}

static int link_begin(void *state)
{
	struct link *link = state;

	link->stream.wire.left = TLS_TURN_BYTES;
	int r = tls_stream_shake(&link->stream);
	link->open = r == 0;
	link->failed = r == -EPROTO;
	if (link->open) {
		acknowledge(link);
	}
	return link->failed && is_clear(&link->stream.wire) ? -EPROTOTYPE : r;
}

static ssize_t link_receive(void *state, void *data, size_t size)
{
	struct link *link = state;

	link->stream.wire.left = TLS_TURN_BYTES;
	ssize_t n = tls_stream_receive(&link->stream, data, size);
	link->failed = link->failed || n == -EPROTO;
	return n;
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
	if (count == 0 || count == 1 || parts->iov_len - skip >= TLS_RECORD_BYTES) {
		size_t left = count == 0 ? 0 : parts->iov_len - skip;
		return (struct iovec){ .iov_base = left ? (char *)parts->iov_base + skip : NULL,
				       .iov_len =
					       left < TLS_RECORD_BYTES ? left : TLS_RECORD_BYTES };
	}
	for (; count > 0 && size < TLS_RECORD_BYTES; parts++, count--, skip = 0) {
		size_t part = parts->iov_len - skip;
		part = part < TLS_RECORD_BYTES - size ? part : TLS_RECORD_BYTES - size;
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
		ssize_t n = tls_stream_send(&link->stream, piece.iov_base, piece.iov_len);
		if (n == TLS_WANTS_OUTPUT) {
			return (ssize_t)sent;
		}
		if (n <
		    0) { /* also if it needs to read first: the client has sent half a message */
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
	int r = tls_stream_end(&link->stream);
	link->failed = r == 0; /* sent, or never to be sent */
	return r;
}

/* --- the endpoint ----------------------------------------------------------------------------- */

/* false: library_reason() tells why. */
static bool use_certificates(SSL_CTX *context, const struct endpoint_texts *texts)
{
	_cleanup_(pem_certificates_free)
	STACK_OF(X509) *chain = NULL;

	if (pem_certificates(texts->certificate, texts->certificate_size, ENDPOINT_CHAIN_MAX,
			     &chain) < 0 ||
	    SSL_CTX_use_certificate(context, sk_X509_value(chain, 0)) != 1) {
		return false;
	}
	for (int i = 1; i < sk_X509_num(chain); i++) {
		if (SSL_CTX_add1_chain_cert(context, sk_X509_value(chain, i)) != 1) {
			return false;
		}
	}
	return true;
}

static bool use_key(SSL_CTX *context, const struct endpoint_texts *texts)
{
	EVP_PKEY *key = NULL;
	bool fine = pem_key(texts->key, texts->key_size, &key) == 0 &&
		    SSL_CTX_use_PrivateKey(context, key) == 1 &&
		    SSL_CTX_check_private_key(context) == 1;

	EVP_PKEY_free(key);
	return fine;
}

static int context_new(const struct endpoint_texts *texts, SSL_CTX **ret, struct brig_error *err)
{
	/*
	 * OpenSSL's own list also has X448, P-521 and finite fields, which no client depends on.
	 * Not const: the macro takes none.
	 */
	char groups[] = "X25519:P-256:P-384";
	SSL_CTX *context = tls_context_server(false);

	if (!context) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "TLS: %s", library_reason());
	}
	if (SSL_CTX_set1_groups_list(context, groups) != 1 || !use_certificates(context, texts) ||
	    !use_key(context, texts)) {
		SSL_CTX_free(context);
		return error_set(err, BRIG_E_INPUT, EINVAL, "TLS: %s", library_reason());
	}
	*ret = context;
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
	r = context_new(texts, &endpoint->context, err);
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
	SSL_CTX *fresh = NULL;
	int r = context_new(texts, &fresh, err);

	if (r < 0) {
		return r;
	}
	SSL_CTX_free(endpoint->context);
	endpoint->context = fresh;
	return 0;
}

void endpoint_free(struct endpoint *endpoint)
{
	if (endpoint) {
		SSL_CTX_free(endpoint->context);
		free(endpoint);
	}
}

const struct http_transport *endpoint_transport(const struct endpoint *endpoint)
{
	return endpoint ? &endpoint->transport : NULL;
}
