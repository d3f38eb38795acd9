/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors over a unix socket: see fdpass.h. */
#include "base/files/fdpass.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* asm-generic/socket.h */
#endif

ssize_t fdpass_send(int socket, const struct iovec *parts, size_t parts_count, const int *fds,
		    size_t fds_count, int flags)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * FDPASS_MAX)];
		struct cmsghdr align;
	} control;
	struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)parts,
				  .msg_iovlen = parts_count };
	ssize_t n;

	if (fds_count > FDPASS_MAX) {
		return -EINVAL;
	}
	if (fds_count) {
		size_t size = sizeof(int) * fds_count;

		memset(control.bytes, 0, CMSG_SPACE(size));
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(size);
		struct cmsghdr *head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(head), fds, size);
	}
	do {
		n = sendmsg(socket, &message, flags | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

size_t fdpass_take(struct msghdr *message, int *fds, size_t room)
{
	size_t came = 0;

	for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head;
	     head = CMSG_NXTHDR(message, head)) {
		if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) {
			continue;
		}
		size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++, came++) {
			int fd;
			memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof(fd));
			if (came < room) {
				fds[came] = fd;
			} else {
				close(fd);
			}
		}
	}
	return came;
}

int fdpass_refuse(int socket)
{
	int off = 0;

	if (setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off)) < 0) {
		/* Only unix sockets carry descriptors. */
		return errno == EOPNOTSUPP || errno == ENOTSOCK ? 1
		       : errno == ENOPROTOOPT                   ? 0
								: -errno;
	}
	return 1;
}
