/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by both ends of a remote engine: see engine_messages.h. */
#include "engine/remote/engine_messages.h"

#include <errno.h>

#include "base/bytes/block.h"
#include "base/cleanup.h"
#include "role/message.h"

struct engine_node *engine_calls_find(const struct engine_calls *calls, uint64_t serial)
{
	struct engine_node *node = calls->chains[serial % ENGINE_CHAINS];

	while (node && node->serial != serial) {
		node = node->next;
	}
	return node;
}

void engine_calls_add(struct engine_calls *calls, struct engine_node *node)
{
	struct engine_node **chain = &calls->chains[node->serial % ENGINE_CHAINS];

	node->next = *chain;
	*chain = node;
	calls->count++;
}

void engine_calls_remove(struct engine_calls *calls, struct engine_node *node)
{
	struct engine_node **at = &calls->chains[node->serial % ENGINE_CHAINS];

	while (*at && *at != node) {
		at = &(*at)->next;
	}
	if (*at) {
		*at = node->next;
		calls->count--;
	}
}

struct engine_node *engine_calls_any(const struct engine_calls *calls)
{
	for (unsigned i = 0; calls->count && i < ENGINE_CHAINS; i++) {
		if (calls->chains[i]) {
			return calls->chains[i];
		}
	}
	return NULL;
}

int engine_send_call(struct message_peer *peer, uint64_t serial, const void *data, size_t size,
		     const struct block *shared)
{
	bool is_short = size <= MESSAGE_TAIL_MAX, shares = shared && shared->fd >= 0;
	struct message message = { .kind = ENGINE_MESSAGE_CALL, .serial = serial, .value = shares };
	_cleanup_close_ int packed = is_short ? -1 : message_block_make(data, size);
	int fds[MESSAGE_FDS_MAX];
	unsigned count = 0;

	if (!is_short && packed < 0) {
		return packed;
	}
	if (!is_short) {
		fds[count++] = packed;
	}
	if (shares) {
		fds[count++] = shared->fd;
	}
	return message_send(peer, &message, fds, count, is_short ? data : NULL,
			    is_short ? size : 0);
}

int engine_send(struct message_peer *peer, enum engine_message kind, uint64_t serial,
		const void *data, size_t size)
{
	struct message message = { .kind = kind, .serial = serial };

	if (size <= MESSAGE_TAIL_MAX) {
		return message_post(peer, &message, NULL, 0, data, size);
	}
	_cleanup_close_ int block = message_block_make(data, size);
	return block < 0 ? block : message_post(peer, &message, &block, 1, NULL, 0);
}

bool engine_is_shortage(int r)
{
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE || r == -EAGAIN;
}

int engine_receive(const int *fds, const void *tail, size_t tail_size, size_t max, const void **ret,
		   size_t *ret_size, void **ret_mapped)
{
	*ret_mapped = NULL;
	*ret = tail;
	*ret_size = tail_size;
	if (fds[0] < 0) {
		return 0;
	}
	if (tail_size) {
		return -EPROTO;
	}
	int r = message_block_map(fds[0], max, ret_mapped, ret_size);
	*ret = *ret_mapped;
	return r;
}
