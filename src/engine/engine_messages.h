/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ends of a remote engine: what they say to each other. A call has a serial number of the
 * front's; all that belongs to it carries that number.
 */
#ifndef BRIG_ENGINE_ENGINE_MESSAGES_H
#define BRIG_ENGINE_ENGINE_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum engine_message {
	/* front -> warden */
	/*
	 * The packed call: behind the record, or in a block when long. value 1: another block
	 * follows, which its long values lie in.
	 */
	ENGINE_SAY_CALL = 1,
	ENGINE_SAY_CANCEL,
	ENGINE_SAY_FORGET,
	ENGINE_SAY_TAKEN, /* number, value: so many more bytes and records were passed on */
	/* warden -> front */
	ENGINE_SAY_OUTPUT, /* pieces behind the record: engine_gather.h */
	ENGINE_SAY_END,    /* the answer, behind the record or in a block; value 1: an outcome */
	ENGINE_SAY_FAIL,   /* struct brig_error */
};

/* More calls at once than any front of ours would make. */
#define ENGINE_CALLS_MAX 16384u
/*
 * So much output of a run may be under way, in so many records; then its pipes are left to fill up.
 * A record that is not whole waits until all before it were taken.
 */
#define ENGINE_WINDOW         (256u << 10)
#define ENGINE_WINDOW_RECORDS 16u
/* The longest answer that is no outcome: a file of a session. */
#define ENGINE_ANSWER_MAX (512u << 20)

/* Calls by their serial number. A node is part of what it stands for. */
#define ENGINE_CHAINS 256u

struct engine_node {
	struct engine_node *next;
	uint64_t serial;
};

struct engine_calls {
	struct engine_node *chains[ENGINE_CHAINS];
	unsigned count;
};

struct engine_node *engine_calls_find(const struct engine_calls *calls, uint64_t serial);
void engine_calls_add(struct engine_calls *calls, struct engine_node *node);
void engine_calls_remove(struct engine_calls *calls, struct engine_node *node);
struct engine_node *engine_calls_any(const struct engine_calls *calls);

struct message_peer;
struct block;
/*
 * A record with bytes: behind it when they fit, else in a block. A call may be refused with
 * -ENOBUFS (message_send), engine_say() is for what must be heard (message_post). `shared`: what
 * long values of the call lie in; or NULL.
 */
int engine_ask(struct message_peer *peer, uint64_t serial, const void *data, size_t size,
	       const struct block *shared);
int engine_say(struct message_peer *peer, enum engine_message kind, uint64_t serial,
	       const void *data, size_t size);
/* The host or this process is short of something: no fault of the peer's. */
bool engine_is_shortage(int r);
/* The bytes of such a record; `ret_mapped` is to be unmapped when not NULL. */
int engine_hear(const int *fds, const void *tail, size_t tail_size, size_t max, const void **ret,
		size_t *ret_size, void **ret_mapped);
#endif
