/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream of an attached container: what it writes to its standard streams comes in frames of
 * the daemon's, one byte stream (1, 2), three bytes zero, four bytes length (big-endian), data.
 */
#ifndef BRIG_DAEMON_DEMUX_H
#define BRIG_DAEMON_DEMUX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DEMUX_HEAD_BYTES 8u
#define DEMUX_STDERR_MAX 2048u
/* Empty frames, and pieces of standard error, of a whole cell: a runtime has a few words to say. */
#define DEMUX_SKIPS_MAX 4096u

struct demux {
	unsigned char head[DEMUX_HEAD_BYTES];
	size_t have;                     /* of the head */
	uint32_t left;                   /* of the data */
	char messages[DEMUX_STDERR_MAX]; /* the beginning of standard error */
	size_t messages_size;
	unsigned skipped; /* pieces that were not data */
};

/*
 * Receives data of standard output, at most `size` bytes, as recv() with MSG_DONTWAIT does: what it
 * does not return stays in the socket. -1 and EPROTO: it is no such stream, or
 * there is too much in it that is no data.
 */
ssize_t demux_receive(struct demux *demux, int fd, void *at, size_t size);
#endif
