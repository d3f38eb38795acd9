/* SPDX-License-Identifier: Apache-2.0 */
/* The warden's end of a remote engine: see engine.h and engine_messages.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/bytes/block.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/list.h"
#include "engine/engine.h"
#include "engine/engine_pack.h"
#include "engine/remote/engine_gather.h"
#include "engine/remote/engine_messages.h"
#include "role/message.h"

/* message_send() or message_post(). */
typedef int sender(struct message_peer *peer, const struct message *message, const int *fds,
		   unsigned fds_count, const void *tail, size_t tail_size);

struct engine_service {
	struct engine *engine;
	struct message_peer *peer;
	struct engine_calls calls;
	uint64_t serial;     /* of the latest call: they come in order, none twice */
	bool held;           /* work on large answers is suspended */
	struct list blocked; /* struct service_call: their output waits for room in the queue */
	void (*gone)(void *user, const char *why);
	void *user;
	bool (*may_consent)(void *user, const struct engine_call *call); /* NULL: no caller may */
	void *consent_user;
};

struct service_call {
	struct engine_node node;
	struct engine_service *service;
	struct engine_run *run;
	struct engine_gather gather; /* output that was not sent yet */
	uint64_t bytes;              /* of output that the front has not consumed yet */
	unsigned records;
	bool paused;
	bool blocked;                  /* the queue has no room for its output... */
	struct list_node blocked_node; /* ...and it is in the service's list */
};

static struct service_call *call_of(struct engine_node *node)
{
	return (struct service_call *)(void *)((char *)node - offsetof(struct service_call, node));
}

static void unblock(struct service_call *call)
{
	if (call->blocked) {
		list_remove(&call->service->blocked, &call->blocked_node);
		call->blocked = false;
	}
}

static void drop(struct service_call *call)
{
	unblock(call);
	engine_gather_done(&call->gather);
	engine_calls_remove(&call->service->calls, &call->node);
	free(call);
}

/* --- callbacks of the engine ----------------------------------------------------------------- */

/* No memory for a short record: the front would wait for the end of a call for ever. */
static void give_up(struct engine_service *service)
{
	service->gone(service->user, "cannot be sent the end of a call");
}

/* Too much output is in transit: this call is paused, and no other. */
static void check_window(struct service_call *call)
{
	uint64_t bytes = call->bytes + call->gather.bytes;

	if (!call->paused &&
	    (call->blocked || bytes > ENGINE_WINDOW || call->records >= ENGINE_WINDOW_RECORDS)) {
		call->paused = true;
		engine_pause(call->run, true);
	} else if (call->paused && !call->blocked && bytes <= ENGINE_WINDOW / 2 &&
		   call->records <= ENGINE_WINDOW_RECORDS / 2) {
		call->paused = false;
		engine_pause(call->run, false);
	}
}

static int send_first(struct service_call *call, sender *by)
{
	const struct engine_gathered *record = call->gather.first;
	struct message message = { .kind = ENGINE_MESSAGE_OUTPUT, .serial = call->node.serial };
	int r = by(call->service->peer, &message, NULL, 0, record->data, record->size);

	if (r == 0) {
		call->bytes += record->size;
		call->records++;
		engine_gather_drop(&call->gather);
	}
	return r;
}

/*
 * Sends complete records as far as the window allows; an incomplete one waits for those before it,
 * so that it can grow. When the queue is full, output stays here until there is room.
 */
static void send_output(struct service_call *call)
{
	int r = 0;

	while (r == 0 && call->gather.first && call->records < ENGINE_WINDOW_RECORDS &&
	       (call->records == 0 || engine_gather_has_whole(&call->gather))) {
		r = send_first(call, message_send);
	}
	if (r < 0 && r != -EPIPE && !call->blocked) {
		call->blocked = true;
		list_prepend(&call->service->blocked, &call->blocked_node);
	}
}

/* Files are not read while nothing receives them. */
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
	struct service_call *call;
	struct list blocked = service->blocked;

	service->blocked = (struct list){ 0 };
	while ((call = LIST_FIRST(&blocked, struct service_call, blocked_node))) {
		list_remove(&blocked, &call->blocked_node);
		call->blocked = false;
		send_output(call);
		check_window(call);
	}
	hold(service, message_full(service->peer));
}

/* Without memory a part is missing here; the result has everything. */
static void on_output(void *user, int stream, const void *data, size_t size)
{
	struct service_call *call = user;

	(void)engine_gather_add(&call->gather, stream, data, size);
	if (!call->blocked) {
		send_output(call);
	}
	check_window(call);
}

/* Sends the rest before the end: no more than was read from two pipes at once. */
static void send_rest(struct service_call *call)
{
	while (call->gather.first && send_first(call, message_post) == 0) {
	}
}

static void send_failure(struct engine_service *service, uint64_t serial,
			 const struct brig_error *error)
{
	if (engine_send(service->peer, ENGINE_MESSAGE_FAIL, serial, error, sizeof(*error)) < 0) {
		give_up(service);
	}
}

/* Long data needs a descriptor and memory; if there is none, the call fails like others. */
static void not_sent(struct engine_service *service, uint64_t serial, int r)
{
	struct brig_error error = { 0 };

	if (r < 0) {
		error_errno(&error, BRIG_E_SYSTEM, -r, "the result cannot be sent");
		send_failure(service, serial, &error);
	}
}

