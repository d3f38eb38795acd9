/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listener of the program's filter, which comes with a frame over a Unix socket. It is the only
 * descriptor that is ever taken from a cell, and it was sent before the program could begin.
 */
#include <errno.h>
#include <sys/socket.h>

#include "agent_link/agent_link.h"
#include "base/cleanup.h"
#include "base/files/fdpass.h"

bool listener_is_due(const struct agent_link *link, const struct spec *spec)
{
	return link->options.listener && spec->filter && !link->listened;
}

int listener_take(struct agent_link *link, struct run *run)
{
	if (!link->options.listener || !(link->assigned || link->holds) || link->listened ||
	    link->passed < 0) {
		return -EPROTO;
	}
	link->listened = true;
	/* The program may have begun, and have sent some. */
	int r = plain_socket_begin(link->fd, false, &link->plain);
	return r < 0 ? r : link->options.listener(run, TAKE_FD(link->passed));
}

/* Brig's own agent sends it, before there is a program. */
static ssize_t receive_with_descriptor(struct agent_link *link, size_t size)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = { .iov_base = link->in + link->in_have, .iov_len = size };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	ssize_t n = recvmsg(link->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n > 0) {
		fdpass_take(&message, &link->passed, 1);
	}
	return n < 0 ? -errno : n;
}

ssize_t listener_receive(struct agent_link *link, const struct spec *spec, size_t size)
{
	if (listener_is_due(link, spec) && link->passed < 0) {
		return receive_with_descriptor(link, size);
	}
	return plain_socket_receive(link->fd, &link->plain, link->in + link->in_have, size);
}
