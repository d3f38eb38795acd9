/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the roles of the service say to each other: fixed records on SOCK_SEQPACKET pairs that the
 * supervisor has made, with descriptors. Whatever is long (a request, a result) is in a sealed
 * memory file. Each end has a table of what may come; anything else is a broken or hostile peer,
 * and the connection is closed, which is the end of both.
 */
#ifndef BRIG_ROLE_MESSAGE_H
#define BRIG_ROLE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/loop.h"

#define MESSAGE_FDS_MAX  2
#define MESSAGE_TAIL_MAX (32u << 10) /* bytes behind the record, for what is short-lived */

struct message {
	uint32_t kind;
	uint32_t value;
	uint64_t serial; /* of the call that this belongs to */
	uint64_t number; /* what it means is the kind's business */
};

/* One line for each kind that this end accepts. */
struct message_rule {
	uint32_t kind;
	const char *name;
	unsigned fds_min, fds_max;
	size_t tail_max;
	/* 0, or -EPROTO: out of order. Takes the fds that it sets to -1; the rest are closed. */
	int (*take)(void *user, const struct message *message, int fds[MESSAGE_FDS_MAX],
		    const void *tail, size_t tail_size);
};

struct message_peer;

/* Owns the socket. `gone` is called once, when the peer has left or broken a rule; then free it. */
int message_peer_new(struct loop *loop, int socket, const struct message_rule *rules, size_t count,
		     void (*gone)(void *user, const char *why), void *user,
		     struct message_peer **ret);
void message_peer_free(struct message_peer *peer);
/*
 * Both never block: what the socket cannot take now waits in a queue, with copies of the fds. A
 * queue that is full is no fault of the peer's. -ENOMEM, -EMFILE: it cannot wait; -EPIPE: the peer
 * is gone.
 *
 * message_send() is for what can be refused or can wait somewhere else: -ENOBUFS when the queue is
 * full (64 MiB, with the memory files, or 4096 records). message_post() is for what must be heard,
 * an end or a cancellation: there are only so many of these, a few for each call under way.
 */
int message_send(struct message_peer *peer, const struct message *message, const int *fds,
		 unsigned fds_count, const void *tail, size_t tail_size);
int message_post(struct message_peer *peer, const struct message *message, const int *fds,
		 unsigned fds_count, const void *tail, size_t tail_size);
/*
 * Of the end that answers: while its queue is full it takes no more calls, so that one who does not
 * read its answers gets no others. The end that asks always reads; else both would wait for ever.
 * `has_room` is told when a queue that was full has room again; or NULL.
 */
void message_peer_answers(struct message_peer *peer, void (*has_room)(void *user));

/* Has the queue as much as it should? */
bool message_full(const struct message_peer *peer);

/* A memory file of so many zeros, to be filled and then sealed (memfile_seal()); -errno. */
int message_block_open(size_t size);
/* A sealed memory file with these bytes; -errno. */
int message_block_make(const void *data, size_t size);
/* Maps one that a peer has sent, read-only: sealed, not larger than `max`; else -EPROTO. */
int message_block_map(int fd, size_t max, void **ret, size_t *ret_size);
void message_block_unmap(void *data, size_t size);
#endif