static void ended(struct service_call *call, int r)
{
	struct engine_service *service = call->service;
	uint64_t serial = call->node.serial;

	drop(call);
	not_sent(service, serial, r);
}

/* A short block is sent behind the record; a memory file is passed on unchanged. */
static int send_result(struct message_peer *peer, uint64_t serial, const struct block *result)
{
	struct message message = { .kind = ENGINE_MESSAGE_END, .value = 1, .serial = serial };

	if (result->fd < 0 && result->size > MESSAGE_TAIL_MAX) {
		return -EMSGSIZE;
	}
	return result->fd < 0 ? message_post(peer, &message, NULL, 0, result->data, result->size)
			      : message_post(peer, &message, &result->fd, 1, NULL, 0);
}

static void on_result(void *user, struct block *result)
{
	struct service_call *call = user;
	struct engine_service *service = call->service;
	uint64_t serial = call->node.serial;

	send_rest(call);
	int r = send_result(service->peer, serial, result);
	drop(call);
	not_sent(service, serial, r);
}

static void on_end(void *user, const char *data, size_t size)
{
	struct service_call *call = user;

	send_rest(call);
	ended(call,
	      engine_send(call->service->peer, ENGINE_MESSAGE_END, call->node.serial, data, size));
}

static void on_end_block(void *user, int block)
{
	struct service_call *call = user;
	struct message message = { .kind = ENGINE_MESSAGE_END, .serial = call->node.serial };

	struct engine_service *service = call->service;

	send_rest(call);
	ended(call, message_post(service->peer, &message, &block, 1, NULL, 0));
	hold(service, message_full(service->peer));
}

static void on_fail(void *user, const struct brig_error *error)
{
	struct service_call *call = user;
	struct engine_service *service = call->service;
	uint64_t serial = call->node.serial;

	send_rest(call);
	drop(call);
	send_failure(service, serial, error);
}

/* --- messages from the front ----------------------------------------------------------------- */

static void refuse(struct engine_service *service, uint64_t serial, int errnum)
{
	struct brig_error error = { 0 };

	error_errno(&error, BRIG_E_SYSTEM, errnum, "the warden cannot accept the call");
	send_failure(service, serial, &error);
}

static void start(struct engine_service *service, uint64_t serial, struct engine_call *request)
{
	struct brig_error error = { 0 };
	struct service_call *call = calloc(1, sizeof(*call));

	if (!call) {
		refuse(service, serial, ENOMEM);
		return;
	}
	call->service = service;
	call->node.serial = serial;
	engine_calls_add(&service->calls, &call->node);
	request->output = request->stream ? on_output : NULL;
	request->end = on_end;
	request->result = on_result;
	request->end_block = on_end_block;
	request->fail = on_fail;
	request->user = call;
	request->run.consent = request->run.consent && service->may_consent &&
			       service->may_consent(service->consent_user, request);
	if (engine_start(service->engine, request, &call->run, &error) < 0) {
		on_fail(call, &error);
	}
}

/* Long data can be shared, in whichever block it was sent. */
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

/* The descriptors of a call: its packed form, and the block with its long values. */
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

/* 0 with NULL: the end of the call is in transit. */
static int find(struct engine_service *service, uint64_t serial, struct service_call **ret)
{
	struct engine_node *node = engine_calls_find(&service->calls, serial);

	*ret = node ? call_of(node) : NULL;
	return node || (serial && serial <= service->serial) ? 0 : -EPROTO;
}

static int cancel(struct service_call *call, const struct message *message)
{
	(void)message;
	engine_cancel(call->run);
	return 0;
}

static int forget(struct service_call *call, const struct message *message)
{
	(void)message;
	engine_forget(call->run);
	drop(call);
	return 0;
}

static int consumed(struct service_call *call, const struct message *message)
{
	if (message->number > call->bytes || message->value > call->records) {
		return -EPROTO;
	}
	call->bytes -= message->number;
	call->records -= message->value;
	if (!call->blocked) {
		send_output(call);
	}
	check_window(call);
	return 0;
}

/* Messages about an existing call. */
static int take_message(void *user, const struct message *message, int fds[MESSAGE_FDS_MAX],
			const void *tail, size_t tail_size)
{
	static int (*const handlers[])(struct service_call * call,
				       const struct message *message) = {
		[ENGINE_MESSAGE_CANCEL] = cancel,
		[ENGINE_MESSAGE_FORGET] = forget,
		[ENGINE_MESSAGE_CONSUMED] = consumed,
	};
	struct service_call *call;
	int r = find(user, message->serial, &call);

	(void)fds;
	(void)tail;
	(void)tail_size;
	return r < 0 || !call ? r : handlers[message->kind](call, message);
}

static const struct message_rule rules[] = {
	{ ENGINE_MESSAGE_CALL, "call", 0, 2, MESSAGE_TAIL_MAX, take_call },
	{ ENGINE_MESSAGE_CANCEL, "cancel", 0, 0, 0, take_message },
	{ ENGINE_MESSAGE_FORGET, "forget", 0, 0, 0, take_message },
	{ ENGINE_MESSAGE_CONSUMED, "taken", 0, 0, 0, take_message },
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
		struct service_call *call = call_of(node);
		engine_forget(call->run);
		drop(call);
	}
	message_peer_free(service->peer);
	free(service);
}
