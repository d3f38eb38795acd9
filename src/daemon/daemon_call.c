/* SPDX-License-Identifier: Apache-2.0 */
/* One call of the Engine API: see daemon_call.h. */
#include "daemon/daemon_call.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* So that an answer, or a large request, starves nothing else. */
#define PIECE_BYTES   16384u
#define PIECES_A_TURN 8u
#define FIELDS_MAX    64u

static const struct http1_rules rules = {
	.kind = HTTP1_RESPONSE,
	.head_bytes = DAEMON_HEAD_BYTES,
	.fields = FIELDS_MAX,
	.extra_bytes = 1024,
};

static int connect_error(const char *path, int errnum, struct brig_error *err)
{
	bool absent = errnum == ENOENT || errnum == ECONNREFUSED;
	int r = error_errno(err, BRIG_E_HOST, errnum, "cannot connect to the daemon's socket %s",
			    path);

	if (errnum == EACCES || errnum == EPERM) {
		error_remedy(err, "allow it: the socket's group may use the daemon, which makes "
				  "its members as powerful as the daemon's user");
	} else if (absent) {
		error_remedy(err, "start the daemon; or name its socket in the policy");
	} else {
		error_remedy(err,
			     "see whether the daemon answers: curl --unix-socket %s "
			     "http://d/_ping",
			     path);
	}
	return r;
}

static int open_socket(const char *path, struct brig_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(path);

	if (length >= sizeof(address.sun_path)) {
		return connect_error(path, ENAMETOOLONG, err);
	}
	memcpy(address.sun_path, path, length + 1);
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		return connect_error(path, errno, err);
	}
	return TAKE_FD(fd);
}

static void put_request(const struct daemon_request *request, struct buf *out)
{
	buf_addf(out, "%s %s HTTP/1.1\r\nHost: brig\r\n", request->method, request->path);
	buf_adds(out, request->upgrade ? "Connection: Upgrade\r\nUpgrade: tcp\r\n"
				       : "Connection: close\r\n");
	if (request->type) {
		buf_addf(out, "Content-Type: %s\r\n", request->type);
	}
	if (request->type || strcmp(request->method, "GET") != 0) {
		buf_addf(out, "Content-Length: %zu\r\n", request->size);
	}
	buf_adds(out, "\r\n");
	if (request->size) {
		buf_add(out, request->body, request->size);
	}
}

int daemon_call_on(struct daemon_call *call, int fd, const struct daemon_request *request)
{
	*call = (struct daemon_call){ .fd = fd,
				      .body_most = request->answer_bytes ? request->answer_bytes
									 : DAEMON_BODY_BYTES };
	http1_init(&call->reader, &rules);
	put_request(request, &call->request);
	return call->request.failed ? -ENOMEM : 0;
}

int daemon_call_begin(struct daemon_call *call, const char *socket,
		      const struct daemon_request *request, struct brig_error *err)
{
	*call = (struct daemon_call)DAEMON_CALL_NONE;
	int fd = open_socket(socket, err);
	if (fd < 0) {
		return fd;
	}
	int r = daemon_call_on(call, fd, request);
	return r < 0 ? error_set(err, BRIG_E_SYSTEM, -r, "no memory for a request") : 0;
}

void daemon_call_done(struct daemon_call *call)
{
	close_fd(&call->fd);
	buf_done(&call->request);
	buf_done(&call->head);
	buf_done(&call->body);
}

uint32_t daemon_call_events(const struct daemon_call *call)
{
	return EPOLLIN | (call->sent < call->request.size ? EPOLLOUT : 0);
}

/* --- the request ------------------------------------------------------------------------------ */

static int send_some(struct daemon_call *call)
{
	for (unsigned i = 0; i < PIECES_A_TURN && call->sent < call->request.size; i++) {
		size_t left = call->request.size - call->sent;
		ssize_t n =
			send(call->fd, call->request.data + call->sent,
			     left < PIECE_BYTES ? left : PIECE_BYTES, MSG_NOSIGNAL | MSG_DONTWAIT);
		/* A daemon may answer, and close, before it has read all: it reads no more. */
		if (n < 0 && errno == EPIPE) {
			call->sent = call->request.size;
			return 0;
		}
		if (n < 0) {
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		}
		call->sent += (size_t)n;
	}
	return 0;
}

