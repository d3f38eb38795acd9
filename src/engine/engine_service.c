/* The warden's end of a remote engine: see engine.h and engine_messages.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/engine.h"
#include "engine/engine_messages.h"
#include "engine/engine_pack.h"
#include "role/message.h"

/* More calls at once than any front of ours would make. */
#define CALLS_MAX 16384u

struct engine_service {
	struct engine *engine;
	struct message_peer *peer;
	struct engine_calls calls;
	uint64_t serial; /* of the latest call: they come in order, none twice */
	void (*gone)(void *user, const char *why);
	void *user;
};

struct served {
	struct engine_node node;
	struct engine_service *service;
	struct engine_run *run;
	uint64_t under_way; /* output that the front has not yet taken */
	bool paused;
};

static struct served *served_of(struct engine_node *node)
{
	return (struct served *)(void *)((char *)node - offsetof(struct served, node));
}

static void drop(struct served *served)
{
	engine_calls_remove(&served->service->calls, &served->node);
	free(served);
}

/* --- what the engine says -------------------------------------------------------------------- */

/* What cannot be sent is not lost silently: the front would wait for it for ever. */
static void give_up(struct engine_service *service)
{
	service->gone(service->user, "cannot be told of an end");
}

static void on_output(void *user, int stream, const void *data, size_t size)
{
	struct served *served = user;
	struct message message = {
		.kind = ENGINE_SAY_OUTPUT,
		.value = (uint32_t)stream,
		.serial = served->node.serial,
	};

	served->under_way += size;
	for (const char *at = data; size;) {
		size_t part = size < MESSAGE_TAIL_MAX ? size : MESSAGE_TAIL_MAX;
		if (message_send(served->service->peer, &message, NULL, 0, at, part) < 0) {
			give_up(served->service);
			return;
		}
		at += part;
		size -= part;
	}
	if (served->under_way > ENGINE_WINDOW && !served->paused) {
		served->paused = true;
		engine_pause(served->run, true);
	}
}

static void say_failed(struct engine_service *service, uint64_t serial,
		       const struct brig_error *error)
{
	if (engine_say(service->peer, ENGINE_SAY_FAIL, serial, error, sizeof(*error)) < 0) {
		give_up(service);
	}
}

/* What is long needs a descriptor and memory; that there is none is a failure like others. */
static void on_end(void *user, const char *data, size_t size)
{
	struct served *served = user;
	struct engine_service *service = served->service;
	uint64_t serial = served->node.serial;
	struct brig_error error = { 0 };
	int r = engine_say(service->peer, ENGINE_SAY_END, serial, data, size);

	drop(served);
	if (r < 0) {
		error_errno(&error, BRIG_E_SYSTEM, -r, "the result cannot be handed over");
		say_failed(service, serial, &error);
	}
}

static void on_fail(void *user, const struct brig_error *error)
{
	struct served *served = user;
	struct engine_service *service = served->service;
	uint64_t serial = served->node.serial;

	drop(served);
	say_failed(service, serial, error);
}

/* --- what the front says --------------------------------------------------------------------- */

static void refuse(struct engine_service *service, uint64_t serial, int errnum)
{
	struct brig_error error = { 0 };

	error_errno(&error, BRIG_E_SYSTEM, errnum, "the warden cannot take the call");
	say_failed(service, serial, &error);
}

static void start(struct engine_service *service, uint64_t serial, struct engine_call *call)
{
	struct brig_error error = { 0 };
	struct served *served = calloc(1, sizeof(*served));

	if (!served) {
		refuse(service, serial, ENOMEM);
		return;
	}
	served->service = service;
	served->node.serial = serial;
	engine_calls_add(&service->calls, &served->node);
	call->output = call->stream ? on_output : NULL;
	call->end = on_end;
	call->fail = on_fail;
	call->user = served;
	/* A person's word opens policies without walls: the front has nobody to ask for it. */
	call->run.consent = false;
	if (engine_start(service->engine, call, &served->run, &error) < 0) {
		on_fail(served, &error);
	}
}

