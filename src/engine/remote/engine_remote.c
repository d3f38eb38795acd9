/* SPDX-License-Identifier: Apache-2.0 */
/* An engine in another process: the front's end. See engine.h and engine_messages.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/engine.h"
#include "engine/engine_pack.h"
#include "engine/remote/engine_gather.h"
#include "engine/remote/engine_messages.h"
#include "role/message.h"

struct engine_remote {
	struct engine engine;
	struct message_peer *peer;
	struct engine_calls calls;
	uint64_t serial; /* of the latest call */
	void (*gone)(void *user, const char *why);
	void *user;
};

struct engine_run {
	struct engine_run_head head;
	struct engine_node node;
	void (*output)(void *user, int stream, const void *data, size_t size);
	void (*end)(void *user, const char *data, size_t size);
	void (*result)(void *user, struct block *result);
	void (*end_block)(void *user, int block);
	void (*fail)(void *user, const struct brig_error *error);
	void *user;
	bool paused, cancelled;
	/* Consumed while paused: not reported yet. */
	uint64_t held_bytes;
	uint32_t held_records;
};

static struct engine_remote *remote_of(struct engine_run *run)
{
	return (struct engine_remote *)(void *)run->head.engine;
}

static struct engine_run *run_of(struct engine_node *node)
{
	return (struct engine_run *)(void *)((char *)node - offsetof(struct engine_run, node));
}

/* Sent a bounded number of times for a call, so it is never rejected. */
static void say(struct engine_run *run, enum engine_message kind, uint64_t number, uint32_t value)
{
	struct message message = {
		.kind = kind, .value = value, .serial = run->node.serial, .number = number
	};

	/* If it cannot be sent, the peer is gone: `gone` is called for that. */
	message_post(remote_of(run)->peer, &message, NULL, 0, NULL, 0);
}

static void drop(struct engine_run *run)
{
	engine_calls_remove(&remote_of(run)->calls, &run->node);
	free(run);
}

static int refuse(struct brig_error *error)
{
	return error_set(error, BRIG_E_SYSTEM, ENOBUFS,
			 "too many calls are waiting for the warden");
}

static int remote_start(struct engine *engine, const struct engine_call *call,
			struct engine_run **ret, struct brig_error *error)
{
	struct engine_remote *remote = (struct engine_remote *)(void *)engine;
	_cleanup_free_ char *block = NULL;
	size_t size = 0;

	if (remote->calls.count >= ENGINE_CALLS_MAX) {
		return refuse(error);
	}
	int r = engine_pack(call, &block, &size);
	if (r < 0) {
		return error_errno(error, r == -E2BIG ? BRIG_E_INPUT : BRIG_E_SYSTEM, -r,
				   "the request cannot be sent to the warden");
	}
	struct engine_run *run = malloc(sizeof(*run));
	if (!run) {
		return error_errno(error, BRIG_E_SYSTEM, ENOMEM, "the request");
	}
	*run = (struct engine_run){
		.head.engine = engine,
		.node.serial = remote->serial + 1,
		.output = call->output,
		.end = call->end,
		.result = call->result,
		.end_block = call->end_block,
		.fail = call->fail,
		.user = call->user,
	};
	r = engine_send_call(remote->peer, run->node.serial, block, size, call->block);
	if (r == -ENOBUFS) {
		free(run);
		return refuse(error);
	}
	/* The warden has just died: this call is lost like those before it. */
	if (r < 0 && r != -EPIPE && r != -ECONNRESET) {
		free(run);
		return error_errno(error, BRIG_E_SYSTEM, -r, "the warden cannot be reached");
	}
	remote->serial++;
	engine_calls_add(&remote->calls, &run->node);
	*ret = run;
	return 0;
}

static void remote_cancel(struct engine_run *run)
{
	if (!run->cancelled) {
		run->cancelled = true;
		say(run, ENGINE_MESSAGE_CANCEL, 0, 0);
	}
}

static void remote_forget(struct engine_run *run)
{
	say(run, ENGINE_MESSAGE_FORGET, 0, 0);
	drop(run);
}

static void remote_pause(struct engine_run *run, bool paused)
{
	run->paused = paused;
	if (!paused && run->held_records) {
		say(run, ENGINE_MESSAGE_CONSUMED, run->held_bytes, run->held_records);
		run->held_bytes = run->held_records = 0;
	}
}

static void remote_free(struct engine *engine)
{
	struct engine_remote *remote = (struct engine_remote *)(void *)engine;
	struct engine_node *node;

	while ((node = engine_calls_any(&remote->calls))) {
		drop(run_of(node));
	}
	message_peer_free(remote->peer);
	free(remote);
}

/* --- messages from the warden ---------------------------------------------------------------- */

/* 0 with NULL: the call was forgotten while this message was in transit. */
static int find(struct engine_remote *remote, uint64_t serial, struct engine_run **ret)
{
	struct engine_node *node = engine_calls_find(&remote->calls, serial);

	*ret = node ? run_of(node) : NULL;
	return node || (serial && serial <= remote->serial) ? 0 : -EPROTO;
}

static int check_pieces(const char *tail, size_t size)
{
	struct engine_piece piece;
	const char *data;
	size_t at = 0;
	unsigned count = 0;
	int r;

	while ((r = engine_piece_next(tail, size, &at, &piece, &data)) == 1) {
		count++;
	}
	return r == 0 && count > 0 && count <= ENGINE_PIECES_MAX ? 0 : -EPROTO;
}

