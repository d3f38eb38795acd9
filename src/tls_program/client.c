/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS to a service for a command of brig, which has a plain socket to this process. Bytes go
 * through one buffer in each direction; nothing is read into a buffer before it is empty, so a side
 * that does not read holds only the other one up. The exit status tells whether the service ended
 * its side: a connection that was cut must not look like the end of an answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "tls/library.h"
#include "tls/pem.h"
#include "tls/tls_context.h"
#include "tls/tls_stream.h"
#include "tls_program/tls_program.h"

#define AUTHORITIES_BYTES_MAX (16u << 20)

/* Bytes from `at` on are still to be sent. */
struct chunk {
	size_t at, size;
	char data[TLS_RECORD_BYTES];
};

struct relay {
	struct tls_stream stream;
	struct chunk up, down; /* to the service, to the command */
	short wants;           /* what TLS waits for beside the content: POLLIN, POLLOUT */
	bool over;             /* one side has ended */
};

/* --- trust ----------------------------------------------------------------------------------- */

static int read_text(const char *path, struct buf *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char data[8192];
	ssize_t n;

	if (fd < 0) {
		return -errno;
	}
	while ((n = read(fd, data, sizeof(data))) > 0) {
		buf_add(ret, data, (size_t)n);
		if (ret->failed || ret->size > AUTHORITIES_BYTES_MAX) {
			return -EFBIG;
		}
	}
	return n < 0 ? -errno : 0;
}

static int read_authorities(const char *path, X509_STORE **ret, struct brig_error *err)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };
	int r = read_text(path, &text);

	if (r < 0) {
		error_errno(err, BRIG_E_INPUT, -r, "cannot read authorities from %s", path);
		error_remedy(err, "install ca-certificates, or set BRIG_CA to your own file");
		return r;
	}
	*ret = pem_authorities(text.data, text.size);
	if (*ret) {
		return 0;
	}
	error_set(err, BRIG_E_INPUT, EINVAL,
		  "cannot read authorities from %s: it holds no certificate in PEM form, or one is "
		  "damaged",
		  path);
	error_remedy(err, "install ca-certificates again, or set BRIG_CA to your own file");
	return -EINVAL;
}

/* --- the handshake --------------------------------------------------------------------------- */

static int shake_failed(const SSL *ssl, const char *where, struct brig_error *err)
{
	long proof = SSL_get_verify_result(ssl);
	int r = proof == X509_V_OK
			? error_set(err, BRIG_E_SYSTEM, EPROTO, "TLS handshake with %s failed: %s",
				    where, library_reason())
			: error_set(err, BRIG_E_SYSTEM, EPROTO,
				    "TLS handshake with %s failed: certificate verification "
				    "failed: %s",
				    where, X509_verify_cert_error_string(proof));

	error_remedy(err,
		     "set BRIG_CA to a file with the authority that signed its certificate; use "
		     "http:// if that port has no TLS");
	return r;
}

/* false: the command has gone meanwhile. */
static bool wait_for(int r)
{
	struct pollfd ready[] = {
		{ .fd = FD_TLS_INPUT, .events = r == TLS_WANTS_INPUT ? POLLIN : POLLOUT },
		{ .fd = FD_TLS_LINE },
	};

	(void)poll(ready, ARRAY_SIZE(ready), -1);
	return !ready[1].revents;
}

static int shake(struct tls_stream *stream, const char *where, struct brig_error *err)
{
	int r;

	do {
		r = tls_stream_shake(stream);
	} while ((r == TLS_WANTS_INPUT || r == TLS_WANTS_OUTPUT) && wait_for(r));
	return r < 0 ? shake_failed(stream->ssl, where, err) : 0;
}

static int open_stream(char *const words[], struct tls_stream *stream, struct brig_error *err)
{
	X509_STORE *trusted = NULL;
	int r = library_init(err);

	r = r < 0 ? r : read_authorities(words[2], &trusted, err);
	if (r < 0) {
		return r;
	}
	SSL_CTX *context = tls_context_client(trusted);
	stream->wire.fd = FD_TLS_INPUT;
	stream->wire.left = SIZE_MAX; /* this process has nothing else to do */
	r = context && tls_stream_init(stream, context) == 0 && tls_name_peer(stream->ssl, words[0])
		    ? shake(stream, words[1], err)
		    : error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for TLS");
	SSL_CTX_free(context); /* the stream has its own reference */
	X509_STORE_free(trusted);
	return r;
}