static int take_call(void *user, const struct message *message, int fds[MESSAGE_FDS_MAX],
		     const void *tail, size_t tail_size)
{
	struct engine_service *service = user;
	struct engine_unpacked unpacked;
	const void *data;
	size_t size;
	void *mapped;

	if (message->serial != service->serial + 1 || service->calls.count >= CALLS_MAX) {
		return -EPROTO;
	}
	service->serial++;
	int r = engine_hear(fds, tail, tail_size, ENGINE_BLOCK_MAX, &data, &size, &mapped);
	if (r == 0) {
		r = engine_unpack(data, size, &unpacked);
		if (r == 0) {
			start(service, message->serial, &unpacked.call);
			engine_unpacked_done(&unpacked);
		}
		message_block_unmap(mapped, size);
	}
	if (r < 0 && engine_is_shortage(r)) {
		refuse(service, message->serial, -r);
		return 0;
	}
	return r;
}

/* 0 with NULL: of a call whose end is on its way. */
static int find(struct engine_service *service, uint64_t serial, struct served **ret)
{
	struct engine_node *node = engine_calls_find(&service->calls, serial);

	*ret = node ? served_of(node) : NULL;
	return node || (serial && serial <= service->serial) ? 0 : -EPROTO;
}

static int cancel(struct served *served, const struct message *message)
{
	(void)message;
	engine_cancel(served->run);
	return 0;
}

static int forget(struct served *served, const struct message *message)
{
	(void)message;
	engine_forget(served->run);
	drop(served);
	return 0;
}

static int taken(struct served *served, const struct message *message)
{
	if (message->number > served->under_way) {
		return -EPROTO;
	}
	served->under_way -= message->number;
	if (served->paused && served->under_way <= ENGINE_WINDOW / 2) {
		served->paused = false;
		engine_pause(served->run, false);
	}
	return 0;
}

/* What is said of a call that was made before. */
static int take_word(void *user, const struct message *message, int fds[MESSAGE_FDS_MAX],
		     const void *tail, size_t tail_size)
{
	static int (*const words[])(struct served * served, const struct message *message) = {
		[ENGINE_SAY_CANCEL] = cancel,
		[ENGINE_SAY_FORGET] = forget,
		[ENGINE_SAY_TAKEN] = taken,
	};
	struct served *served;
	int r = find(user, message->serial, &served);

	(void)fds;
	(void)tail;
	(void)tail_size;
	return r < 0 || !served ? r : words[message->kind](served, message);
}

static const struct message_rule rules[] = {
	{ ENGINE_SAY_CALL, "call", 0, 1, MESSAGE_TAIL_MAX, take_call },
	{ ENGINE_SAY_CANCEL, "cancel", 0, 0, 0, take_word },
	{ ENGINE_SAY_FORGET, "forget", 0, 0, 0, take_word },
	{ ENGINE_SAY_TAKEN, "taken", 0, 0, 0, take_word },
};

static void peer_gone(void *user, const char *why)
{
	struct engine_service *service = user;

	service->gone(service->user, why);
}

int engine_service_new(struct loop *loop, int socket, struct engine *engine,
		       void (*gone)(void *user, const char *why), void *user,
		       struct engine_service **ret)
{
	struct engine_service *service = calloc(1, sizeof(*service));

	if (!service) {
		return -ENOMEM;
	}
	service->engine = engine;
	service->gone = gone;
	service->user = user;
	int r = message_peer_new(loop, socket, rules, ARRAY_SIZE(rules), peer_gone, service,
				 &service->peer);
	if (r < 0) {
		free(service);
		return r;
	}
	*ret = service;
	return 0;
}

void engine_service_free(struct engine_service *service)
{
	struct engine_node *node;

	if (!service) {
		return;
	}
	while ((node = engine_calls_any(&service->calls))) {
		struct served *served = served_of(node);
		engine_forget(served->run);
		drop(served);
	}
	message_peer_free(service->peer);
	free(service);
}