static int take_output(void *user, const struct message *message, int fds[MESSAGE_FDS_MAX],
		       const void *tail, size_t tail_size)
{
	struct engine_remote *remote = user;
	struct engine_run *run;
	struct engine_piece piece;
	const char *data;
	size_t at = 0;
	int r = find(remote, message->serial, &run);

	(void)fds;
	if (r < 0 || check_pieces(tail, tail_size) < 0) {
		return -EPROTO;
	}
	if (run && run->paused) {
		run->held_bytes += tail_size;
		run->held_records++;
	} else if (run) {
		say(run, ENGINE_MESSAGE_CONSUMED, tail_size, 1);
	}
	/* A call may be forgotten during its output callback: so it is looked up each time. */
	while (run && run->output && engine_piece_next(tail, tail_size, &at, &piece, &data) == 1) {
		run->output(run->user, piece.stream, data, piece.size);
		find(remote, message->serial, &run);
	}
	return 0;
}

/* The block of a run's result: checked, and owned by the caller. */
static int hear_result(int *fd, const void *tail, size_t tail_size, struct block **ret)
{
	struct outcome outcome;
	const char *json;
	int r = 0;

	if (*fd < 0) {
		*ret = block_copy(tail, tail_size);
		r = *ret ? 0 : -ENOMEM;
	} else {
		r = tail_size ? -EPROTO : block_map(fd, OUTCOME_MAX, ret);
	}
	if (r == 0 && outcome_read((*ret)->data, (*ret)->size, &outcome, &json) < 0) {
		block_unref(*ret);
		r = -EPROTO;
	}
	return r;
}

static void tell_shortage(const struct engine_run *run, int r)
{
	struct brig_error error = { 0 };

	error_errno(&error, BRIG_E_SYSTEM, -r, "the result cannot be received");
	run->fail(run->user, &error);
}

static int take_result(struct engine_run *run, int fds[MESSAGE_FDS_MAX], const void *tail,
		       size_t tail_size)
{
	const size_t head = sizeof(struct outcome);
	struct block *block = NULL;
	int r = hear_result(&fds[0], tail, tail_size, &block);

	if (r < 0 && !engine_is_shortage(r)) {
		return -EPROTO;
	}
	struct engine_run ended = *run;
	drop(run);
	if (r < 0) {
		tell_shortage(&ended, r);
	} else if (ended.result) {
		ended.result(ended.user, block);
	} else {
		ended.end(ended.user, block->data + head, block->size - head);
	}
	block_unref(block);
	return 0;
}

static int take_end(void *user, const struct message *message, int fds[MESSAGE_FDS_MAX],
		    const void *tail, size_t tail_size)
{
	struct engine_run *run;
	const void *data;
	size_t size;
	void *mapped;
	int r = find(user, message->serial, &run);

	if (r < 0 || !run) {
		return r;
	}
	if (message->value) {
		return take_result(run, fds, tail, tail_size);
	}
	if (run->result || (fds[0] >= 0 && tail_size)) {
		return -EPROTO;
	}
	if (run->end_block && fds[0] >= 0) {
		struct engine_run ended = *run;
		drop(run);
		ended.end_block(ended.user, fds[0]);
		return 0;
	}
	r = engine_receive(fds, tail, tail_size, ENGINE_ANSWER_MAX, &data, &size, &mapped);
	if (r < 0 && !engine_is_shortage(r)) {
		return -EPROTO;
	}
	struct engine_run ended = *run;
	drop(run);
	if (r < 0) {
		tell_shortage(&ended, r);
		return 0;
	}
	ended.end(ended.user, data, size);
	message_block_unmap(mapped, size);
	return 0;
}

static int take_fail(void *user, const struct message *message, int fds[MESSAGE_FDS_MAX],
		     const void *tail, size_t tail_size)
{
	struct engine_run *run;
	struct brig_error error;
	int r = find(user, message->serial, &run);

	(void)fds;
	if (r < 0 || engine_error_read(tail, tail_size, &error) < 0) {
		return -EPROTO;
	}
	if (!run) {
		return 0;
	}
	struct engine_run failed = *run;
	drop(run);
	failed.fail(failed.user, &error);
	return 0;
}

static const struct message_rule rules[] = {
	{ ENGINE_MESSAGE_OUTPUT, "output", 0, 0, MESSAGE_TAIL_MAX, take_output },
	{ ENGINE_MESSAGE_END, "end", 0, 1, MESSAGE_TAIL_MAX, take_end },
	{ ENGINE_MESSAGE_FAIL, "fail", 0, 0, sizeof(struct brig_error), take_fail },
};

/*
 * Calls under way are not failed: they may have run to their end or not at all. A failure would be
 * recorded, and repeated to every client that asks again.
 */
static void peer_gone(void *user, const char *why)
{
	struct engine_remote *remote = user;

	remote->gone(remote->user, why);
}

int engine_remote_new(struct loop *loop, int socket, void (*gone)(void *user, const char *why),
		      void *user, struct engine **ret)
{
	static const struct engine_class class = {
		.start = remote_start,
		.cancel = remote_cancel,
		.forget = remote_forget,
		.pause = remote_pause,
		.free = remote_free,
	};
	struct engine_remote *remote = calloc(1, sizeof(*remote));

	if (!remote) {
		return -ENOMEM;
	}
	remote->engine.class = &class;
	remote->gone = gone;
	remote->user = user;
	int r = message_peer_new(loop, socket, rules, ARRAY_SIZE(rules), peer_gone, remote,
				 &remote->peer);
	if (r < 0) {
		free(remote);
		return r;
	}
	*ret = &remote->engine;
	return 0;
}
