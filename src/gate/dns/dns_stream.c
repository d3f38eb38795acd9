/* SPDX-License-Identifier: Apache-2.0 */
/* DNS queries by TCP: a few at a time, one answer each, then the connection ends. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "gate/gate.h"

#define STREAMS_MAX       16
#define SERVER_TIMEOUT_NS 5000000000ull

struct dns_stream {
	struct gate *gate;
	int fd; /* owned */
	struct loop_source *source;
	struct loop_timer timer;
	uint8_t data[2 + 512];
	size_t used;
};

static void end(struct dns_stream *stream)
{
	loop_remove(stream->source);
	loop_timer_clear(&stream->timer);
	close_fd(&stream->fd);
	stream->gate->streams--;
	free(stream);
}

static void on_timeout(void *user)
{
	end(user);
}

static void on_ready(void *user, uint32_t events)
{
	struct dns_stream *stream = user;
	uint8_t out[2 + 512];
	ssize_t n = recv(stream->fd, stream->data + stream->used,
			 sizeof(stream->data) - stream->used, MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	stream->used += n > 0 ? (size_t)n : 0;
	size_t want = stream->used < 2 ? 2 : 2 + ((size_t)stream->data[0] << 8 | stream->data[1]);
	if (n > 0 && (stream->used < 2 || (stream->used < want && want <= sizeof(stream->data)))) {
		return;
	}
	if (n > 0 && want <= sizeof(stream->data) && gate_charge(stream->gate, want)) {
		size_t size = gate_answer_query(stream->gate, stream->data + 2, want - 2, out + 2,
						sizeof(out) - 2);
		out[0] = (uint8_t)(size >> 8);
		out[1] = (uint8_t)size;
		if (size && gate_charge(stream->gate, size + 2)) {
			(void)send(stream->fd, out, size + 2, MSG_DONTWAIT | MSG_NOSIGNAL);
		}
	}
	end(stream);
}

void dns_stream_new(struct gate *gate, int fd)
{
	struct dns_stream *stream = gate->streams < STREAMS_MAX ? calloc(1, sizeof(*stream)) : NULL;

	if (!stream) {
		close(fd);
		return;
	}
	stream->gate = gate;
	stream->fd = fd;
	stream->timer = (struct loop_timer){ .due = on_timeout, .user = stream };
	gate->streams++;
	if (loop_add(gate->loop, fd, EPOLLIN, on_ready, stream, &stream->source) < 0 ||
	    loop_timer_set(gate->loop, &stream->timer, clock_now_ns() + SERVER_TIMEOUT_NS) < 0) {
		end(stream);
	}
}