/* --- the answer ------------------------------------------------------------------------------- */

static int wrong(const struct daemon_call *call, struct brig_error *err)
{
	int r = error_set(err, BRIG_E_HOST, EPROTO, "the daemon's answer is no HTTP: %s",
			  http1_error_text(call->reader.error));

	error_remedy(err, "see whether the socket is that of a container daemon");
	return r;
}

/* The head is complete. An interim answer is followed by another one. */
static int take_head(struct daemon_call *call, struct brig_error *err)
{
	if (!http1_read_fields(&call->reader, call->head.data) ||
	    !http1_begin_body(&call->reader, call->body_most)) {
		return wrong(call, err);
	}
	if (http1_is_interim(&call->reader)) {
		return wrong(call, err);
	}
	call->has_head = true;
	return 0;
}

/* After an upgrade these would be the stream's, before the container was started. */
static int refuse_more(struct brig_error *err)
{
	int r = error_set(err, BRIG_E_HOST, EPROTO, "the daemon sent more than its answer");

	error_remedy(err, "see whether the socket is that of a container daemon");
	return r;
}

static int take_bytes(struct daemon_call *call, const char *data, size_t size,
		      struct brig_error *err)
{
	struct http1_text input = { data, size }, part = { 0 };

	while (!call->over) {
		const char *before = input.at;
		enum http1_event event = http1_read(&call->reader, &input, &part);
		if (!call->has_head) {
			buf_add(&call->head, before, (size_t)(input.at - before));
		}
		if (event == HTTP1_DATA) {
			buf_add(&call->body, part.at, part.size);
		}
		if (call->head.failed || call->body.failed) {
			return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for an answer");
		}
		int r = event == HTTP1_WRONG  ? wrong(call, err)
			: event == HTTP1_HEAD ? take_head(call, err)
					      : 0;
		if (r < 0) {
			return r;
		}
		call->over = event == HTTP1_END;
		if (event == HTTP1_MORE) {
			break;
		}
	}
	return call->over && input.size > 0 ? refuse_more(err) : 0;
}

/* The daemon has closed the connection. */
static int take_end(struct daemon_call *call, struct brig_error *err)
{
	if (call->has_head && http1_close(&call->reader) == HTTP1_END) {
		call->over = true;
		return 1;
	}
	int r = error_set(err, BRIG_E_HOST, ECONNRESET,
			  "the daemon closed the connection before its answer was complete");
	error_remedy(err, "see the daemon's log");
	return r;
}

static int receive_some(struct daemon_call *call, struct brig_error *err)
{
	char piece[PIECE_BYTES];

	for (unsigned i = 0; i < PIECES_A_TURN && !call->over; i++) {
		ssize_t n = recv(call->fd, piece, sizeof(piece), MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			return 0;
		}
		int r = n > 0 ? take_bytes(call, piece, (size_t)n, err) : take_end(call, err);
		if (r < 0) {
			return r;
		}
	}
	return call->over ? 1 : 0;
}

int daemon_call_turn(struct daemon_call *call, struct brig_error *err)
{
	int r = send_some(call);

	if (r < 0) {
		return error_errno(err, BRIG_E_HOST, -r, "cannot send to the daemon");
	}
	return receive_some(call, err);
}

int daemon_ask(struct daemon_call *call, const char *socket, const struct daemon_request *request,
	       uint64_t deadline_ns, struct brig_error *err)
{
	int r = daemon_call_begin(call, socket, request, err);

	while (r == 0) {
		uint64_t now = clock_now_ns();
		if (now >= deadline_ns) {
			r = error_set(err, BRIG_E_HOST, ETIMEDOUT,
				      "the daemon at %s does not answer", socket);
			error_remedy(err, "restart the daemon, or look at its log");
			return r;
		}
		struct pollfd ready = { .fd = call->fd, .events = (short)daemon_call_events(call) };
		poll(&ready, 1, (int)((deadline_ns - now) / 1000000u) + 1);
		r = daemon_call_turn(call, err);
	}
	return r < 0 ? r : 0;
}
