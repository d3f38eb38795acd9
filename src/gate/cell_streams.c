/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of a cell that the gate shares no kernel with: streams of records on the line of
 * the cell (net/cell_stream.h), which the agent in the cell sends, and so the program, if it has
 * taken the agent over. Each stream is one end of a pair of sockets; the other end is a connection
 * like any other (connection/). A record that breaks the rules ends the gate, and so the run.
 *
 * Nothing grows without a bound: the number of streams is limited, each keeps at most a window of
 * bytes, and a line that is full stops all reading.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gate/connection/socket_watch.h"
#include "gate/gate.h"
#include "net/cell_stream.h"

/* A cell that floods its line delays nothing else. */
#define RECORDS_A_TURN 64

struct cell_stream {
	struct gate *gate;
	struct cell_stream *next, **link;
	uint32_t number;
	int fd; /* owned; -1: it is over, and only the record RESET is to be sent */
	struct socket_watch watch;
	unsigned char *pending; /* owned: bytes for the connection, when it takes none. NULL */
	size_t at, size;
	uint32_t room;   /* so many bytes the cell may still send */
	uint32_t taken;  /* passed on, and not yet reported */
	uint32_t unsent; /* so many bytes may still be sent to the cell */
	bool ended;      /* the cell sends no more */
	bool dry, told;  /* the connection sends no more; the cell was told */
	bool cut;        /* it ended early: the cell is to see a reset */
};

static void on_stream(void *user, uint32_t events);

static void stream_free(struct cell_stream *stream)
{
	socket_watch_done(&stream->watch);
	close_fd(&stream->fd);
	free(stream->pending);
	*stream->link = stream->next;
	if (stream->next) {
		stream->next->link = stream->link;
	}
	stream->gate->forwarded.count--;
	free(stream);
}

static struct cell_stream *find(const struct gate *gate, uint32_t number)
{
	struct cell_stream *stream = gate->forwarded.list;

	while (stream && stream->number != number) {
		stream = stream->next;
	}
	return stream;
}

/* --- to the cell ------------------------------------------------------------------------------ */

static void watch_line(struct gate *gate, bool full)
{
	gate->forwarded.full = full;
	(void)loop_change(gate->cell, EPOLLIN | (full ? EPOLLOUT : 0u));
}

/* False: the line is full. Records stay in order: then none is sent before the one that waits. */
static bool send_record(struct gate *gate, const void *record, size_t size)
{
	ssize_t n;

	if (gate->forwarded.full) {
		return false;
	}
	do {
		n = send(GATE_FD_CELL, record, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == ENOBUFS)) {
		watch_line(gate, true);
		return false;
	}
	return true; /* or the cell is gone, which ends the run */
}

static bool send_word(const struct cell_stream *stream, enum cell_record_kind kind, uint32_t value)
{
	unsigned char record[CELL_RECORD_HEAD + 4];

	cell_record_head(record, kind, stream->number);
	cell_taken_put(record + CELL_RECORD_HEAD, value);
	return send_record(stream->gate, record,
			   kind == CELL_TAKEN ? sizeof(record) : CELL_RECORD_HEAD);
}

static bool report_taken(struct cell_stream *stream)
{
	if (stream->taken < CELL_TAKEN_LEAST || stream->ended) {
		return true;
	}
	if (!send_word(stream, CELL_TAKEN, stream->taken)) {
		return false;
	}
	stream->room += stream->taken;
	stream->taken = 0;
	return true;
}

