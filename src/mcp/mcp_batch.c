/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches (up to 2025-03-26). The messages of all batches wait in one queue, and one of them is
 * handled in each round of the loop, by turns: a batch is as much work as its messages are, and
 * other clients are served in between. Answers are written as they come, and sent as one array: it
 * can be long.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "mcp/mcp_internal.h"
#include "mcp/mcp_limits.h"

struct mcp_batch {
	struct mcp_channel channel;
	struct mcp_channel *inner; /* NULL: it has ended */
	size_t missing;            /* answers */
	int status;                /* without any answer */
	struct buf answers;        /* the array, but for its end */
	struct mcp_peer *owner;    /* outlives the batch; its batch_bytes has ours */
	size_t bytes;
	/* While there are messages to take: */
	struct mcp_peer *peer; /* NULL: there are none */
	json_t *messages;      /* owned */
	size_t at;             /* the next of them */
	bool cancelled[MCP_BATCH_MAX];
	bool busy;              /* one is being handled */
	struct mcp_batch *next; /* in the server's queue */
};

static bool batch_send(struct mcp_channel *channel, const json_t *message, bool lossy)
{
	struct mcp_batch *batch = (struct mcp_batch *)channel;

	return batch->inner && batch->inner->class->send(batch->inner, message, lossy);
}

/* The batch ends with its last message and its last answer. */
static void batch_settle(struct mcp_batch *batch)
{
	if (batch->peer || batch->busy || batch->missing > 0) {
		return;
	}
	batch->owner->batch_bytes -= batch->bytes;
	if (batch->inner && batch->answers.size == 0) {
		batch->inner->class->answer(batch->inner, NULL, batch->status);
	} else if (batch->inner) {
		buf_addc(&batch->answers, ']');
		batch->inner->class->answer_text(batch->inner,
						 batch->answers.failed ? NULL : batch->answers.data,
						 batch->answers.size);
	}
	buf_done(&batch->answers);
	free(batch);
}

static size_t tenant_bytes(const struct mcp_peer *peer)
{
	size_t bytes = 0;

	for (const struct mcp_peer *one = peer->server->peers; one; one = one->next) {
		bytes += strcmp(one->tenant, peer->tenant) == 0 ? one->batch_bytes : 0;
	}
	return bytes;
}

/* Does an answer of this size fit? If not, `why` (of `room` bytes) is the error instead. */
static bool answer_fits(const struct mcp_batch *batch, size_t size, char *why, size_t room)
{
	if (batch->bytes + size > MCP_BATCH_BYTES_MAX) {
		snprintf(why, room,
			 "the answer has %zu bytes, and all answers of a batch at most %d: send "
			 "the request by itself",
			 size, MCP_BATCH_BYTES_MAX);
		return false;
	}
	if (tenant_bytes(batch->owner) + size > MCP_TENANT_BATCH_BYTES_MAX) {
		snprintf(why, room,
			 "the answer has %zu bytes, and answers that wait in your batches at most "
			 "%d: wait for the other batches to end, or send the request by itself",
			 size, MCP_TENANT_BATCH_BYTES_MAX);
		return false;
	}
	return true;
}

/* The answer's text, or that of an error in its place. */
static char *answer_text(const struct mcp_batch *batch, const json_t *message, size_t *ret_size)
{
	char *text = mcp_message_text(message, ret_size);
	char why[200];

	if (!text || answer_fits(batch, *ret_size, why, sizeof(why))) {
		return text;
	}
	free(text);
	json_t *error =
		mcp_message_error(json_object_get(message, "id"), MCP_E_INTERNAL, why, NULL);
	text = mcp_message_text(error, ret_size);
	json_decref(error);
	return text;
}

static void batch_answer(struct mcp_channel *channel, const json_t *message, int status)
{
	struct mcp_batch *batch = (struct mcp_batch *)channel;

	(void)status;
	if (message && batch->inner) {
		size_t size;
		_cleanup_free_ char *text = answer_text(batch, message, &size);

		batch->bytes += size;
		batch->owner->batch_bytes += size;
		buf_addc(&batch->answers, batch->answers.size ? ',' : '[');
		buf_add(&batch->answers, text ? text : "", size);
		batch->answers.failed |= !text;
	}
	batch->missing--;
	batch_settle(batch);
}

static const struct mcp_channel_class batch_class = { .send = batch_send, .answer = batch_answer };

/*
 * How many answers the messages from `at` on get: one for each request, and for each invalid
 * message.
 */
static size_t answers_from(const json_t *messages, size_t at)
{
	struct mcp_message message;
	const char *why;
	size_t count = 0;

	for (; at < json_array_size(messages); at++) {
		count += !mcp_message_read(json_array_get(messages, at), &message, &why) ||
			 message.kind == MCP_REQUEST;
	}
	return count;
}