/* --- the relay ------------------------------------------------------------------------------- */

static bool is_empty(const struct chunk *chunk)
{
	return chunk->at == chunk->size;
}

/* TLS's answer: bytes moved, or it waits, or -EPROTO. */
static int note(struct relay *relay, ssize_t n)
{
	relay->wants |= n == TLS_WANTS_INPUT ? POLLIN : n == TLS_WANTS_OUTPUT ? POLLOUT : 0;
	return n >= 0 ? 1 : n == -EPROTO ? -EPROTO : 0;
}

static bool must_wait(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Each of these four: 1 if something has moved, 0 if not, or -EPROTO. */
static int take_from_command(struct relay *relay)
{
	struct chunk *up = &relay->up;

	if (!is_empty(up)) {
		return 0;
	}
	ssize_t n = recv(FD_TLS_LINE, up->data, sizeof(up->data), MSG_DONTWAIT);
	if (must_wait(n)) {
		return 0;
	}
	relay->over = relay->over || n <= 0;
	up->at = 0;
	up->size = n > 0 ? (size_t)n : 0;
	return 1;
}

static int send_to_service(struct relay *relay)
{
	struct chunk *up = &relay->up;

	if (is_empty(up)) {
		return 0;
	}
	ssize_t n = tls_stream_send(&relay->stream, up->data + up->at, up->size - up->at);
	up->at += n > 0 ? (size_t)n : 0;
	return note(relay, n);
}

static int take_from_service(struct relay *relay)
{
	struct chunk *down = &relay->down;

	if (!is_empty(down)) {
		return 0;
	}
	ssize_t n = tls_stream_receive(&relay->stream, down->data, sizeof(down->data));
	relay->over = relay->over || n == 0;
	down->at = 0;
	down->size = n > 0 ? (size_t)n : 0;
	return note(relay, n);
}

static int send_to_command(struct relay *relay)
{
	struct chunk *down = &relay->down;

	if (is_empty(down)) {
		return 0;
	}
	ssize_t n = send(FD_TLS_LINE, down->data + down->at, down->size - down->at,
			 MSG_DONTWAIT | MSG_NOSIGNAL);
	if (must_wait(n)) {
		return 0;
	}
	relay->over = relay->over || n < 0;
	down->at += n > 0 ? (size_t)n : 0;
	return 1;
}

static void wait_for_either(struct relay *relay)
{
	struct pollfd ready[] = {
		{ .fd = FD_TLS_INPUT, .events = relay->wants },
		{ .fd = FD_TLS_LINE,
		  .events = (short)((is_empty(&relay->up) ? POLLIN : 0) |
				    (is_empty(&relay->down) ? 0 : POLLOUT)) },
	};

	(void)poll(ready, ARRAY_SIZE(ready), -1);
	/* With bytes for a service that does not read, the line is not read either. */
	relay->over = relay->over || (!is_empty(&relay->up) && (ready[1].revents & POLLHUP));
}

static int relay_run(struct relay *relay)
{
	static int (*const moves[])(struct relay * relay) = { take_from_command, send_to_service,
							      take_from_service, send_to_command };

	while (!relay->over) {
		int moved = 0;

		relay->wants = 0;
		for (size_t i = 0; i < ARRAY_SIZE(moves) && !relay->over; i++) {
			int r = moves[i](relay);
			if (r < 0) {
				return r;
			}
			moved |= r;
		}
		if (!moved) {
			wait_for_either(relay);
		}
	}
	return 0;
}

int tls_client_main(char *const words[])
{
	struct tls_answer answer = { 0 };
	struct relay relay = { 0 };
	int r = open_stream(words, &relay.stream, &answer.error);

	r = tls_answer_send(&answer, r) && r == 0 ? relay_run(&relay) : -EPROTO;
	if (r == 0) {
		(void)tls_stream_end(&relay.stream);
	}
	tls_stream_done(&relay.stream);
	return r < 0 ? TLS_STATUS_CUT : TLS_STATUS_FINE;
}
