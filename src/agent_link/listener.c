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
	if (!link->options.listener || !link->assigned || link->listened || link->passed < 0) {
		return -EPROTO;
	}
	link->listened = true;
	int r = fdpass_refuse(link->fd);
	return r < 0 ? r : link->options.listener(run, TAKE_FD(link->passed));
}

/*
 * Until the listener is here, a descriptor is taken with the bytes. Then none can be sent; before
 * Linux 6.16 the kernel drops those that a cell sends (unix(7)).
 */
ssize_t listener_receive(struct agent_link *link, size_t size)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = { .iov_base = link->in + link->in_have, .iov_len = size };
	bool takes = link->options.listener && !link->listened && link->passed < 0;
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = takes ? control.bytes : NULL,
				  .msg_controllen = takes ? sizeof(control.bytes) : 0 };
	ssize_t n = recvmsg(link->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n > 0 && takes) {
		fdpass_take(&message, &link->passed, 1);
	}
	return n;
}
