/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the broker: see broker_client.h. */
#include "broker_client/broker_client.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/fdpass.h"
#include "broker_client/broker_messages.h"
#include "kernel/devices.h"

/*
 * The broker does one thing at a time, and each is short: if it is silent for so long, it is gone.
 */
#define PATIENCE_MS 10000

static int wait_for(int line, short events)
{
	struct pollfd ready = { .fd = line, .events = events };
	int n;

	do {
		n = poll(&ready, 1, PATIENCE_MS);
	} while (n < 0 && errno == EINTR);
	return n > 0 ? 0 : n == 0 ? -ETIMEDOUT : -errno;
}

static int send_question(int line, uint32_t kind, int fd)
{
	struct broker_message question = { .kind = kind };
	struct iovec part = { .iov_base = &question, .iov_len = sizeof(question) };
	int r = wait_for(line, POLLOUT);
	ssize_t n = r < 0 ? r : fdpass_send(line, &part, 1, &fd, fd >= 0 ? 1 : 0, 0);

	return n < 0 ? (int)n : 0;
}

/* `ret_fd` is the descriptor that was received, or -1. Fails only if there is no reply. */
static int take_answer(int line, uint32_t kind, int *result, int *ret_fd)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct broker_message answer;
	struct iovec part = { .iov_base = &answer, .iov_len = sizeof(answer) };
	struct msghdr header = { .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.space,
				 .msg_controllen = sizeof(control.space) };
	int r = wait_for(line, POLLIN);

	*ret_fd = -1;
	if (r < 0) {
		return r;
	}
	ssize_t n = recvmsg(line, &header, MSG_CMSG_CLOEXEC);
	if (n <= 0) {
		return n == 0 ? -EPIPE : -errno;
	}
	if (fdpass_take(&header, ret_fd, 1) > 1 || n != sizeof(answer) || answer.kind != kind) {
		return -EPROTO;
	}
	*result = answer.result;
	return 0;
}

static int ask(const struct broker *broker, uint32_t kind, int fd, int *ret_fd)
{
	int result = 0, r = send_question(broker->line, kind, fd);

	*ret_fd = -1;
	r = r < 0 ? r : take_answer(broker->line, kind, &result, ret_fd);
	if (r < 0 && broker->gone) {
		broker->gone();
	}
	return r < 0 ? r : result;
}

int broker_map(const struct broker *broker)
{
	_cleanup_close_ int fd = -1;

	return ask(broker, BROKER_MAP, -1, &fd);
}

int broker_devices(const struct broker *broker)
{
	_cleanup_close_ int fd = -1;

	if (!broker) {
		return devices_make();
	}
	int r = ask(broker, BROKER_DEVICES, -1, &fd);
	return r < 0 ? r : fd < 0 ? -EPROTO : TAKE_FD(fd);
}

bool owner_trusted(const struct broker *broker, int fd, const struct stat *st)
{
	_cleanup_close_ int none = -1;

	if (st->st_uid == 0 || st->st_uid == geteuid()) {
		return true;
	}
	return broker && ask(broker, BROKER_OWNED_BY_ROOT, fd, &none) == 1;
}

const char *owner_remedy(const struct broker *broker, int errnum)
{
	return broker && errnum == EACCES ? "the service reads it as a user of its own: chmod o+rX"
					  : NULL;
}
