/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of the roles' messages with a hostile peer: records of any length, any number of
 * descriptors, in any order, while we answer; nothing passes that no rule allows, nothing stays
 * open, and `gone` is called once.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "role/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FDS_MAX   4
#define BLOCK_MAX 4096

enum kind { PLAIN = 1, ONE_FD, SOME_FDS, BLOCK, ORDERED, LAST };

struct end {
	struct message_peer *peer;
	unsigned gone;
	bool leaves; /* frees the peer from within a record */
};

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static void free_peer(struct end *end)
{
	message_peer_free(TAKE_PTR(end->peer));
}

static void gone(void *user, const char *why)
{
	struct end *end = user;

	check(why != NULL && end->gone++ == 0);
	if (end->leaves) {
		free_peer(end);
	}
}

static unsigned count_fds(const int fds[MESSAGE_FDS_MAX])
{
	unsigned count = 0;

	for (unsigned i = 0; i < MESSAGE_FDS_MAX; i++) {
		count += fds[i] >= 0;
	}
	return count;
}

/* All of the tail is read: a sanitizer would detect missing bytes. */
static uint8_t sum_of(const void *tail, size_t size)
{
	const uint8_t *bytes = tail;
	uint8_t sum = 0;

	for (size_t i = 0; i < size; i++) {
		sum = (uint8_t)(sum + bytes[i]);
	}
	return sum;
}

static int take_plain(void *user, const struct message *message, int fds[MESSAGE_FDS_MAX],
		      const void *tail, size_t tail_size)
{
	struct end *end = user;
	const struct message answer = { PLAIN, sum_of(tail, tail_size), message->serial, 0 };

	check(end->gone == 0 && count_fds(fds) == 0 && tail_size <= 64);
	(void)message_send(end->peer, &answer, NULL, 0, tail, tail_size);
	return 0;
}

static int take_fds(void *user, const struct message *message, int fds[MESSAGE_FDS_MAX],
		    const void *tail, size_t tail_size)
{
	struct end *end = user;
	unsigned count = count_fds(fds);

	(void)tail;
	check(tail_size == 0 && (message->kind == ONE_FD ? count == 1 : count <= 2));
	(void)message_send(end->peer, message, fds, count, NULL, 0);
	/* The first is kept, as a receiver may. */
	close_fd(&fds[0]);
	return 0;
}

static int take_block(void *user, const struct message *message, int fds[MESSAGE_FDS_MAX],
		      const void *tail, size_t tail_size)
{
	void *block = NULL;
	size_t size = 0;

	(void)user;
	(void)message;
	(void)tail;
	check(count_fds(fds) == 1 && tail_size == 0);
	int r = message_block_map(fds[0], BLOCK_MAX, &block, &size);
	if (r == 0) {
		check(size <= BLOCK_MAX);
		(void)sum_of(block, size);
		message_block_unmap(block, size);
	}
	return r;
}

static int take_ordered(void *user, const struct message *message, int fds[MESSAGE_FDS_MAX],
			const void *tail, size_t tail_size)
{
	(void)user;
	(void)fds;
	(void)sum_of(tail, tail_size);
	return message->value & 1 ? -EPROTO : 0;
}

static int take_last(void *user, const struct message *message, int fds[MESSAGE_FDS_MAX],
		     const void *tail, size_t tail_size)
{
	(void)message;
	(void)fds;
	(void)tail;
	(void)tail_size;
	free_peer(user);
	return 0;
}

static const struct message_rule rules[] = {
	{ PLAIN, "plain", 0, 0, 64, take_plain },
	{ ONE_FD, "one-fd", 1, 1, 0, take_fds },
	{ SOME_FDS, "some-fds", 0, 2, 0, take_fds },
	{ BLOCK, "block", 1, 1, 0, take_block },
	{ ORDERED, "ordered", 0, 1, MESSAGE_TAIL_MAX, take_ordered },
	{ LAST, "last", 0, 0, 0, take_last },
};

/* The descriptor that the peer sends: a block, whole, too large or empty; or none. */
static int make_fd(unsigned which)
{
	static const char zeros[BLOCK_MAX + 1];

	switch (which % 4) {
	case 0:
		return message_block_make("block", 5);
	case 1:
		return message_block_make(zeros, sizeof(zeros));
	case 2:
		return message_block_make(NULL, 0);
	default:
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
}

static void say(int line, const void *data, size_t size, unsigned count, unsigned which)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = (void *)(uintptr_t)data, .iov_len = size };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	int fds[FDS_MAX];

	for (unsigned i = 0; i < count; i++) {
		fds[i] = make_fd(which + i);
		check(fds[i] >= 0);
	}
	if (count) {
		header.msg_control = control.space;
		header.msg_controllen = CMSG_SPACE(count * sizeof(int));
		struct cmsghdr *cmsg = CMSG_FIRSTHDR(&header);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, count * sizeof(int));
	}
	(void)!sendmsg(line, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
	for (unsigned i = 0; i < count; i++) {
		close(fds[i]);
	}
}

static unsigned count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	check(dir != NULL);
	while (readdir(dir)) {
		count++;
	}
	closedir(dir);
	return count;
}

static void stop(void *user)
{
	loop_stop(user);
}

/* One round of the loop, whether there is something to do or not. */
static void turn(struct loop *loop)
{
	struct loop_timer now = { .due = stop, .user = loop };

	check(loop_timer_set(loop, &now, 1) == 0 && loop_run(loop) == 0);
	loop_timer_clear(&now);
}

/*
 * Each record is a head of three bytes (descriptors and their kind; the meaning of the length; the
 * length) and its content. A long one is padded: a tail can have 32 KiB.
 */
static void speak(struct loop *loop, struct end *end, int line, const uint8_t *data, size_t size)
{
	static uint8_t record[sizeof(struct message) + MESSAGE_TAIL_MAX + 64];

	while (size > 3 && end->peer && !end->gone) {
		unsigned count = data[0] % (FDS_MAX + 1), which = data[0] / (FDS_MAX + 1);
		size_t length = data[1] & 1 ? data[2] * (sizeof(record) / 255) : data[2];
		bool pauses = !(data[1] & 2); /* else several arrive at once */

		data += 3;
		size -= 3;
		size_t given = length < size ? length : size;
		memset(record, 0, sizeof(record));
		memcpy(record, data, given);
		data += given;
		size -= given;
		say(line, record, length, count, which);
		if (data[-1] & 1) {
			while (recv(line, record, sizeof(record), MSG_DONTWAIT) > 0) {
			}
		}
		if (pauses) {
			turn(loop);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned before = count_open();
	struct end end = { .leaves = size && data[0] & 1 };
	struct loop *loop = NULL;
	int pair[2];

	if (loop_new(&loop) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		abort();
	}
	check(message_peer_new(loop, pair[0], rules, ARRAY_SIZE(rules), gone, &end, &end.peer) ==
	      0);
	if (size) {
		speak(loop, &end, pair[1], data + 1, size - 1);
	}
	/* The end of the connection is the end of the peer, when everything before it was read. */
	close(pair[1]);
	for (int i = 0; i < 64 && end.peer && !end.gone; i++) {
		turn(loop);
	}
	check(!end.peer || end.gone == 1);
	free_peer(&end);
	loop_free(loop);
	check(count_open() == before);
	return 0;
}
