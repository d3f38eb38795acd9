/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends and receives descriptors over a unix socket, in one message with the bytes they belong to.
 */
#ifndef BRIG_BASE_FDPASS_H
#define BRIG_BASE_FDPASS_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#define FDPASS_MAX 128

/*
 * Sends; without descriptors it is a plain message. The caller keeps them. Returns the number of
 * bytes sent, or -errno. Async-signal-safe.
 */
ssize_t fdpass_send(int socket, const struct iovec *parts, size_t parts_count, const int *fds,
		    size_t fds_count, int flags);
/*
 * Takes the descriptors of a message, also of an invalid one: they are already open in this
 * process. The caller owns the first `room`, the others are closed. Returns how many there were.
 * Async-signal-safe.
 */
size_t fdpass_take(struct msghdr *message, int *fds, size_t room);
/*
 * From here on the peer of this socket cannot send descriptors (EPERM). The receiver would close
 * those that it drops, and the last close of a hostile one can wait for as long as its sender
 * wants (SO_LINGER). 1: so it is; 0: the kernel cannot, before Linux 6.16; -errno.
 */
int fdpass_refuse(int socket);
#endif
