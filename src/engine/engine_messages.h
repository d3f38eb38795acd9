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
	ENGINE_SAY_CALL = 1, /* the packed call: behind the record, or in a block when long */
	ENGINE_SAY_CANCEL,
	ENGINE_SAY_FORGET,
	ENGINE_SAY_TAKEN, /* number: so many more bytes of output were passed on */
	/* warden -> front */
	ENGINE_SAY_OUTPUT, /* value: the stream; the bytes behind the record */
	ENGINE_SAY_END,    /* the answer, behind the record or in a block */
	ENGINE_SAY_FAIL,   /* struct brig_error */
};

/* So much output of a run may be under way; then its pipes are left to fill up. */
#define ENGINE_WINDOW (256u << 10)
/* The longest answer: output and files of a run, as JSON. */
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
/* A record with bytes: behind it when they fit, else in a block. */
int engine_say(struct message_peer *peer, enum engine_message kind, uint64_t serial,
	       const void *data, size_t size);
/* The host or this process is short of something: no fault of the peer's. */
bool engine_is_shortage(int r);
/* The bytes of such a record; `ret_mapped` is to be unmapped when not NULL. */
int engine_hear(const int *fds, const void *tail, size_t tail_size, size_t max, const void **ret,
		size_t *ret_size, void **ret_mapped);
#endif
