/* SPDX-License-Identifier: Apache-2.0 */
/* Standard input: see feed.h. */
#include "run/streams/feed.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

int feed_init(struct feed *feed, int fd, const void *data, size_t size, bool open)
{
	*feed = (struct feed){ .fd = fd, .open = open };
	if (size) {
		feed->data = malloc(size);
		if (!feed->data) {
			return -ENOMEM;
		}
		memcpy(feed->data, data, size);
		feed->size = size;
	}
	return 0;
}

void feed_done(struct feed *feed)
{
	close_fd(&feed->fd);
	free(feed->data);
	*feed = (struct feed){ .fd = -1 };
}

long feed_add(struct feed *feed, const void *data, size_t size)
{
	if (feed->fd < 0 || !feed->open) {
		return -EPIPE;
	}
	if (feed->at < feed->size) {
		return 0;
	}
	size_t part = size < FEED_BUFFER_BYTES ? size : FEED_BUFFER_BYTES;
	char *copy = realloc(feed->data, part ? part : 1);
	if (!copy) {
		return -ENOMEM;
	}
	memcpy(copy, data, part);
	feed->data = copy;
	feed->size = part;
	feed->at = 0;
	feed_pump(feed);
	return (long)part;
}

/*
 * write() to a pipe without a reader raises SIGPIPE, and a library must not install a handler. So
 * the signal is blocked for this thread, and one that the write itself raised is removed.
 */
static ssize_t write_quietly(int fd, const char *data, size_t size)
{
	struct timespec now = { 0 };
	sigset_t pipe_only, before, pending;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
	ssize_t n = write(fd, data, size);
	int saved = errno;
	if (n < 0 && saved == EPIPE && !sigismember(&pending, SIGPIPE)) {
		while (sigtimedwait(&pipe_only, NULL, &now) < 0 && errno == EINTR) {
		}
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved;
	return n;
}

int feed_write(int fd, const void *data, size_t size)
{
	ssize_t n;

	do {
		n = write_quietly(fd, data, size);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n == (ssize_t)size ? 0 : -EIO;
}

void feed_pump(struct feed *feed)
{
	while (feed_wants_write(feed)) {
		ssize_t n = write_quietly(feed->fd, feed->data + feed->at, feed->size - feed->at);
		if (n >= 0) {
			feed->at += (size_t)n;
		} else if (errno == EAGAIN) {
			return;
		} else if (errno != EINTR) {
			close_fd(&feed->fd); /* the program closed its input: no error */
			return;
		}
	}
	if (feed->fd >= 0 && !feed->open) {
		close_fd(&feed->fd);
	}
}
