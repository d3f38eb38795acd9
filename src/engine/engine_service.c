/* SPDX-License-Identifier: Apache-2.0 */
/* The warden's end of a remote engine: see engine.h and engine_messages.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/block.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "engine/engine.h"
#include "engine/engine_gather.h"
#include "engine/engine_messages.h"
#include "engine/engine_pack.h"
#include "role/message.h"

/* message_send() or message_post(). */
typedef int sender(struct message_peer *peer, const struct message *message, const int *fds,
		   unsigned fds_count, const void *tail, size_t tail_size);

struct engine_service {
	struct engine *engine;
	struct message_peer *peer;
	struct engine_calls calls;
	uint64_t serial;        /* of the latest call: they come in order, none twice */
	bool held;              /* what makes large answers */
	struct served *blocked; /* their output waits for room in the queue */
	void (*gone)(void *user, const char *why);
	void *user;
	bool (*may_consent)(void *user, const struct engine_call *call); /* NULL: nobody */
	void *consent_user;
};

struct served {
	struct engine_node node;
	struct engine_service *service;
	struct engine_run *run;
	struct engine_gather gather; /* output that is not sent yet */
	uint64_t bytes;              /* of output that the front has not yet taken */
	unsigned records;
	bool paused;
	bool blocked;                /* the queue has no room for it... */
	struct served *next_blocked; /* ...and it is in this list */
};

static struct served *served_of(struct engine_node *node)
{
	return (struct served *)(void *)((char *)node - offsetof(struct served, node));
}

static void unblock(struct served *served)
{
	struct served **at = &served->service->blocked;

	while (served->blocked && *at) {
		if (*at == served) {
			*at = served->next_blocked;
			served->blocked = false;
			return;
		}
		at = &(*at)->next_blocked;
	}
}

static void drop(struct served *served)
{
	unblock(served);
	engine_gather_done(&served->gather);
	engine_calls_remove(&served->service->calls, &served->node);
	free(served);
}

/* --- what the engine says -------------------------------------------------------------------- */

/* No memory for a short record: the front would wait for this end for ever. */
static void give_up(struct engine_service *service)
{
	service->gone(service->user, "cannot be told of an end");
}

/* Too much of it is under way: it waits, and nobody else does. */
static void look_at_window(struct served *served)
{
	uint64_t bytes = served->bytes + served->gather.bytes;

	if (!served->paused && (served->blocked || bytes > ENGINE_WINDOW ||
				served->records >= ENGINE_WINDOW_RECORDS)) {
		served->paused = true;
		engine_pause(served->run, true);
	} else if (served->paused && !served->blocked && bytes <= ENGINE_WINDOW / 2 &&
		   served->records <= ENGINE_WINDOW_RECORDS / 2) {
		served->paused = false;
		engine_pause(served->run, false);
	}
}

static int send_first(struct served *served, sender *by)
{
	const struct engine_gathered *record = served->gather.first;
	struct message message = { .kind = ENGINE_SAY_OUTPUT, .serial = served->node.serial };
	int r = by(served->service->peer, &message, NULL, 0, record->data, record->size);

	if (r == 0) {
		served->bytes += record->size;
		served->records++;
		engine_gather_drop(&served->gather);
	}
	return r;
}

/*
 * Whole records as far as the window goes; what is short waits for those before it, so that more of
 * it can come together. When the queue is full it stays here until there is room.
 */
static void send_output(struct served *served)
{
	int r = 0;

	while (r == 0 && served->gather.first && served->records < ENGINE_WINDOW_RECORDS &&
	       (served->records == 0 || engine_gather_has_whole(&served->gather))) {
		r = send_first(served, message_send);
	}
	if (r < 0 && r != -EPIPE && !served->blocked) {
		served->blocked = true;
		served->next_blocked = served->service->blocked;
		served->service->blocked = served;
	}
}

/* Files that nobody takes are not read either. */
static void hold(struct engine_service *service, bool held)
{
	if (service->engine->class->hold && service->held != held) {
		service->held = held;
		service->engine->class->hold(service->engine, held);
	}
}

static void has_room(void *user)
{
	struct engine_service *service = user;
	struct served *served;
	struct served *list = service->blocked;

	service->blocked = NULL;
	while ((served = list)) {
		list = served->next_blocked;
		served->blocked = false;
		send_output(served);
		look_at_window(served);
	}
	hold(service, message_full(service->peer));
}

/* Without memory a part is missing here; the result has it all. */
static void on_output(void *user, int stream, const void *data, size_t size)
{
	struct served *served = user;

	(void)engine_gather_add(&served->gather, stream, data, size);
	if (!served->blocked) {
		send_output(served);
	}
	look_at_window(served);
}