/* One piece of the connection's bytes, when it has some. */
static void pass_to_cell(struct cell_stream *stream)
{
	struct cell_streams *all = &stream->gate->forwarded;
	unsigned char record[CELL_RECORD_MAX];
	size_t most = stream->unsent < CELL_PIECE_MAX ? stream->unsent : CELL_PIECE_MAX;

	if (stream->dry || most == 0 || all->full) {
		return;
	}
	ssize_t n = recv(stream->fd, record + CELL_RECORD_HEAD, most, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	if (n <= 0) {
		stream->dry = true; /* the connection is over: it was not cut, or that was said */
		return;
	}
	stream->unsent -= (uint32_t)n;
	cell_record_head(record, CELL_DATA, stream->number);
	if (!send_record(stream->gate, record, CELL_RECORD_HEAD + (size_t)n)) {
		/* The only one: nothing is read from now on. */
		all->held_size = CELL_RECORD_HEAD + (size_t)n;
		memcpy(all->held, record, all->held_size);
	}
}

/* --- from the cell ---------------------------------------------------------------------------- */

/* Keeps what the connection does not take now. The window bounds it. 0 or -ENOMEM. */
static int keep(struct cell_stream *stream, const unsigned char *data, size_t size)
{
	if (size == 0) {
		return 0;
	}
	if (!stream->pending) {
		stream->pending = malloc(CELL_WINDOW);
		if (!stream->pending) {
			return -ENOMEM;
		}
	}
	if (stream->at > 0) {
		stream->size -= stream->at;
		memmove(stream->pending, stream->pending + stream->at, stream->size);
		stream->at = 0;
	}
	memcpy(stream->pending + stream->size, data, size);
	stream->size += size;
	return 0;
}

/* How much the connection has taken; or -errno: it is over. */
static ssize_t pass_on(struct cell_stream *stream, const unsigned char *data, size_t size)
{
	ssize_t n;

	do {
		n = send(stream->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0) {
		return errno == EAGAIN ? 0 : -errno;
	}
	stream->taken += (uint32_t)n;
	return n;
}

static int pass_pending(struct cell_stream *stream)
{
	while (stream->at < stream->size) {
		ssize_t n =
			pass_on(stream, stream->pending + stream->at, stream->size - stream->at);
		if (n <= 0) {
			return (int)n;
		}
		stream->at += (size_t)n;
	}
	stream->at = stream->size = 0;
	free(TAKE_PTR(stream->pending));
	return 0;
}

/* --- one stream ------------------------------------------------------------------------------- */

/* It is over: the cell sees a reset. */
static void cut(struct cell_stream *stream)
{
	socket_watch_done(&stream->watch);
	close_fd(&stream->fd);
	stream->cut = true;
}

static void stream_wait(struct cell_stream *stream)
{
	bool reads = !stream->dry && stream->unsent && !stream->gate->forwarded.full;
	bool writes = stream->at < stream->size;
	struct socket_watch_request wish = { .fd = stream->fd,
					     .events = (reads ? EPOLLIN : 0u) |
						       (writes ? EPOLLOUT : 0u),
					     .ready = on_stream,
					     .user = stream };

	if (socket_watch_set(&stream->watch, stream->gate->loop, &wish) < 0) {
		cut(stream);
	}
}

/* Does all that can be done now. The stream may be freed. */
static void stream_step(struct cell_stream *stream)
{
	if (!stream->cut && pass_pending(stream) < 0) {
		cut(stream);
	}
	if (!stream->cut) {
		if (stream->ended && stream->size == 0) {
			(void)shutdown(stream->fd, SHUT_WR);
		}
		pass_to_cell(stream);
		(void)report_taken(stream);
		if (stream->dry && !stream->told) {
			stream->told = send_word(stream, CELL_END, 0);
		}
	}
	bool done = stream->told && stream->ended && stream->size == 0;
	if (stream->cut ? send_word(stream, CELL_RESET, 0) : done) {
		stream_free(stream);
	} else if (!stream->cut) {
		stream_wait(stream);
	}
}

static void on_stream(void *user, uint32_t events)
{
	(void)events;
	stream_step(user);
}

void streams_cut(struct gate *gate, uint32_t number)
{
	struct cell_stream *stream = number ? find(gate, number) : NULL;

	if (stream && !stream->told) {
		cut(stream);
		if (send_word(stream, CELL_RESET, 0)) {
			stream_free(stream);
		}
	}
}

void streams_free_all(struct gate *gate)
{
	while (gate->forwarded.list) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it removes itself from the list */
		stream_free(gate->forwarded.list);
	}
}

/* --- records ---------------------------------------------------------------------------------- */

/* More streams than there may be, or no memory: refused, as the cell's own kernel would. */
static void refuse(struct gate *gate, uint32_t number)
{
	const struct cell_stream none = { .gate = gate, .number = number };

	report_refused(gate);
	/* On a full line it is lost: the program waits for as long as it wants. */
	(void)send_word(&none, CELL_RESET, 0);
}

static struct cell_stream *stream_new(struct gate *gate, uint32_t number, int *ret_inside)
{
	struct cell_streams *all = &gate->forwarded;
	struct cell_stream *stream =
		all->count < CELL_STREAMS_MAX ? calloc(1, sizeof(*stream)) : NULL;
	int pair[2];

	if (!stream || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair)) {
		free(stream);
		return NULL;
	}
	*stream = (struct cell_stream){ .gate = gate,
					.next = all->list,
					.link = &all->list,
					.number = number,
					.fd = pair[0],
					.room = CELL_WINDOW,
					.unsent = CELL_WINDOW };
	if (stream->next) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): one that was freed is in no list */
		stream->next->link = &stream->next;
	}
	all->list = stream;
	all->count++;
	*ret_inside = pair[1];
	return stream;
}

