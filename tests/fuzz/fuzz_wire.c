/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status records of a cell's init, as the warden receives them: any bytes, in any order, with
 * any number of descriptors. Only whole records in order are accepted, and no descriptor stays
 * open.
 *
 * Input: messages of one byte of size, one byte of descriptor count, and the bytes themselves.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "native/messages/wire.h"

#define MESSAGES_MAX 32
#define SENT_FDS_MAX 10

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds) {
		abort();
	}
}

static void send_raw(int socket, const uint8_t *data, size_t size, int fd, unsigned fds_count)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * SENT_FDS_MAX)];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	struct iovec iov = { (void *)(uintptr_t)data, size };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fds_count) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * fds_count);
		struct cmsghdr *head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int) * fds_count);
		for (unsigned i = 0; i < fds_count; i++) {
			memcpy(CMSG_DATA(head) + i * sizeof(int), &fd, sizeof(int));
		}
	}
	must(sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)size);
}

/* An accepted record is what was sent, and moves the state only forward. */
static void hear(int socket, enum wire_state *state, const uint8_t *sent, size_t size)
{
	struct wire_record record;
	int fds[WIRE_FDS_MAX];
	unsigned count = ~0u;
	int r = wire_receive(socket, &record, fds, &count);

	must(r == 1 || r == 0 || r == -EPROTO);
	must(count <= WIRE_FDS_MAX && (r == 1 || count == 0));
	if (r == 1) {
		enum wire_state before = *state;
		must(size == sizeof(record) && memcmp(&record, sent, size) == 0);
		int checked = wire_check(state, &record, count);
		must(checked == 0 ? *state > before : checked == -EPROTO && *state == before);
		must(before != WIRE_ENDED || checked < 0);
	}
	for (unsigned i = 0; i < count; i++) {
		must(fcntl(fds[i], F_GETFD) == FD_CLOEXEC);
		close(fds[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int ends[2];
	enum wire_state state = WIRE_SETTING_UP;
	int first_free = dup(0);

	must(first_free >= 0 && close(first_free) == 0);
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	for (int n = 0; n < MESSAGES_MAX && size >= 2; n++) {
		/* Most messages of the right size, or the order is hardly tested. */
		size_t length = data[0] < 128 ? sizeof(struct wire_record) : data[0] - 128u;
		unsigned fds = data[1] % (SENT_FDS_MAX + 1);
		data += 2;
		size -= 2;
		length = length < size ? length : size;
		send_raw(ends[1], data, length, ends[1], fds);
		hear(ends[0], &state, data, length);
		data += length;
		size -= length;
	}
	close(ends[1]);
	hear(ends[0], &state, NULL, 0);
	close(ends[0]);
	int again = dup(0);
	must(again == first_free && close(again) == 0); /* nothing stayed open */
	return 0;
}