/* What is left of it goes before the end: no more than was read from two pipes in one go. */
static void send_rest(struct served *served)
{
	while (served->gather.first && send_first(served, message_post) == 0) {
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
static void not_handed_over(struct engine_service *service, uint64_t serial, int r)
{
	struct brig_error error = { 0 };

	if (r < 0) {
		error_errno(&error, BRIG_E_SYSTEM, -r, "the result cannot be handed over");
		say_failed(service, serial, &error);
	}
}

static void ended(struct served *served, int r)
{
	struct engine_service *service = served->service;
	uint64_t serial = served->node.serial;

	drop(served);
	not_handed_over(service, serial, r);
}

/* A short block goes behind the record; a memory file is passed on as it is. */
static int send_result(struct message_peer *peer, uint64_t serial, const struct block *result)
{
	struct message message = { .kind = ENGINE_SAY_END, .value = 1, .serial = serial };

	if (result->fd < 0 && result->size > MESSAGE_TAIL_MAX) {
		return -EMSGSIZE;
	}
	return result->fd < 0 ? message_post(peer, &message, NULL, 0, result->data, result->size)
			      : message_post(peer, &message, &result->fd, 1, NULL, 0);
}

static void on_result(void *user, struct block *result)
{
	struct served *served = user;
	struct engine_service *service = served->service;
	uint64_t serial = served->node.serial;

	send_rest(served);
	int r = send_result(service->peer, serial, result);
	drop(served);
	not_handed_over(service, serial, r);
}

static void on_end(void *user, const char *data, size_t size)
{
	struct served *served = user;

	send_rest(served);
	ended(served,
	      engine_say(served->service->peer, ENGINE_SAY_END, served->node.serial, data, size));
}

static void on_end_block(void *user, int block)
{
	struct served *served = user;
	struct message message = { .kind = ENGINE_SAY_END, .serial = served->node.serial };

	struct engine_service *service = served->service;

	send_rest(served);
	ended(served, message_post(service->peer, &message, &block, 1, NULL, 0));
	hold(service, message_full(service->peer));
}

static void on_fail(void *user, const struct brig_error *error)
{
	struct served *served = user;
	struct engine_service *service = served->service;
	uint64_t serial = served->node.serial;

	send_rest(served);
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
	call->result = on_result;
	call->end_block = on_end_block;
	call->fail = on_fail;
	call->user = served;
	call->run.consent = call->run.consent && service->may_consent &&
			    service->may_consent(service->consent_user, call);
	if (engine_start(service->engine, call, &served->run, &error) < 0) {
		on_fail(served, &error);
	}
}

/* What is long can be shared, in whichever block it came. */
static int start_packed(struct engine_service *service, uint64_t serial, const void *data,
			size_t size, struct block *packed, struct block *shared)
{
	struct engine_unpacked unpacked;
	int r = engine_unpack(data, size, shared, &unpacked);

	if (r == 0) {
		unpacked.call.block = shared ? shared : packed;
		start(service, serial, &unpacked.call);
		engine_unpacked_done(&unpacked);
	}
	return r;
}

/* The descriptors of a call: what it is packed in, and what its long values lie in. */
static int take_blocks(const struct message *message, int fds[MESSAGE_FDS_MAX], size_t tail_size,
		       struct block **ret_packed, struct block **ret_shared)
{
	unsigned count = (fds[0] >= 0) + (fds[1] >= 0), shares = message->value;

	if (shares > 1 || count < shares || (count > shares) == (tail_size > 0)) {
		return -EPROTO;
	}
	int r = shares ? block_map(&fds[count - 1], ENGINE_BLOCK_MAX, ret_shared) : 0;
	return r == 0 && count > shares ? block_map(&fds[0], ENGINE_BLOCK_MAX, ret_packed) : r;
}

static int take_call(void *user, const struct message *message, int fds[MESSAGE_FDS_MAX],
		     const void *tail, size_t tail_size)
{
	struct engine_service *service = user;
	_cleanup_(block_unrefp)
	struct block *packed = NULL;
	_cleanup_(block_unrefp)
	struct block *shared = NULL;

	if (message->serial != service->serial + 1 || service->calls.count >= ENGINE_CALLS_MAX) {
		return -EPROTO;
	}
	service->serial++;
	int r = take_blocks(message, fds, tail_size, &packed, &shared);
	if (r == 0) {
		r = start_packed(service, message->serial, packed ? packed->data : tail,
				 packed ? packed->size : tail_size, packed, shared);
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
	if (message->number > served->bytes || message->value > served->records) {
		return -EPROTO;
	}
	served->bytes -= message->number;
	served->records -= message->value;
	if (!served->blocked) {
		send_output(served);
	}
	look_at_window(served);
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
	{ ENGINE_SAY_CALL, "call", 0, 2, MESSAGE_TAIL_MAX, take_call },
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
	message_peer_answers(service->peer, has_room);
	*ret = service;
	return 0;
}

void engine_service_consent(struct engine_service *service,
			    bool (*may)(void *user, const struct engine_call *call), void *user)
{
	service->may_consent = may;
	service->consent_user = user;
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
