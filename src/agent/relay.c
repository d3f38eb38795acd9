/* SPDX-License-Identifier: Apache-2.0 */
/* Passes the program's streams on, in both directions; and those of a driver. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/cleanup.h"

/* After the program's end: more than this was written by others, who never stop. */
#define DRAIN_MAX (2u << 20)
/* More answers than this wait for the next turn. */
#define MARKS_BYTES 128u

/* --- to the program --------------------------------------------------------------------------- */

void relay_add(struct agent_feed *feed, const unsigned char *data, size_t size)
{
	if (feed->at > 0) {
		feed->size -= feed->at;
		memmove(feed->pending, feed->pending + feed->at, feed->size);
		feed->at = 0;
	}
	/* Only a sender that ignores the window sends more. */
	if (size > sizeof(feed->pending) - feed->size) {
		size = sizeof(feed->pending) - feed->size;
	}
	memcpy(feed->pending + feed->size, data, size);
	feed->size += size;
}

static bool is_unread(int fd)
{
	struct pollfd end = { .fd = fd };

	return poll(&end, 1, 0) > 0 && (end.revents & (POLLERR | POLLHUP));
}

static void close_feed(struct agent_feed *feed)
{
	(void)shutdown(feed->fd, SHUT_WR); /* the socket of a channel is read on */
	close_fd(&feed->fd);
	feed->at = feed->size = 0;
}

/* True: the program reads no more of it. */
static bool write_feed(struct agent_feed *feed)
{
	if (feed->fd < 0) {
		return false;
	}
	while (feed->at < feed->size) {
		ssize_t n = write(feed->fd, feed->pending + feed->at, feed->size - feed->at);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n <= 0) {
			break;
		}
		feed->at += (size_t)n;
		feed->taken += (uint32_t)n;
	}
	if (feed->at == feed->size && feed->end) {
		close_feed(feed);
	} else if (is_unread(feed->fd)) {
		close_feed(feed);
		return true;
	}
	return false;
}

void relay_write(struct agent *agent)
{
	if (write_feed(&agent->input)) {
		agent_send(agent, FRAME_INPUT_CLOSED, NULL, 0);
	}
	if (write_feed(&agent->to_driver)) {
		agent_send(agent, FRAME_DRIVER_CLOSED, NULL, 0);
	}
}

static void report_taken(struct agent *agent, struct agent_feed *feed, enum frame_kind kind)
{
	unsigned char data[4];

	if (feed->taken) {
		frame_put_u32(data, feed->taken);
		agent_send(agent, kind, data, sizeof(data));
		feed->taken = 0;
	}
}

void relay_report(struct agent *agent)
{
	report_taken(agent, &agent->input, FRAME_INPUT_TAKEN);
	report_taken(agent, &agent->to_driver, FRAME_DRIVER_TAKEN);
	for (; agent->marks > 0 && agent->out_size < MARKS_BYTES; agent->marks--) {
		agent_send(agent, FRAME_MARKED, NULL, 0);
	}
}

static void drop_output(int fd)
{
	unsigned char piece[AGENT_OUTPUT_BYTES];
	int left = 0;

	if (fd < 0 || ioctl(fd, FIONREAD, &left) < 0) {
		return;
	}
	while (left > 0) {
		size_t most = (size_t)left < sizeof(piece) ? (size_t)left : sizeof(piece);
		ssize_t n = read(fd, piece, most);
		if (n <= 0) {
			return;
		}
		left -= (int)n;
	}
}

void relay_mark(struct agent *agent)
{
	drop_output(agent->output[AGENT_STDOUT]);
	drop_output(agent->output[AGENT_STDERR]);
	agent->marks++;
}

/* --- from the program ------------------------------------------------------------------------- */

/* False: nothing is there now, or the stream has ended. */
static bool read_piece(struct agent *agent, enum agent_output which)
{
	static const enum frame_kind kinds[AGENT_OUTPUTS] = { FRAME_STDOUT, FRAME_STDERR,
							      FRAME_FROM_DRIVER };
	unsigned char piece[AGENT_OUTPUT_BYTES];
	int *fd = &agent->output[which];
	ssize_t n;

	if (*fd < 0) {
		return false;
	}
	do {
		n = read(*fd, piece, sizeof(piece));
	} while (n < 0 && errno == EINTR);
	if (n > 0) {
		agent_send(agent, kinds[which], piece, (uint32_t)n);
		agent->drained += agent->state == AGENT_DRAINING ? (size_t)n : 0;
		if (which < 2) {
			agent->before[which] -=
				n < agent->before[which] ? (int)n : agent->before[which];
		}
		return true;
	}
	if (n == 0 || errno != EAGAIN) {
		close_fd(fd);
	}
	if (which < 2) {
		agent->before[which] = 0;
	}
	return false;
}

/*
 * A driver prints before it answers, and brig must receive it in that order: what is in the pipes
 * when the answer is seen comes first, and nothing that is printed later.
 */
static void mark_order(struct agent *agent)
{
	struct pollfd ready = { .fd = agent->output[AGENT_FROM_DRIVER], .events = POLLIN };

	if (agent->marked || ready.fd < 0 || poll(&ready, 1, 0) <= 0) {
		return;
	}
	agent->marked = true;
	for (int i = 0; i < 2; i++) {
		if (agent->output[i] < 0 ||
		    ioctl(agent->output[i], FIONREAD, &agent->before[i]) < 0) {
			agent->before[i] = 0;
		}
	}
}

static bool read_driver(struct agent *agent)
{
	if (!agent->marked || agent->before[0] > 0 || agent->before[1] > 0) {
		return false;
	}
	agent->marked = false;
	return read_piece(agent, AGENT_FROM_DRIVER);
}

bool relay_read(struct agent *agent)
{
	/* In turns: a flood on one does not keep the other waiting. */
	enum agent_output first = agent->second ? AGENT_STDERR : AGENT_STDOUT;
	enum agent_output other = agent->second ? AGENT_STDOUT : AGENT_STDERR;

	if (agent->drained > DRAIN_MAX) {
		return false;
	}
	mark_order(agent);
	if (read_driver(agent)) {
		return true;
	}
	agent->second = !agent->second;
	return read_piece(agent, first) || read_piece(agent, other) || read_driver(agent);
}
