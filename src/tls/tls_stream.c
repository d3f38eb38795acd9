/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of TLS connections: see tls_stream.h. */
#include "tls/tls_stream.h"

#include <limits.h>
#include <openssl/err.h>

int tls_stream_init(struct tls_stream *stream, SSL_CTX *context)
{
	stream->ssl = SSL_new(context);
	BIO *bio = stream->ssl ? socket_bio_new(&stream->wire) : NULL;

	if (!bio) {
		return -ENOMEM;
	}
	SSL_set_bio(stream->ssl, bio, bio);
	if (SSL_is_server(stream->ssl)) {
		SSL_set_accept_state(stream->ssl);
	} else {
		SSL_set_connect_state(stream->ssl);
	}
	return 0;
}

void tls_stream_done(struct tls_stream *stream)
{
	SSL_free(stream->ssl);
	stream->ssl = NULL;
	buf_done(&stream->wire.first);
}

/* The result of OpenSSL's last call, which was not a success. */
static int outcome(const struct tls_stream *stream, int r)
{
	switch (SSL_get_error(stream->ssl, r)) {
	case SSL_ERROR_WANT_READ:
		return TLS_WANTS_INPUT;
	case SSL_ERROR_WANT_WRITE:
		return TLS_WANTS_OUTPUT;
	default:
		return -EPROTO;
	}
}

static int at_most(size_t size)
{
	return size < INT_MAX ? (int)size : INT_MAX;
}

/* OpenSSL takes an error that is left from another call for one of this call. */
int tls_stream_shake(struct tls_stream *stream)
{
	ERR_clear_error();
	int r = SSL_do_handshake(stream->ssl);

	return r == 1 ? 0 : outcome(stream, r);
}

ssize_t tls_stream_receive(struct tls_stream *stream, void *data, size_t size)
{
	ERR_clear_error();
	int n = SSL_read(stream->ssl, data, at_most(size));

	if (n > 0) {
		return n;
	}
	return SSL_get_error(stream->ssl, n) == SSL_ERROR_ZERO_RETURN ? 0 : outcome(stream, n);
}

ssize_t tls_stream_send(struct tls_stream *stream, const void *data, size_t size)
{
	ERR_clear_error();
	int n = SSL_write(stream->ssl, data, at_most(size));

	return n > 0 ? n : outcome(stream, n);
}

int tls_stream_end(struct tls_stream *stream)
{
	ERR_clear_error();
	int r = SSL_shutdown(stream->ssl);

	return r < 0 && outcome(stream, r) == TLS_WANTS_OUTPUT ? TLS_WANTS_OUTPUT : 0;
}
