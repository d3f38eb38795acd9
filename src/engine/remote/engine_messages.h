/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between the two ends of a remote engine. A call has a serial number that the front
 * chooses; all messages about it carry that number.
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
	 * follows, which contains its long values.
	 */
	ENGINE_MESSAGE_CALL = 1,
	ENGINE_MESSAGE_CANCEL,
	ENGINE_MESSAGE_FORGET,
	ENGINE_MESSAGE_CONSUMED, /* number, value: bytes and records consumed since the last one */
	/* warden -> front */
	ENGINE_MESSAGE_OUTPUT, /* pieces behind the record: engine_gather.h */
	ENGINE_MESSAGE_END,  /* the answer, behind the record or in a block; value 1: an outcome */
	ENGINE_MESSAGE_FAIL, /* struct brig_error */
};

/* More calls at once than a correct front would make. */
#define ENGINE_CALLS_MAX 16384u
/*
 * The most output of a run that may be in transit, in bytes and in records; then its pipes fill up.
 * A record that is not complete waits until all before it were consumed.
 */
#define ENGINE_WINDOW         (256u << 10)
#define ENGINE_WINDOW_RECORDS 16u
/* The longest answer that is not an outcome: a file of a session. */
#define ENGINE_ANSWER_MAX (512u << 20)

/* Calls by their serial number. The node is a member of the call. */
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
 * Sends a record with bytes: behind it when they fit, else in a block. A call may be rejected with
 * -ENOBUFS (message_send); engine_send() is for messages that must arrive (message_post). `shared`:
 * contains the long values of the call; or NULL.
 */
int engine_send_call(struct message_peer *peer, uint64_t serial, const void *data, size_t size,
		     const struct block *shared);
int engine_send(struct message_peer *peer, enum engine_message kind, uint64_t serial,
		const void *data, size_t size);
/* The host or this process is short of a resource: not the peer's fault. */
bool engine_is_shortage(int r);
/* Reads the bytes of such a record; unmap `ret_mapped` when it is not NULL. */
int engine_receive(const int *fds, const void *tail, size_t tail_size, size_t max, const void **ret,
		   size_t *ret_size, void **ret_mapped);
#endif