/* --- the queue -------------------------------------------------------------------------------- */

static void queue_add(struct mcp_server *server, struct mcp_batch *batch)
{
	struct mcp_batch **end = &server->batches;

	while (*end) {
		end = &(*end)->next;
	}
	batch->next = NULL;
	*end = batch;
}

static void queue_remove(struct mcp_server *server, const struct mcp_batch *batch)
{
	struct mcp_batch **at = &server->batches;

	while (*at != batch) {
		at = &(*at)->next;
	}
	*at = batch->next;
}

/* No more of its messages are handled; those that are left get no answer. */
static void batch_over(struct mcp_batch *batch)
{
	if (!batch->peer) {
		return;
	}
	queue_remove(batch->peer->server, batch);
	batch->peer->batches--;
	batch->peer = NULL;
	batch->missing -= answers_from(batch->messages, batch->at);
	json_decref(batch->messages);
	batch->messages = NULL;
}

static void take_one(struct mcp_server *server)
{
	struct mcp_batch *batch = server->batches;
	json_t *message = json_incref(json_array_get(batch->messages, batch->at));

	queue_remove(server, batch);
	queue_add(server, batch);
	batch->busy = true;
	if (batch->cancelled[batch->at++]) {
		batch_answer(&batch->channel, NULL, 0);
	} else {
		mcp_peer_message(batch->peer, message, &batch->channel, batch->inner);
	}
	batch->busy = false;
	json_decref(message);
	if (batch->at >= json_array_size(batch->messages)) {
		batch_over(batch);
	}
	batch_settle(batch);
}

static bool go_on_later(struct mcp_server *server)
{
	return server->batches_due.place ||
	       loop_timer_set(server->loop, &server->batches_due, 0) == 0;
}

void mcp_batches_due(void *user)
{
	struct mcp_server *server = user;

	/* Without memory for the timer all are handled now. */
	do {
		if (server->batches) {
			take_one(server);
		}
	} while (server->batches && !go_on_later(server));
}

/* --- for peers -------------------------------------------------------------------------------- */

static struct mcp_batch *batch_new(struct mcp_peer *peer, json_t *messages,
				   struct mcp_channel *channel, size_t answers)
{
	struct mcp_batch *batch = calloc(1, sizeof(*batch));

	if (!batch || !go_on_later(peer->server)) {
		free(batch);
		return NULL;
	}
	batch->channel.class = &batch_class;
	batch->inner = channel;
	batch->missing = answers;
	/* Notifications alone are accepted when all are taken: until then their body counts. */
	batch->status = answers > 0 ? 200 : 202;
	batch->peer = peer;
	batch->owner = peer;
	batch->messages = json_incref(messages);
	peer->batches++;
	queue_add(peer->server, batch);
	return batch;
}

bool mcp_batch_receive(struct mcp_peer *peer, json_t *messages, struct mcp_channel *channel)
{
	size_t count = json_array_size(messages);

	if (!peer->version || mcp_version_from(peer->version, "2025-06-18") || count == 0 ||
	    count > MCP_BATCH_MAX) {
		mcp_peer_refuse(channel, NULL, MCP_E_INVALID_REQUEST, 400, NULL,
				"batches are for 2025-03-26 and before, with 1 to 64 messages");
		return true;
	}
	if (!batch_new(peer, messages, channel, answers_from(messages, 0))) {
		mcp_peer_refuse(channel, NULL, MCP_E_INTERNAL, 500, NULL, "out of memory");
	}
	return true;
}

void mcp_batch_cancel(struct mcp_peer *peer, const json_t *id)
{
	struct mcp_message message;
	const char *why;

	for (struct mcp_batch *batch = peer->server->batches; batch; batch = batch->next) {
		for (size_t i = batch->at;
		     batch->peer == peer && i < json_array_size(batch->messages); i++) {
			if (mcp_message_read(json_array_get(batch->messages, i), &message, &why) &&
			    message.kind == MCP_REQUEST && json_equal(message.id, id)) {
				batch->cancelled[i] = true;
			}
		}
	}
}

void mcp_batch_drop(struct mcp_peer *peer, const struct mcp_channel *channel)
{
	struct mcp_batch *batch = peer->server->batches, *next;

	for (; batch; batch = next) {
		next = batch->next;
		if (batch->peer == peer && (!channel || batch->inner == channel)) {
			batch->inner = NULL;
			batch_over(batch);
			batch_settle(batch);
		}
	}
}

void mcp_batch_detach(struct mcp_channel *channel)
{
	((struct mcp_batch *)channel)->inner = NULL;
}
