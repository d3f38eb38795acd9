/* SPDX-License-Identifier: Apache-2.0 */
/* How a connection's bytes travel: see carrier.h. In clear there is no call in between. */
#include "http/byte_stream.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/cleanup.h"

int carrier_open(struct carrier *carrier, const struct http_transport *transport)
{
	carrier->state = transport->open(transport->user, carrier->fd);
	if (!carrier->state) {
		return -ENOMEM;
	}
	carrier->transport = transport;
	return 0;
}

void carrier_forget(struct carrier *carrier)
{
	if (carrier->transport) {
		carrier->transport->free(TAKE_PTR(carrier->state));
		carrier->transport = NULL;
	}
}

void carrier_done(struct carrier *carrier)
{
	carrier_forget(carrier);
	close_fd(&carrier->fd);
}

int carrier_begin(const struct carrier *carrier)
{
	return carrier->transport ? carrier->transport->begin(carrier->state) : 0;
}

ssize_t carrier_discard(const struct carrier *carrier, void *room, size_t size)
{
	ssize_t n = recv(carrier->fd, room, size, MSG_DONTWAIT);

	return n < 0 ? -errno : n;
}

ssize_t carrier_receive(const struct carrier *carrier, void *data, size_t size)
{
	if (carrier->transport) {
		return carrier->transport->receive(carrier->state, data, size);
	}
	return carrier_discard(carrier, data, size);
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

ssize_t carrier_send(const struct carrier *carrier, const struct iovec *parts, size_t count)
{
	if (carrier->transport) {
		return carrier->transport->send(carrier->state, parts, count);
	}
	return send_clear(carrier->fd, parts, count);
}

int carrier_end(const struct carrier *carrier)
{
	int r = carrier->transport ? carrier->transport->end(carrier->state) : 0;

	if (r < 0) {
		return r;
	}
	return shutdown(carrier->fd, SHUT_WR) < 0 ? -errno : 0;
}
