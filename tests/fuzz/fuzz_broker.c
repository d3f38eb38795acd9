/* SPDX-License-Identifier: Apache-2.0 */
/* The broker with a hostile warden: any bytes, any number of descriptors, in any order. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/broker.h"
#include "broker_client/broker_messages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FDS_MAX 6

static void say(int line, const uint8_t *data, size_t size, unsigned fds)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = (void *)(uintptr_t)data, .iov_len = size };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fds) {
		header.msg_control = control.space;
		header.msg_controllen = CMSG_SPACE(fds * sizeof(int));
		struct cmsghdr *cmsg = CMSG_FIRSTHDR(&header);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(fds * sizeof(int));
		for (unsigned i = 0; i < fds; i++) {
			memcpy(CMSG_DATA(cmsg) + i * sizeof(int), &line, sizeof(int));
		}
	}
	(void)!sendmsg(line, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* A byte gives the number of descriptors and the length of the record; then the record. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Not a child of the supervisor: no process ever gets ids by this. */
	struct broker_state broker = { .supervisor = -2 };
	int pair[2], on = 1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		return 0;
	}
	setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	broker.phase = size && data[0] & 1 ? PHASE_MAPPED : PHASE_NEW;
	while (size > 1) {
		unsigned fds = data[0] % (FDS_MAX + 1);
		size_t length = data[0] / (FDS_MAX + 1) % 17;
		struct broker_request request;
		int answer = -1;

		data++;
		size--;
		length = length < size ? length : size;
		say(pair[0], data, length, fds);
		data += length;
		size -= length;
		int r = broker_request_read(pair[1], &request);
		if (r < 0 && request.fd >= 0) {
			abort(); /* a refused record leaves nothing behind */
		}
		/* Mounts are for the other tests: here they would accumulate. */
		if (r == 1 && request.kind != BROKER_DEVICES) {
			(void)broker_handle(&broker, &request, &answer);
		}
		close_fd(&request.fd);
		close_fd(&answer);
	}
	close(pair[0]);
	close(pair[1]);
	if (broker.phase == PHASE_COUNT) {
		abort();
	}
	return 0;
}
