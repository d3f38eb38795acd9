/* SPDX-License-Identifier: Apache-2.0 */
/* One end of a line: see line.h. */
#include "vm_line/line.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "framed/frame.h"

#define CHUNK_BYTES 4096u
#define LOOK_MS     1000
/* Answers for less than this wait until nothing is pending. */
#define TELL_BYTES (LINE_WINDOW / 4)

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

void line_init(struct line *line, bool guest)
{
	*line = (struct line){ .guest = guest, .byte_ms = now_ms() };
	packet_writer_init(&line->out);
	packet_reader_init(&line->in);
	line->text_end = !guest;
	if (guest) {
		packet_put(&line->out, PACKET_FIRST, PACKET_HELLO, strlen(PACKET_HELLO));
	}
}

/* --- from the wire ---------------------------------------------------------------------------- */

static int take_first(struct line *line)
{
	if (line->met || memcmp(packet_data(&line->in), PACKET_HELLO, strlen(PACKET_HELLO)) != 0) {
		return -EPROTO;
	}
	line->met = true;
	if (!line->guest) {
		packet_put(&line->out, PACKET_FIRST, PACKET_HELLO, strlen(PACKET_HELLO));
	}
	return 0;
}

/* More than the window is never sent by an honest end. */
static int take_data(struct line *line)
{
	size_t size = packet_size(&line->in);

	if (size > sizeof(line->pending) - (line->size - line->at) - line->taken) {
		return -EPROTO;
	}
	if (line->at > 0) {
		line->size -= line->at;
		memmove(line->pending, line->pending + line->at, line->size);
		line->at = 0;
	}
	memcpy(line->pending + line->size, packet_data(&line->in), size);
	line->size += size;
	return 0;
}

static int take_taken(struct line *line)
{
	uint32_t bytes = frame_get_u32(packet_data(&line->in));

	if (bytes == 0 || bytes > line->sent) {
		return -EPROTO;
	}
	line->sent -= bytes;
	return 0;
}

/* A log that nobody reads must not hold up the stream. */
static int take_report(struct line *line)
{
	struct pollfd ready = { .fd = line->text, .events = POLLOUT };

	if (poll(&ready, 1, 0) > 0 && (ready.revents & POLLOUT)) {
		(void)!write(line->text, packet_data(&line->in), packet_size(&line->in));
	}
	return 0;
}

static int take_end(struct line *line)
{
	line->ended = true;
	return 0;
}

static const struct {
	int (*take)(struct line *line);
	bool of_guest; /* only the guest sends it */
} kinds[PACKET_KINDS] = {
	[PACKET_FIRST] = { take_first, false }, [PACKET_DATA] = { take_data, false },
	[PACKET_TAKEN] = { take_taken, false }, [PACKET_REPORT] = { take_report, true },
	[PACKET_END] = { take_end, true },
};

static int take_packet(struct line *line, int kind)
{
	bool first = kind == PACKET_FIRST;

	if (line->ended || first == line->met || (kinds[kind].of_guest && line->guest)) {
		return -EPROTO;
	}
	return kinds[kind].take(line);
}

static void remember(struct line *line, const unsigned char *bytes, size_t size)
{
	size_t room = sizeof(line->odd) - line->odd_size;
	size_t some = size < room ? size : room;

	if (!line->met) {
		memcpy(line->odd + line->odd_size, bytes, some);
		line->odd_size += some;
	}
}

int line_take(struct line *line, const unsigned char *bytes, size_t size)
{
	remember(line, bytes, size);
	for (size_t i = 0; i < size; i++) {
		int r = packet_take(&line->in, bytes[i]);
		r = r > 0 ? take_packet(line, r) : r;
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int read_wire(struct line *line)
{
	unsigned char bytes[CHUNK_BYTES];
	ssize_t n = read(line->wire_in, bytes, sizeof(bytes));

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return 0;
	}
	if (n <= 0) {
		return -EPIPE;
	}
	line->byte_ms = now_ms();
	return line_take(line, bytes, (size_t)n);
}

/* To the plain stream. Bytes that it does not take any more count as passed on. */
static void write_plain(struct line *line)
{
	while (line->at < line->size && !line->plain_closed) {
		ssize_t n = write(line->plain, line->pending + line->at, line->size - line->at);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0 && errno == EAGAIN) {
			return;
		}
		line->plain_closed = n <= 0;
		line->at += n > 0 ? (size_t)n : 0;
		line->taken += n > 0 ? (uint32_t)n : 0;
	}
	if (line->plain_closed) {
		line->taken += (uint32_t)(line->size - line->at);
		line->at = line->size;
	}
}

