/* SPDX-License-Identifier: Apache-2.0 */
/* X11: descriptors, open and in transit in sockets. usage: x11_descriptors BOUND */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "say.h"

#define EACH 16

static int send_some(int socket, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * EACH)];
		struct cmsghdr align;
	} control = { 0 };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int) * EACH);
	for (int i = 0; i < EACH; i++) {
		memcpy(CMSG_DATA(head) + sizeof(int) * (size_t)i, &fd, sizeof(int));
	}
	return sendmsg(socket, &message, MSG_DONTWAIT) < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	int bound = argc > 1 ? atoi(argv[1]) : 0;
	int opened = 0, sent = 0, last = 0, pair[2];

	/* Messages of one byte, in as many sockets as necessary. */
	while (sent < bound && socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0) {
		while (sent < bound && send_some(pair[0], 0) == 0) {
			sent += EACH;
		}
		if (errno == ETOOMANYREFS) {
			break;
		}
	}
	say("sent", "%d", sent);
	say("sent_end", "%s", sent < bound ? outcome(-1) : "OK");
	close_range(3, ~0u, 0);
	while (opened < bound && (last = open("/dev/null", O_RDONLY)) >= 0) {
		opened++;
	}
	say("opened", "%d", opened);
	say("opened_end", "%s", outcome(last));
	return 0;
}
