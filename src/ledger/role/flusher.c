/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of the flusher: see flusher.h. */
#include "ledger/role/flusher.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ledger/store/store.h"

enum { ASK = 'f', DONE = 'd', FAILED = 'x' };

static ssize_t hear(int socket, char *byte)
{
	ssize_t n;

	do {
		n = read(socket, byte, 1);
	} while (n < 0 && errno == EINTR);
	return n;
}

void flusher_serve(const struct store_class *class, int state_dirfd, int socket)
{
	char byte;

	while (hear(socket, &byte) == 1) {
		byte = class->flush_apart(state_dirfd) == 0 ? DONE : FAILED;
		if (write(socket, &byte, 1) != 1) {
			return;
		}
	}
}

/* --- the role's end -------------------------------------------------------------------------- */

void flusher_done(struct flusher *flusher)
{
	loop_remove(flusher->source);
	flusher->source = NULL;
	flusher->busy = false;
	close_fd(&flusher->socket);
}

static void answered(void *user, uint32_t events)
{
	struct flusher *flusher = user;
	char byte = FAILED;

	(void)events;
	if (hear(flusher->socket, &byte) != 1) {
		flusher_done(flusher);
		byte = FAILED;
	}
	flusher->busy = false;
	flusher->done(flusher->user, byte == DONE ? 0 : -EIO);
}

int flusher_init(struct flusher *flusher, struct loop *loop, int socket,
		 void (*done)(void *user, int result), void *user)
{
	*flusher = (struct flusher){ .socket = socket, .done = done, .user = user };
	return socket < 0 ? 0
			  : loop_add(loop, socket, EPOLLIN, answered, flusher, &flusher->source);
}

bool flusher_ask(struct flusher *flusher)
{
	const char byte = ASK;

	if (flusher->socket >= 0 && !flusher->busy) {
		flusher->busy = write(flusher->socket, &byte, 1) == 1;
	}
	return flusher->busy;
}
