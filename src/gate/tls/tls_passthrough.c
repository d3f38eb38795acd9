/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS that passes unopened, after its ClientHello. A server of TLS 1.3 may request a second
 * ClientHello, in clear as well, and take the name from there. So the program's bytes wait until
 * the server has answered: only when it has accepted the inspected ClientHello does the rest pass
 * without inspection. The server's bytes are followed as they pass, and never wait.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "gate/connection/connection.h"
#include "gate/tls/client_hello.h"

#define HELLO_TIMEOUT_NS 30000000000ull
#define PIECE_BYTES      4096
#define RECORD_HEAD      5
#define RECORD_MAX       (16384 + 256) /* encrypted, with the overhead */
#define RECORD_CHANGE    20
#define RECORD_HANDSHAKE 22
#define RECORD_DATA      23

bool connection_is_followed(const struct cell_connection *c)
{
	return c->hello == HELLO_SENT || c->hello == HELLO_AGAIN;
}

/* Charges these bytes as sent, and against the limit. */
static int pass_up(struct cell_connection *c, size_t size)
{
	if (size >= gate_budget(c->gate)) {
		return -EDQUOT;
	}
	buf_add(&c->head, c->first.data, size);
	if (c->head.failed) {
		return -ENOMEM;
	}
	memmove(c->first.data, c->first.data + size, c->first.size - size);
	c->first.size -= size;
	c->record.bytes_up += size;
	c->gate->bytes += size;
	return 0;
}

static void on_timeout(void *user)
{
	connection_end(user, GATE_UNREACHABLE);
}

int connection_follow_hello(struct cell_connection *c, size_t size)
{
	c->hello = HELLO_SENT;
	return pass_up(c, size);
}

int connection_follow_begin(struct cell_connection *c)
{
	if (!connection_is_followed(c) || c->timer.due == on_timeout) {
		return 0;
	}
	c->timer = (struct loop_timer){ .due = on_timeout, .user = c };
	return loop_timer_set(c->gate->loop, &c->timer, clock_now_ns() + HELLO_TIMEOUT_NS);
}

static int finish(struct cell_connection *c)
{
	c->hello = HELLO_DONE;
	loop_timer_clear(&c->timer);
	return c->first.size ? pass_up(c, c->first.size) : 0;
}

/* Which ClientHello does the server answer? It must be the last one that was inspected. */
static int judge_reply(struct cell_connection *c, unsigned retries_before)
{
	bool again = c->reply.retries > retries_before;

	if (c->hello == HELLO_AGAIN || c->reply.retries > 1 || (again && c->reply.decided)) {
		return again || c->reply.decided ? -EBADMSG : 0;
	}
	if (again) {
		c->hello = HELLO_AGAIN;
	}
	return c->reply.decided ? finish(c) : 0;
}

static int read_server(struct cell_connection *c)
{
	char data[PIECE_BYTES];
	uint64_t most = gate_budget(c->gate);
	ssize_t n = recv(c->outside, data, most < sizeof(data) ? (size_t)most : sizeof(data),
			 MSG_DONTWAIT);
	unsigned before = c->reply.retries;

	if (n < 0) {
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	}
	if (n == 0) {
		return finish(c); /* the pumps handle the end */
	}
	c->record.bytes_down += (uint64_t)n;
	c->gate->bytes += (uint64_t)n;
	c->back.size = c->back_sent = 0;
	buf_add(&c->back, data, (size_t)n);
	hello_reply_take(&c->reply, (const uint8_t *)data, (size_t)n);
	return c->back.failed ? -ENOMEM : judge_reply(c, before);
}

static int send_back(struct cell_connection *c)
{
	while (c->back_sent < c->back.size) {
		ssize_t n = send(c->inside, c->back.data + c->back_sent,
				 c->back.size - c->back_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0) {
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		}
		c->back_sent += (size_t)n;
	}
	return 0;
}

/*
 * Records that may come before the second ClientHello, such as early data, which the server drops.
 */
static int skip_record(struct cell_connection *c)
{
	const unsigned char *data = (const unsigned char *)c->first.data;
	size_t size = c->first.size < RECORD_HEAD ? 0 : (size_t)data[3] << 8 | data[4];

	if (data[0] < RECORD_CHANGE || data[0] > RECORD_DATA || size > RECORD_MAX) {
		return -EBADMSG;
	}
	if (c->first.size < RECORD_HEAD || c->first.size < RECORD_HEAD + size) {
		return -EAGAIN;
	}
	return pass_up(c, RECORD_HEAD + size);
}

static int inspect_records(struct cell_connection *c)
{
	int r = 0;

	while (r == 0 && c->hello == HELLO_AGAIN && c->first.size) {
		if (c->first.data[0] == RECORD_HANDSHAKE) {
			size_t size;
			r = connection_judge_hello(c, &size);
			r = r == 0 ? connection_follow_hello(c, size) : r;
		} else {
			r = skip_record(c);
		}
	}
	return r == -EAGAIN ? 0 : r;
}

static int read_program(struct cell_connection *c)
{
	int r = inspect_records(c);

	if (r < 0 || c->hello != HELLO_AGAIN || c->head_sent < c->head.size) {
		return r;
	}
	/* All of it was sent. */
	c->head.size = c->head_sent = 0;
	r = connection_read_first(c);
	return r == 1 ? inspect_records(c) : r;
}

int connection_follow(struct cell_connection *c)
{
	int r = send_back(c);

	if (r == 0 && connection_is_followed(c) && c->back_sent == c->back.size) {
		r = read_server(c);
	}
	if (r == 0) {
		r = send_back(c);
	}
	return r == 0 && c->hello == HELLO_AGAIN ? read_program(c) : r;
}