/* --- to the wire ------------------------------------------------------------------------------ */

/* *end: there are no more. */
static void read_some(struct line *line, int fd, enum packet_kind kind, size_t most, bool *end)
{
	unsigned char bytes[PACKET_DATA_MAX];
	ssize_t n = read(fd, bytes, most < sizeof(bytes) ? most : sizeof(bytes));

	if (n > 0) {
		packet_put(&line->out, kind, bytes, (size_t)n);
		line->sent += kind == PACKET_DATA ? (uint32_t)n : 0;
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		*end = true;
	}
}

static bool wants_plain(const struct line *line)
{
	return line->met && !line->plain_end && line->sent < LINE_WINDOW &&
	       packet_has_room(&line->out);
}

static bool wants_text(const struct line *line)
{
	return line->met && !line->text_end && packet_has_room(&line->out);
}

static void tell_taken(struct line *line)
{
	unsigned char bytes[4];
	bool enough = line->taken >= TELL_BYTES || (line->taken > 0 && line->at == line->size);

	if (enough && packet_has_room(&line->out)) {
		frame_put_u32(bytes, line->taken);
		line->taken = 0;
		packet_put(&line->out, PACKET_TAKEN, bytes, sizeof(bytes));
	}
}

/* The guest has said all, and the host has it. */
static void tell_end(struct line *line)
{
	if (line->guest && line->met && line->plain_end && line->text_end && line->sent == 0 &&
	    !line->ended && packet_has_room(&line->out)) {
		packet_put(&line->out, PACKET_END, NULL, 0);
		line->ended = true;
	}
}

static int write_wire(struct line *line)
{
	while (line->out.at < line->out.size) {
		ssize_t n = write(line->wire_out, line->out.bytes + line->out.at,
				  line->out.size - line->out.at);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0 && errno == EAGAIN) {
			return 0;
		}
		if (n <= 0) {
			return -EPIPE;
		}
		line->out.at += (size_t)n;
	}
	return 0;
}

/* --- the work --------------------------------------------------------------------------------- */

static bool is_done(const struct line *line)
{
	if (!line->guest && line->plain_end) {
		return true; /* brig has left */
	}
	return line->ended && line->at == line->size &&
	       (!line->guest || line->out.at == line->out.size);
}

static bool has_lost(const struct line *line)
{
	return !line->guest && !line->ended && line->in.have > 0 &&
	       now_ms() - line->byte_ms > LINE_LOST_MS;
}

static short events(bool in, bool out)
{
	return (short)((in ? POLLIN : 0) | (out ? POLLOUT : 0));
}

static int turn(struct line *line)
{
	bool plain = wants_plain(line), text = wants_text(line), pends = line->at < line->size;
	/* After the end a host passes on what it has: the machine may be gone. */
	bool over = line->ended && !line->guest;
	struct pollfd ready[] = {
		{ .fd = line->ended ? -1 : line->wire_in, .events = POLLIN },
		{ .fd = !over && line->out.at < line->out.size ? line->wire_out : -1,
		  .events = POLLOUT },
		{ .fd = plain || pends ? line->plain : -1, .events = events(plain, pends) },
		{ .fd = text ? line->text : -1, .events = POLLIN },
	};

	if (poll(ready, ARRAY_SIZE(ready), line->in.have > 0 ? LOOK_MS : -1) < 0) {
		return errno == EINTR ? 0 : -errno;
	}
	int r = ready[0].revents ? read_wire(line) : 0;
	if (r < 0) {
		return r;
	}
	write_plain(line);
	if (plain && ready[2].revents) {
		read_some(line, line->plain, PACKET_DATA, LINE_WINDOW - line->sent,
			  &line->plain_end);
	}
	if (wants_text(line) && ready[3].revents) {
		read_some(line, line->text, PACKET_REPORT, PACKET_DATA_MAX, &line->text_end);
	}
	tell_taken(line);
	tell_end(line);
	r = over ? 0 : write_wire(line);
	return r < 0 ? r : has_lost(line) ? -ETIMEDOUT : 0;
}

int line_run(struct line *line)
{
	int r = 0;

	while (r == 0 && !is_done(line)) {
		r = turn(line);
	}
	return r;
}
