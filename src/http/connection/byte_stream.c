/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a connection: see byte_stream.h. Without a transport the socket is used directly. */
#include "http/connection/byte_stream.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/cleanup.h"

int byte_stream_open(struct byte_stream *byte_stream, const struct http_transport *transport)
{
	byte_stream->state = transport->open(transport->user, byte_stream->fd);
	if (!byte_stream->state) {
		return -ENOMEM;
	}
	byte_stream->transport = transport;
	return 0;
}

void byte_stream_forget(struct byte_stream *byte_stream)
{
	if (byte_stream->transport) {
		byte_stream->transport->free(TAKE_PTR(byte_stream->state));
		byte_stream->transport = NULL;
	}
}

void byte_stream_done(struct byte_stream *byte_stream)
{
	byte_stream_forget(byte_stream);
	close_fd(&byte_stream->fd);
}

int byte_stream_begin(const struct byte_stream *byte_stream)
{
	return byte_stream->transport ? byte_stream->transport->begin(byte_stream->state) : 0;
}

ssize_t byte_stream_discard(const struct byte_stream *byte_stream, void *room, size_t size)
{
	ssize_t n = recv(byte_stream->fd, room, size, MSG_DONTWAIT);

	return n < 0 ? -errno : n;
}

ssize_t byte_stream_receive(const struct byte_stream *byte_stream, void *data, size_t size)
{
	if (byte_stream->transport) {
		return byte_stream->transport->receive(byte_stream->state, data, size);
	}
	return byte_stream_discard(byte_stream, data, size);
}

static ssize_t send_clear(int fd, const struct iovec *parts, size_t count)
{
	struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)parts,
				  .msg_iovlen = count };
	ssize_t n;

	do {
		n = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0) {
		return errno == EAGAIN ? 0 : -errno;
	}
	return n;
}

ssize_t byte_stream_send(const struct byte_stream *byte_stream, const struct iovec *parts,
			 size_t count)
{
	if (byte_stream->transport) {
		return byte_stream->transport->send(byte_stream->state, parts, count);
	}
	return send_clear(byte_stream->fd, parts, count);
}

int byte_stream_end(const struct byte_stream *byte_stream)
{
	int r = byte_stream->transport ? byte_stream->transport->end(byte_stream->state) : 0;

	if (r < 0) {
		return r;
	}
	return shutdown(byte_stream->fd, SHUT_WR) < 0 ? -errno : 0;
}
