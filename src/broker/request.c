/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one record from the warden and sends the reply: see broker_messages.h. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/files/fdpass.h"
#include "broker/broker.h"
#include "broker_client/broker_messages.h"

/* Space for more descriptors than are allowed, so that excess ones are noticed and closed. */
#define FDS_ROOM 4

/* The control data: the sender's pid and at most one descriptor. */
static int take_control(struct msghdr *header, struct broker_request *ret)
{
	int r = 0;

	for (struct cmsghdr *at = CMSG_FIRSTHDR(header); at; at = CMSG_NXTHDR(header, at)) {
		if (at->cmsg_level != SOL_SOCKET) {
			r = -EPROTO;
		} else if (at->cmsg_type == SCM_CREDENTIALS) {
			struct ucred who;
			memcpy(&who, CMSG_DATA(at), sizeof(who));
			ret->pid = who.pid;
		}
	}
	if (fdpass_take(header, &ret->fd, 1) > 1) {
		r = -EPROTO;
	}
	return header->msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? -EPROTO : r;
}

int broker_request_read(int line, struct broker_request *ret)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(FDS_ROOM * sizeof(int))];
	} control = { 0 };
	struct broker_message message;
	struct iovec part = { .iov_base = &message, .iov_len = sizeof(message) };
	struct msghdr header = { .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.space,
				 .msg_controllen = sizeof(control.space) };

	*ret = (struct broker_request){ .fd = -1 };
	ssize_t n = recvmsg(line, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n < 0) {
		return errno == ECONNRESET ? 0 : -errno;
	}
	/* The end of the stream has no sender; an empty record has one, and perhaps descriptors. */
	if (n == 0 && header.msg_controllen == 0) {
		return 0;
	}
	int r = take_control(&header, ret);
	if (r == 0 && (n != sizeof(message) || message.result != 0 || ret->pid <= 0)) {
		r = -EPROTO;
	}
	if (r < 0) {
		close_fd(&ret->fd);
		return r;
	}
	ret->kind = message.kind;
	return 1;
}

int broker_request_reply(int line, uint32_t kind, int result, int fd)
{
	struct broker_message message = { .kind = kind, .result = result };
	struct iovec part = { .iov_base = &message, .iov_len = sizeof(message) };
	ssize_t n = fdpass_send(line, &part, 1, &fd, fd >= 0 ? 1 : 0, MSG_DONTWAIT);

	return n < 0 ? (int)n : 0;
}
