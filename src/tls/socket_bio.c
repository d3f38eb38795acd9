/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets for OpenSSL: see socket_bio.h. */
#include "tls/socket_bio.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static int take_first(struct socket_bio *wire, char *data, int room)
{
	size_t left = wire->first.size - wire->first_taken;
	size_t size = left < (size_t)room ? left : (size_t)room;

	memcpy(data, wire->first.data + wire->first_taken, size);
	wire->first_taken += size;
	if (wire->first_taken == wire->first.size) {
		buf_done(&wire->first);
		wire->first_taken = 0;
	}
	return (int)size;
}

static int socket_bio_read(BIO *bio, char *data, int room)
{
	struct socket_bio *wire = BIO_get_data(bio);

	BIO_clear_retry_flags(bio);
	if (room <= 0) {
		return 0;
	}
	if (wire->first.size) {
		return take_first(wire, data, room);
	}
	size_t most = (size_t)room < wire->left ? (size_t)room : wire->left;
	ssize_t n = most ? recv(wire->fd, data, most, MSG_DONTWAIT) : -1;
	if (most == 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))) {
		BIO_set_retry_read(bio);
		return -1;
	}
	if (n > 0 && wire->received == 0) {
		wire->opening = *data;
	}
	wire->left -= n > 0 ? (size_t)n : 0;
	wire->received += n > 0 ? (uint64_t)n : 0;
	wire->over = n <= 0;
	return n < 0 ? -1 : (int)n;
}

static int socket_bio_write(BIO *bio, const char *data, int size)
{
	struct socket_bio *wire = BIO_get_data(bio);

	BIO_clear_retry_flags(bio);
	if (size <= 0) {
		return 0;
	}
	ssize_t n = send(wire->fd, data, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		BIO_set_retry_write(bio);
	}
	wire->sent += n > 0 ? (uint64_t)n : 0;
	return n < 0 ? -1 : (int)n;
}

static long socket_bio_control(BIO *bio, int what, long number, void *pointer)
{
	const struct socket_bio *wire = BIO_get_data(bio);

	(void)number;
	(void)pointer;
	return what == BIO_CTRL_FLUSH ? 1 : what == BIO_CTRL_EOF ? wire->over : 0;
}

/* One for the process: OpenSSL has numbers for 128 kinds. */
static const BIO_METHOD *socket_bio_method(void)
{
	static BIO_METHOD *known;
	BIO_METHOD *method =
		known ? NULL : BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");

	if (!method) {
		return known;
	}
	if (BIO_meth_set_read(method, socket_bio_read) != 1 ||
	    BIO_meth_set_write(method, socket_bio_write) != 1 ||
	    BIO_meth_set_ctrl(method, socket_bio_control) != 1) {
		BIO_meth_free(method);
		return NULL;
	}
	known = method;
	return known;
}

BIO *socket_bio_new(struct socket_bio *wire)
{
	const BIO_METHOD *method = socket_bio_method();
	BIO *bio = method ? BIO_new(method) : NULL;

	if (bio) {
		BIO_set_data(bio, wire);
		BIO_set_init(bio, 1);
	}
	return bio;
}
