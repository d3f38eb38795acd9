/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon's bytes: the first one chooses between an answer, with all that reads its JSON, and the
 * stream of an attached container. Everything stays within its bounds.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/daemon.h"

#define SIZE_MAX_INPUT (64u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds) {
		abort();
	}
}

static void read_json(const struct buf *body)
{
	struct daemon_version version;
	struct daemon_info info;
	char id[DAEMON_ID_CHARS + 1], ids[DAEMON_STALE_MAX][DAEMON_ID_CHARS + 1], reason[64];
	pid_t pid = 0;

	(void)daemon_answer_version(body, &version);
	(void)daemon_answer_info(body, &info);
	must(daemon_answer_created(body, id) < 0 || strlen(id) == DAEMON_ID_CHARS);
	must(daemon_answer_pid(body, &pid) < 0 || pid >= 0);
	size_t stale = 0, all = daemon_answer_stale(body, "boot:1:2:3", ids, &stale);
	must(stale <= DAEMON_STALE_MAX && stale <= all);
	(void)daemon_answer_volumes(body);
	daemon_answer_reason(body, reason, sizeof(reason));
	must(memchr(reason, '\0', sizeof(reason)) != NULL);
}

static void read_answer(int fd)
{
	const struct daemon_request request = { .method = "GET", .path = "/" };
	_cleanup_(daemon_call_done)
	struct daemon_call call;
	int r = 0;

	must(daemon_call_on(&call, fd, &request) == 0);
	while (r == 0) {
		r = daemon_call_turn(&call, NULL);
	}
	must(call.head.size <= DAEMON_HEAD_BYTES && call.body.size <= DAEMON_BODY_BYTES);
	if (r == 1) {
		must(daemon_call_status(&call) >= 100 && daemon_call_status(&call) < 600);
		read_json(&call.body);
	}
}

static void read_stream(int fd, size_t most)
{
	struct demux demux = { 0 };
	char piece[256];
	size_t all = 0;
	ssize_t n;

	while ((n = demux_receive(&demux, fd, piece, sizeof(piece))) > 0 || errno == EINTR) {
		all += n > 0 ? (size_t)n : 0;
		errno = 0;
	}
	must(all <= most && demux.messages_size < DEMUX_STDERR_MAX);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int pair[2];

	if (size < 2 || size > SIZE_MAX_INPUT ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0) {
		return 0;
	}
	must(send(pair[1], data + 1, size - 1, MSG_NOSIGNAL) == (ssize_t)(size - 1));
	shutdown(pair[1], SHUT_WR);
	errno = 0;
	if (data[0] & 1) {
		read_answer(pair[0]);
	} else {
		read_stream(pair[0], size);
	}
	_cleanup_(buf_done)
	struct buf text = { 0 };
	buf_add(&text, data + 1, size - 1);
	read_json(&text);
	close(pair[1]);
	return 0;
}
