/* An engine in another process: the front's end. See engine.h and engine_messages.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/engine.h"
#include "engine/engine_messages.h"
#include "engine/engine_pack.h"
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
	void (*fail)(void *user, const struct brig_error *error);
	void *user;
	bool paused;
	uint64_t held; /* bytes that were passed on while paused: not yet reported as taken */
};

static struct engine_remote *remote_of(struct engine_run *run)
{
	return (struct engine_remote *)(void *)run->head.engine;
}

static struct engine_run *run_of(struct engine_node *node)
{
	return (struct engine_run *)(void *)((char *)node - offsetof(struct engine_run, node));
}

static void say(struct engine_run *run, enum engine_message kind, uint64_t number)
{
	struct message message = { .kind = kind, .serial = run->node.serial, .number = number };

	/* One that cannot be sent has a peer that is going: its end is told by `gone`. */
	message_send(remote_of(run)->peer, &message, NULL, 0, NULL, 0);
}

static void drop(struct engine_run *run)
{
	engine_calls_remove(&remote_of(run)->calls, &run->node);
	free(run);
}

static int remote_start(struct engine *engine, const struct engine_call *call,
			struct engine_run **ret, struct brig_error *error)
{
	struct engine_remote *remote = (struct engine_remote *)(void *)engine;
	_cleanup_free_ char *block = NULL;
	size_t size = 0;

	int r = engine_pack(call, &block, &size);
	if (r < 0) {
		return error_errno(error, r == -E2BIG ? BRIG_E_INPUT : BRIG_E_SYSTEM, -r,
				   "the request cannot be handed over");
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
		.fail = call->fail,
		.user = call->user,
	};
	r = engine_say(remote->peer, ENGINE_SAY_CALL, run->node.serial, block, size);
	/* A warden that has just died: this one is lost as those before it are. */
	if (r < 0 && r != -EPIPE && r != -ECONNRESET) {
		free(run);
		return error_errno(error, BRIG_E_SYSTEM, -r, "the warden cannot be asked");
	}
	remote->serial++;
	engine_calls_add(&remote->calls, &run->node);
	*ret = run;
	return 0;
}

static void remote_cancel(struct engine_run *run)
{
	say(run, ENGINE_SAY_CANCEL, 0);
}

static void remote_forget(struct engine_run *run)
{
	say(run, ENGINE_SAY_FORGET, 0);
	drop(run);
}

static void remote_pause(struct engine_run *run, bool paused)
{
	run->paused = paused;
	if (!paused && run->held) {
		say(run, ENGINE_SAY_TAKEN, run->held);
		run->held = 0;
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

/* --- what the warden says -------------------------------------------------------------------- */

/* 0 with NULL: of a call that was forgotten while this was on its way. */
static int find(struct engine_remote *remote, uint64_t serial, struct engine_run **ret)
{
	struct engine_node *node = engine_calls_find(&remote->calls, serial);

	*ret = node ? run_of(node) : NULL;
	return node || (serial && serial <= remote->serial) ? 0 : -EPROTO;
}

static int take_output(void *user, const struct message *message, int fds[MESSAGE_FDS_MAX],
		       const void *tail, size_t tail_size)
{
	struct engine_run *run;
	int r = find(user, message->serial, &run);

	(void)fds;
	if (r < 0 || !run) {
		return r;
	}
	if ((message->value != 1 && message->value != 2) || tail_size == 0) {
		return -EPROTO;
	}
	if (run->paused) {
		run->held += tail_size;
	} else {
		say(run, ENGINE_SAY_TAKEN, tail_size);
	}
	if (run->output) {
		run->output(run->user, (int)message->value, tail, tail_size);
	}
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
	r = engine_hear(fds, tail, tail_size, ENGINE_ANSWER_MAX, &data, &size, &mapped);
	if (r < 0 && !engine_is_shortage(r)) {
		return -EPROTO;
	}
	struct engine_run ended = *run;
	drop(run);
	if (r < 0) {
		struct brig_error error = { 0 };
		error_errno(&error, BRIG_E_SYSTEM, -r, "the result cannot be taken");
		ended.fail(ended.user, &error);
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
	{ ENGINE_SAY_OUTPUT, "output", 0, 0, MESSAGE_TAIL_MAX, take_output },
	{ ENGINE_SAY_END, "end", 0, 1, MESSAGE_TAIL_MAX, take_end },
	{ ENGINE_SAY_FAIL, "fail", 0, 0, sizeof(struct brig_error), take_fail },
};

/*
 * Calls under way are not failed: they may have run to their end or not at all. Who is told that
 * they failed would record that, and the same would be answered to whoever asks again.
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
