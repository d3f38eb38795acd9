/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors on their way over a unix socket, in one message with the bytes they belong to. */
#ifndef BRIG_BASE_FDPASS_H
#define BRIG_BASE_FDPASS_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#define FDPASS_MAX 128

/*
 * Sends; without descriptors it is a plain message. They stay the caller's. The bytes that were
 * sent, or -errno. Async-signal-safe.
 */
ssize_t fdpass_send(int socket, const struct iovec *parts, size_t parts_count, const int *fds,
		    size_t fds_count, int flags);
/*
 * What came with a message, also with a broken one: these are open in this process by now. The
 * first `room` are the caller's, the others are closed. Returns how many came. Async-signal-safe.
 */
size_t fdpass_take(struct msghdr *message, int *fds, size_t room);
#endif
