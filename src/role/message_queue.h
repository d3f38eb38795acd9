/* SPDX-License-Identifier: Apache-2.0 */
/* Records that wait for room in a role's socket, first in, first out. Private to role/message.c. */
#ifndef BRIG_ROLE_MESSAGE_QUEUE_H
#define BRIG_ROLE_MESSAGE_QUEUE_H

#include "base/list.h"
#include "role/message.h"

struct message_waiting {
	struct list_node node;
	struct message message;
	int fds[MESSAGE_FDS_MAX]; /* owned */
	unsigned fds_count;
	size_t weight; /* of the tail and the contents of the memory files */
	size_t tail_size;
	char tail[];
};

struct message_queue {
	struct list waiting; /* struct message_waiting */
	size_t bytes;        /* of all weights */
	unsigned records;
};

/* Copies everything, including the descriptors. -ENOMEM, -EMFILE, -ENFILE. */
int message_queue_add(struct message_queue *queue, const struct message *message, const int *fds,
		      unsigned fds_count, const void *tail, size_t tail_size);
struct message_waiting *message_queue_first(const struct message_queue *queue); /* or NULL */
void message_queue_drop(struct message_queue *queue); /* removes the first one */
void message_queue_done(struct message_queue *queue);
/* The most records or bytes that may wait. */
bool message_queue_full(const struct message_queue *queue);
/* Below half of that: there is room again. */
bool message_queue_has_room(const struct message_queue *queue);
#endif
