/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes from a hostile peer: see fdpass_bytes.h. */
#include "base/files/fdpass_bytes.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/fdpass.h"

#define STACK_BYTES 65536u
#define PIECE_BYTES 16384u
/* More than a socket has: the kernel counts more than half a KiB for each. */
#define PIECES_MAX 65536u

int plain_socket_begin(int fd, bool empty, struct plain_socket *ret)
{
	int on = 1, r = fdpass_refuse(fd);

	*ret = (struct plain_socket){ .refuses = r == 1, .plain = r == 1 && empty };
	if (r != 0) {
		return r < 0 ? r : 0;
	}
	/* Otherwise a look skips urgent bytes, and a receiver drops them, with what they have. */
	return setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)) < 0 ? -errno : 0;
}

/*
 * Looks at the next bytes. The kernel reports what has no room, and drops its own reference only:
 * that of the socket remains, so nothing is closed.
 */
ssize_t plain_socket_look(int fd, void *data, size_t size)
{
	struct iovec part = { .iov_base = data, .iov_len = size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_PEEK);

	return n < 0 ? -errno : message.msg_flags & MSG_CTRUNC ? -EPROTO : n;
}

ssize_t plain_socket_receive(int fd, struct plain_socket *plain, void *data, size_t size)
{
	ssize_t n = plain->plain ? (ssize_t)size : plain_socket_look(fd, data, size);

	if (n > 0) {
		/* No more than was seen. */
		n = recv(fd, data, (size_t)n, MSG_DONTWAIT);
		return n < 0 ? -errno : n;
	}
	plain->plain |= plain->refuses && n == -EAGAIN;
	return n;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* False: a descriptor is among the bytes that were not received. */
static bool is_plain(int fd)
{
	struct plain_socket plain = { 0 };
	char piece[PIECE_BYTES];
	ssize_t n = 1;

	/* From here on the peer sends no more. */
	if (shutdown(fd, SHUT_RD) < 0) {
		return errno == ENOTCONN;
	}
	for (unsigned i = 0; i < PIECES_MAX && (n > 0 || n == -EINTR || n == -ECONNRESET); i++) {
		n = plain_socket_receive(fd, &plain, piece, sizeof(piece));
	}
	return n == 0 || n == -EAGAIN;
}

struct last_holder {
	sem_t apart, alone;
};

/* Has descriptors of its own, which the kernel closes after its last instruction. */
static void *hold(void *user)
{
	struct last_holder *holder = user;

	(void)unshare(CLONE_FILES);
	sem_post(&holder->apart);
	while (sem_wait(&holder->alone) < 0 && errno == EINTR) {
	}
	return NULL;
}

static int start_holder(struct last_holder *holder, pthread_t *ret)
{
	pthread_attr_t attributes;
	sigset_t all, before;

	if (pthread_attr_init(&attributes) != 0) {
		return -ENOMEM;
	}
	(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
	/* The signals of the host program are for its own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = -pthread_create(ret, &attributes, hold, holder);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return r;
}

/* The thread's copy is the last one. Its end is announced before its descriptors are closed. */
static void close_elsewhere(int fd)
{
	struct last_holder holder = { 0 };
	pthread_t thread;

	sem_init(&holder.apart, 0, 0);
	sem_init(&holder.alone, 0, 0);
	int r = start_holder(&holder, &thread);
	while (r == 0 && sem_wait(&holder.apart) < 0 && errno == EINTR) {
	}
	close(fd);
	if (r == 0) {
		sem_post(&holder.alone);
		pthread_join(thread, NULL);
	}
	sem_destroy(&holder.apart);
	sem_destroy(&holder.alone);
}

void plain_socket_close(int *fd)
{
	int old = TAKE_FD(*fd);

	if (old < 0) {
		return;
	}
	if (is_plain(old)) {
		close(old);
	} else {
		close_elsewhere(old);
	}
}

void plain_socket_drop(int *fd)
{
	int old = TAKE_FD(*fd);

	if (old >= 0) {
		close_elsewhere(old);
	}
}