static int take_open(struct gate *gate, const struct cell_record *record)
{
	struct cell_origin origin = { .known = true, .stream = record->number };
	int inside = -1;

	if (record->number <= gate->forwarded.last ||
	    cell_target_get(record->data, &origin.to, &origin.port) < 0) {
		return -EPROTO;
	}
	gate->forwarded.last = record->number;
	struct cell_stream *stream = stream_new(gate, record->number, &inside);
	if (!stream) {
		refuse(gate, record->number);
		return 0;
	}
	stream_wait(stream);
	/* No rule has this port: queries are answered there. */
	if (origin.port == NET_DNS_PORT) {
		dns_stream_new(gate, inside);
	} else {
		connection_from(gate, inside, &origin);
	}
	return 0;
}

static int take_data(struct cell_stream *stream, const struct cell_record *record)
{
	size_t size = record->size, sent = 0;

	if (stream->ended || size > stream->room) {
		return -EPROTO;
	}
	stream->room -= (uint32_t)size;
	if (stream->cut) {
		return 0;
	}
	if (stream->size == 0) {
		ssize_t n = pass_on(stream, record->data, size);
		if (n < 0) {
			cut(stream);
			return 0;
		}
		sent = (size_t)n;
	}
	return keep(stream, record->data + sent, size - sent);
}

static int take_taken(struct cell_stream *stream, const struct cell_record *record)
{
	uint32_t taken = cell_taken_get(record->data);

	if (taken == 0 || taken > CELL_WINDOW - stream->unsent) {
		return -EPROTO;
	}
	stream->unsent += taken;
	return 0;
}

static int take_end(struct cell_stream *stream, const struct cell_record *record)
{
	(void)record;
	if (stream->ended) {
		return -EPROTO;
	}
	stream->ended = true;
	return 0;
}

static int take_of_stream(struct gate *gate, const struct cell_record *record)
{
	static int (*const takers[CELL_RECORD_KINDS])(struct cell_stream *,
						      const struct cell_record *) = {
		[CELL_DATA] = take_data,
		[CELL_TAKEN] = take_taken,
		[CELL_END] = take_end,
	};
	struct cell_stream *stream = find(gate, record->number);

	if (!stream) {
		/* One that is over: the record was on its way. */
		return record->number <= gate->forwarded.last && record->number ? 0 : -EPROTO;
	}
	if (record->kind == CELL_RESET) {
		stream_free(stream);
		return 0;
	}
	int r = takers[record->kind](stream, record);
	if (r == 0) {
		stream_step(stream);
	}
	return r;
}

static void take_query(struct gate *gate, const struct cell_record *record)
{
	unsigned char answer[CELL_RECORD_HEAD + CELL_QUERY_MAX];

	/* Without room for the answer the query is lost, as on any network. */
	if (gate->spent || gate->forwarded.full || !gate_charge(gate, record->size)) {
		return;
	}
	size_t size = gate_answer_query(gate, record->data, record->size, answer + CELL_RECORD_HEAD,
					CELL_QUERY_MAX);
	if (size && gate_charge(gate, size)) {
		cell_record_head(answer, CELL_ANSWER, record->number);
		(void)send_record(gate, answer, CELL_RECORD_HEAD + size);
	}
}

int streams_take(struct gate *gate, const unsigned char *data, size_t size)
{
	struct cell_record record;
	int r = cell_record_read(data, size, true, &record);

	if (r < 0) {
		return r;
	}
	if (record.kind == CELL_OPEN) {
		return take_open(gate, &record);
	}
	if (record.kind == CELL_QUERY) {
		take_query(gate, &record);
		return 0;
	}
	return take_of_stream(gate, &record);
}

/* There is room again: what had to wait is sent, and the connections are read. */
static void go_on(struct gate *gate)
{
	struct cell_streams *all = &gate->forwarded;

	watch_line(gate, false);
	if (all->held_size && !send_record(gate, all->held, all->held_size)) {
		return;
	}
	all->held_size = 0;
	for (struct cell_stream *stream = gate->forwarded.list, *next; stream; stream = next) {
		next = stream->next;
		stream_step(stream);
	}
}

static void on_line(void *user, uint32_t events)
{
	struct gate *gate = user;
	unsigned char record[CELL_RECORD_MAX + 1];

	if (events & EPOLLOUT) {
		go_on(gate);
	}
	for (int i = 0; i < RECORDS_A_TURN; i++) {
		ssize_t n = recv(GATE_FD_CELL, record, sizeof(record), MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			return;
		}
		if (n <= 0) {
			/* The warden's own end is closed: nothing more can come. */
			loop_remove(TAKE_PTR(gate->cell));
			return;
		}
		if (streams_take(gate, record, (size_t)n) < 0) {
			_exit(GATE_BROKEN_RULES);
		}
	}
}

int streams_begin(struct gate *gate)
{
	return loop_add(gate->loop, GATE_FD_CELL, EPOLLIN, on_line, gate, &gate->cell);
}
