/* SPDX-License-Identifier: Apache-2.0 */
/* The channel to a session's driver: see session_channel.h. */
#include "lib/session/session_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "run/run.h"

#define HEAD_BYTES 64 /* the longest first line of an answer, with its end */

int channel_adopt(struct channel *channel, int fd)
{
	int on = 1;

	*channel = (struct channel){ .fd = fd };
	/* Only our end is non-blocking: the driver's end is a plain blocking file. */
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0) {
		return -errno;
	}
	return plain_socket_begin(fd, true, &channel->plain);
}

int channel_make(struct channel *channel, int *inside)
{
	int ends[2];

	*channel = (struct channel){ .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		return -errno;
	}
	*inside = ends[1];
	return channel_adopt(channel, ends[0]);
}

void channel_done(struct channel *channel)
{
	plain_socket_close(&channel->fd);
	buf_done(&channel->out);
	buf_done(&channel->in);
	*channel = (struct channel){ .fd = -1 };
}

int channel_send_run(struct channel *channel, const struct brig_request *request)
{
	size_t code_size = request->code_size ? request->code_size : strlen(request->code);
	unsigned args = 0;

	for (const char *const *arg = request->args; arg && *arg; arg++) {
		args++;
	}
	buf_done(&channel->out);
	channel->at = 0;
	buf_addf(&channel->out, "run %llu %zu %zu %u %d\n", (unsigned long long)++channel->serial,
		 code_size, request->stdin_size, args, request->want_value);
	buf_add(&channel->out, request->code, code_size);
	buf_add(&channel->out, request->stdin_data, request->stdin_size);
	for (const char *const *arg = request->args; arg && *arg; arg++) {
		buf_add(&channel->out, *arg, strlen(*arg) + 1);
	}
	channel_enter(channel, CHANNEL_AWAITING);
	return channel->out.failed ? -ENOMEM : 0;
}

int channel_pump(struct channel *channel)
{
	while (channel->fd >= 0 && channel_wants_write(channel)) {
		ssize_t n = send(channel->fd, channel->out.data + channel->at,
				 channel->out.size - channel->at, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR) {
			return errno == EAGAIN ? 0 : -errno;
		}
		channel->at += n > 0 ? (size_t)n : 0;
	}
	if (!channel_wants_write(channel)) {
		buf_done(&channel->out); /* code and input can be large, and idle sessions many */
		channel->at = 0;
	}
	return 0;
}

/* Also receives the sender's pid from the kernel: our driver's, as no tenant's code has run yet. */
static ssize_t receive_first(struct channel *channel, char *data, size_t size)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec part = { data, size };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(channel->fd, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_CREDENTIALS) {
		struct ucred sender;
		memcpy(&sender, CMSG_DATA(head), sizeof(sender));
		channel->driver = sender.pid;
	}
	return n < 0 ? -errno : n;
}

static int receive(struct channel *channel, size_t most)
{
	char chunk[4096];
	size_t size = most < sizeof(chunk) ? most : sizeof(chunk);
	ssize_t n = channel->state == CHANNEL_OPENING
			    ? receive_first(channel, chunk, size)
			    : plain_socket_receive(channel->fd, &channel->plain, chunk, size);

	if (n < 0) {
		return n == -EAGAIN || n == -EINTR ? 0 : n == -EPROTO ? -EPROTO : -EPIPE;
	}
	if (n == 0) {
		return -EPIPE;
	}
	buf_add(&channel->in, chunk, (size_t)n);
	return channel->in.failed ? -ENOMEM : 1;
}

/* Only digits, at most 20; moves `*at` past the byte that ends them. */
static bool take_number(const char **at, char end, uint64_t most, uint64_t *ret)
{
	uint64_t value = 0;
	const char *text = *at;
	unsigned count = 0;

	for (; text[count] >= '0' && text[count] <= '9' && count < 20; count++) {
		unsigned digit = (unsigned)(text[count] - '0');
		if (value > (UINT64_MAX - digit) / 10) {
			return false;
		}
		value = value * 10 + digit;
	}
	if (count == 0 || text[count] != end || value > most) {
		return false;
	}
	*at = text + count + 1;
	*ret = value;
	return true;
}

/* The first line was received. 1: so was the whole answer; 0: the value is incomplete; -EPROTO. */
static int read_answer(struct channel *channel, struct channel_answer *ret)
{
	static const char ready[] = "ready\n";
	static const char *const words[] = { "done ", "stopped ", "refused " };
	size_t word = 0;
	const char *at = channel->in.data;
	uint64_t serial, status, size;

	if (channel->state == CHANNEL_OPENING) {
		if (channel->in.size != sizeof(ready) - 1 ||
		    memcmp(at, ready, sizeof(ready) - 1) != 0) {
			return -EPROTO;
		}
		*ret = (struct channel_answer){ .value = "" };
		return 1;
	}
	while (word < ARRAY_SIZE(words) && strncmp(at, words[word], strlen(words[word])) != 0) {
		word++;
	}
	if (word >= (channel->guarded ? ARRAY_SIZE(words) : 1)) {
		return -EPROTO;
	}
	at += strlen(words[word]);
	if (!take_number(&at, ' ', UINT64_MAX, &serial) || serial != channel->serial ||
	    !take_number(&at, ' ', 255, &status) ||
	    !take_number(&at, '\n', RUN_VALUE_BYTES, &size)) {
		return -EPROTO;
	}
	size_t head = (size_t)(at - channel->in.data);
	if (channel->in.size > head + size) {
		return -EPROTO; /* more than one answer */
	}
	*ret = (struct channel_answer){
		.done = true,
		.stopped = word == 1,
		.refused = word == 2,
		.status = (int)status,
		.value = at,
		.value_size = (size_t)size,
	};
	return channel->in.size == head + size;
}

void channel_forget(struct channel *channel)
{
	int off = 0;

	if (channel->state == CHANNEL_OPENING) {
		setsockopt(channel->fd, SOL_SOCKET, SO_PASSCRED, &off, sizeof(off));
	}
	if (channel->state != CHANNEL_IDLE) {
		channel_enter(channel, CHANNEL_IDLE);
	}
	buf_done(&channel->in);
}

int channel_receive(struct channel *channel, struct channel_answer *ret)
{
	/* The length of an answer is bounded, and so is the number of rounds. */
	for (;;) {
		int r = receive(channel, HEAD_BYTES + RUN_VALUE_BYTES);
		if (r <= 0) {
			return r;
		}
		if (channel->state == CHANNEL_IDLE) {
			return -EPROTO;
		}
		const char *end = memchr(channel->in.data, '\n', channel->in.size);
		if (!end && channel->in.size < HEAD_BYTES) {
			continue;
		}
		r = end && end - channel->in.data < HEAD_BYTES ? read_answer(channel, ret)
							       : -EPROTO;
		if (r != 0) {
			return r;
		}
	}
}
