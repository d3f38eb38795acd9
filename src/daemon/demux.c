/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of an attached container: see demux.h. */
#include "daemon/demux.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#define STREAM_STDOUT 1
#define STREAM_STDERR 2
/* So that a flood of empty frames, or of messages, does not hold up the caller. */
#define FRAMES_A_CALL 16

/*
 * Its callers bound the bytes that they get, and the drain at the end has only that: what is not
 * returned is counted here.
 */
static int skip(struct demux *demux)
{
	return ++demux->skipped > DEMUX_SKIPS_MAX ? -EPROTO : 0;
}

/* The head is complete. */
static int take_head(struct demux *demux)
{
	const unsigned char *head = demux->head;

	if ((head[0] != STREAM_STDOUT && head[0] != STREAM_STDERR) || head[1] || head[2] ||
	    head[3]) {
		return -EPROTO;
	}
	demux->left = (uint32_t)head[4] << 24 | (uint32_t)head[5] << 16 | (uint32_t)head[6] << 8 |
		      head[7];
	if (demux->left > 0) {
		return 0;
	}
	demux->have = 0; /* an empty frame */
	return skip(demux);
}

static ssize_t receive_head(struct demux *demux, int fd)
{
	ssize_t n =
		recv(fd, demux->head + demux->have, DEMUX_HEAD_BYTES - demux->have, MSG_DONTWAIT);

	if (n <= 0) {
		return n;
	}
	demux->have += (size_t)n;
	if (demux->have == DEMUX_HEAD_BYTES && take_head(demux) < 0) {
		errno = EPROTO;
		return -1;
	}
	return n;
}

static void used(struct demux *demux, size_t size)
{
	demux->left -= (uint32_t)size;
	demux->have = demux->left ? demux->have : 0;
}

/*
 * The agent writes nothing there; what comes is the runtime's, or of a program that owns its agent.
 * The beginning is kept, for people: nothing that moves a terminal.
 */
static void keep(struct demux *demux, const char *piece, size_t size)
{
	for (size_t i = 0; i < size && demux->messages_size < sizeof(demux->messages) - 1; i++) {
		unsigned char c = (unsigned char)piece[i];
		bool shown = (c >= 0x20 && c <= 0x7e) || c == '\n' || c == '\r';
		demux->messages[demux->messages_size++] = (char)(shown ? c : '?');
	}
}

static ssize_t receive_message(struct demux *demux, int fd)
{
	char piece[1024];
	size_t size = demux->left < sizeof(piece) ? demux->left : sizeof(piece);
	ssize_t n = recv(fd, piece, size, MSG_DONTWAIT);

	if (n <= 0) {
		return n;
	}
	keep(demux, piece, (size_t)n);
	used(demux, (size_t)n);
	if (skip(demux) < 0) {
		errno = EPROTO;
		return -1;
	}
	return n;
}

ssize_t demux_receive(struct demux *demux, int fd, void *at, size_t size)
{
	for (unsigned i = 0; i < 2 * FRAMES_A_CALL; i++) {
		if (demux->have == DEMUX_HEAD_BYTES && demux->head[0] == STREAM_STDOUT) {
			size_t most = demux->left < size ? demux->left : size;
			ssize_t n = recv(fd, at, most, MSG_DONTWAIT);
			if (n > 0) {
				used(demux, (size_t)n);
			}
			return n;
		}
		ssize_t n = demux->have == DEMUX_HEAD_BYTES ? receive_message(demux, fd)
							    : receive_head(demux, fd);
		if (n <= 0) {
			return n;
		}
	}
	errno = EINTR; /* there may be more: the caller comes again */
	return -1;
}
