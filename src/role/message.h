/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between the roles of the service: fixed records with descriptors, on SOCK_SEQPACKET
 * pairs that the supervisor has made. Long data (a request, a result) is in a sealed memory file.
 * Each end has a table of the messages that it accepts; any other message means a broken or hostile
 * peer, so the connection is closed, and both processes end.
 */
#ifndef BRIG_ROLE_MESSAGE_H
#define BRIG_ROLE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/loop.h"

#define MESSAGE_FDS_MAX  2
#define MESSAGE_TAIL_MAX (32u << 10) /* bytes behind the record, for short-lived data */

struct message {
	uint32_t kind;
	uint32_t value;
	uint64_t serial; /* of the call that this belongs to */
	uint64_t number; /* its meaning depends on the kind */
};

/* One line for each kind that this end accepts. */
struct message_rule {
	uint32_t kind;
	const char *name;
	unsigned fds_min, fds_max;
	size_t tail_max;
	/* 0, or -EPROTO: out of order. It owns the fds that it sets to -1; the rest are closed. */
	int (*take)(void *user, const struct message *message, int fds[MESSAGE_FDS_MAX],
		    const void *tail, size_t tail_size);
};

struct message_peer;

/*
 * Owns the socket. `gone` is called once, when the peer has closed or violated the protocol; then
 * free it.
 */
int message_peer_new(struct loop *loop, int socket, const struct message_rule *rules, size_t count,
		     void (*gone)(void *user, const char *why), void *user,
		     struct message_peer **ret);
/*
 * Takes at most `most` messages that wait, without the loop: it has ended. Their rules must not
 * free the peer.
 */
void message_peer_drain(struct message_peer *peer, unsigned most);
void message_peer_free(struct message_peer *peer);
/*
 * Both never block: a message that the socket has no room for waits in a queue, with copies of the
 * fds. A full queue is not the peer's fault. -ENOMEM, -EMFILE: it cannot be queued; -EPIPE: the
 * peer is gone.
 *
 * message_send() is for messages that can be rejected or can wait elsewhere: -ENOBUFS when the
 * queue is full (64 MiB, with the memory files, or 4096 records). message_post() is for messages
 * that must arrive, such as an end or a cancellation: their number is bounded, a few for each call
 * that is open.
 */
int message_send(struct message_peer *peer, const struct message *message, const int *fds,
		 unsigned fds_count, const void *tail, size_t tail_size);
int message_post(struct message_peer *peer, const struct message *message, const int *fds,
		 unsigned fds_count, const void *tail, size_t tail_size);
/*
 * For the end that answers: while its queue is full it reads no more calls, so a peer that does not
 * read its replies gets no others. The end that calls always reads; otherwise both would wait for
 * ever. `has_room` is called when a queue that was full has room again; or NULL.
 */
void message_peer_answers(struct message_peer *peer, void (*has_room)(void *user));

/* Is the queue full? */
bool message_full(const struct message_peer *peer);

/* A memory file of `size` zeros, to be filled and then sealed (memfile_seal()); -errno. */
int message_block_open(size_t size);
/* A sealed memory file with these bytes; -errno. */
int message_block_make(const void *data, size_t size);
/*
 * Maps a block that a peer has sent, read-only: it must be sealed and not larger than `max`; else
 * -EPROTO.
 */
int message_block_map(int fd, size_t max, void **ret, size_t *ret_size);
void message_block_unmap(void *data, size_t size);
#endif
