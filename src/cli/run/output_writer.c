/* SPDX-License-Identifier: Apache-2.0 */
/* Output that never blocks: see output_writer.h. */
#include "cli/run/output_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/*
 * O_NONBLOCK belongs to the open file, which the shell and every other process on the same terminal
 * or pipe share with us; so it is set on an open file of our own.
 */
static int open_anew(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void output_writer_init(struct output_writer *writer, int fd)
{
	struct stat info;

	*writer = (struct output_writer){ .fd = fd, .own = -1, .kind = OUTPUT_WRITER_SHARED };
	writer->is_terminal = isatty(fd) == 1;
	if (fstat(fd, &info) < 0) {
		writer->errnum = errno;
		return;
	}
	if (S_ISSOCK(info.st_mode)) {
		writer->kind = OUTPUT_WRITER_SOCKET;
	} else if (S_ISFIFO(info.st_mode) || writer->is_terminal) {
		writer->own = open_anew(fd);
		if (writer->own >= 0) {
			writer->fd = writer->own;
			writer->kind = OUTPUT_WRITER_OWN;
		}
	} else {
		writer->kind = OUTPUT_WRITER_FILE;
	}
}

void output_writer_done(struct output_writer *writer)
{
	close_fd(&writer->own);
	buf_done(&writer->queue);
}

static ssize_t write_some(const struct output_writer *writer, const char *data, size_t size)
{
	struct pollfd ready = { .fd = writer->fd, .events = POLLOUT };

	switch (writer->kind) {
	case OUTPUT_WRITER_SOCKET:
		return send(writer->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	case OUTPUT_WRITER_SHARED:
		/* A writable pipe has room for PIPE_BUF bytes. */
		if (poll(&ready, 1, 0) == 0) {
			errno = EAGAIN;
			return -1;
		}
		return write(writer->fd, data, size < PIPE_BUF ? size : PIPE_BUF);
	default:
		return write(writer->fd, data, size);
	}
}

void output_writer_pump(struct output_writer *writer)
{
	struct buf *queue = &writer->queue;

	if (queue->failed && !writer->errnum) {
		writer->errnum = ENOMEM;
	}
	while (!writer->errnum && writer->at < queue->size) {
		ssize_t n = write_some(writer, queue->data + writer->at, queue->size - writer->at);
		if (n >= 0) {
			writer->at += (size_t)n;
		} else if (errno == EAGAIN) {
			return;
		} else if (errno != EINTR) {
			writer->errnum = errno;
		}
	}
	queue->size = 0;
	writer->at = 0;
}

void output_writer_add(struct output_writer *writer, const void *data, size_t size)
{
	if (writer->errnum) {
		return;
	}
	if (writer->interactive) {
		screen_filter_add(&writer->screen, data, size, &writer->queue);
	} else if (writer->is_terminal) {
		terminal_escape_add(&writer->terminal, data, size, &writer->queue);
	} else {
		buf_add(&writer->queue, data, size);
	}
	output_writer_pump(writer);
}

void output_writer_end(struct output_writer *writer)
{
	terminal_escape_end(&writer->terminal, &writer->queue);
	screen_filter_end(&writer->screen, &writer->queue);
	output_writer_pump(writer);
}

bool output_writer_waits(const struct output_writer *writer)
{
	return !writer->errnum && writer->at < writer->queue.size;
}

int output_writer_flush(struct output_writer *writer)
{
	while (output_writer_waits(writer)) {
		struct pollfd ready = { .fd = writer->fd, .events = POLLOUT };

		poll(&ready, 1, -1);
		output_writer_pump(writer);
	}
	return -writer->errnum;
}
