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
 * O_NONBLOCK belongs to the open file, which the shell and every other process on the same
 * terminal or pipe share with us; so it is set on a description of our own.
 */
static int open_anew(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void outlet_init(struct outlet *outlet, int fd)
{
	struct stat info;

	*outlet = (struct outlet){ .fd = fd, .own = -1, .kind = OUTLET_SHARED };
	outlet->is_terminal = isatty(fd) == 1;
	if (fstat(fd, &info) < 0) {
		outlet->errnum = errno;
		return;
	}
	if (S_ISSOCK(info.st_mode)) {
		outlet->kind = OUTLET_SOCKET;
	} else if (S_ISFIFO(info.st_mode) || outlet->is_terminal) {
		outlet->own = open_anew(fd);
		if (outlet->own >= 0) {
			outlet->fd = outlet->own;
			outlet->kind = OUTLET_OWN;
		}
	} else {
		outlet->kind = OUTLET_FILE;
	}
}

void outlet_done(struct outlet *outlet)
{
	close_fd(&outlet->own);
	buf_done(&outlet->queue);
}

static ssize_t write_some(const struct outlet *outlet, const char *data, size_t size)
{
	struct pollfd ready = { .fd = outlet->fd, .events = POLLOUT };

	switch (outlet->kind) {
	case OUTLET_SOCKET:
		return send(outlet->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	case OUTLET_SHARED:
		/* A pipe that can be written to has room for PIPE_BUF bytes. */
		if (poll(&ready, 1, 0) == 0) {
			errno = EAGAIN;
			return -1;
		}
		return write(outlet->fd, data, size < PIPE_BUF ? size : PIPE_BUF);
	default:
		return write(outlet->fd, data, size);
	}
}

void outlet_pump(struct outlet *outlet)
{
	struct buf *queue = &outlet->queue;

	if (queue->failed && !outlet->errnum) {
		outlet->errnum = ENOMEM;
	}
	while (!outlet->errnum && outlet->at < queue->size) {
		ssize_t n = write_some(outlet, queue->data + outlet->at, queue->size - outlet->at);
		if (n >= 0) {
			outlet->at += (size_t)n;
		} else if (errno == EAGAIN) {
			return;
		} else if (errno != EINTR) {
			outlet->errnum = errno;
		}
	}
	queue->size = 0;
	outlet->at = 0;
}

void outlet_add(struct outlet *outlet, const void *data, size_t size)
{
	if (outlet->errnum) {
		return;
	}
	if (outlet->interactive) {
		screen_filter_add(&outlet->screen, data, size, &outlet->queue);
	} else if (outlet->is_terminal) {
		terminal_add(&outlet->terminal, data, size, &outlet->queue);
	} else {
		buf_add(&outlet->queue, data, size);
	}
	outlet_pump(outlet);
}

void outlet_end(struct outlet *outlet)
{
	terminal_end(&outlet->terminal, &outlet->queue);
	screen_filter_end(&outlet->screen, &outlet->queue);
	outlet_pump(outlet);
}

bool outlet_waits(const struct outlet *outlet)
{
	return !outlet->errnum && outlet->at < outlet->queue.size;
}

int outlet_flush(struct outlet *outlet)
{
	while (outlet_waits(outlet)) {
		struct pollfd ready = { .fd = outlet->fd, .events = POLLOUT };

		poll(&ready, 1, -1);
		outlet_pump(outlet);
	}
	return -outlet->errnum;
}
