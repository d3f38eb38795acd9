/* SPDX-License-Identifier: Apache-2.0 */
/* Engines in front of an engine: see engine_relay.h. */
#include "front/execution/engine_relay.h"

#include <stdlib.h>

struct relay *relay_new(size_t size, const struct engine_class *class, struct front *front,
			struct engine *inner)
{
	struct relay *relay = calloc(1, size);

	if (relay) {
		relay->engine.class = class;
		relay->front = front;
		relay->inner = inner;
	}
	return relay;
}

void relay_free(struct relay *relay)
{
	while (relay->calls) {
		engine_forget((struct engine_run *)(void *)relay->calls);
	}
	free(relay);
}

struct relay *relay_of(const struct engine_run *run)
{
	return (struct relay *)(void *)((const struct relay_call *)(const void *)run)->engine;
}

void *relay_call_new(struct engine *engine, size_t size, const struct engine_call *given)
{
	struct relay *relay = (struct relay *)(void *)engine;
	struct relay_call *call = calloc(1, size);

	if (!call) {
		return NULL;
	}
	call->engine = engine;
	call->end = given->end;
	call->end_block = given->end_block;
	call->fail = given->fail;
	call->user = given->user;
	call->link = &relay->calls;
	call->next = relay->calls;
	if (call->next) {
		call->next->link = &call->next;
	}
	relay->calls = call;
	return call;
}

void relay_call_free(struct relay_call *call)
{
	struct relay *relay = (struct relay *)(void *)call->engine;

	if (relay->close_next == call) {
		relay->close_next = call->next;
	}
	*call->link = call->next;
	if (call->next) {
		call->next->link = call->link;
	}
	free(call);
}

void relay_end_block(void *user, int block)
{
	struct relay_call *call = user;
	struct engine_run *run = user;

	call->inner = NULL;
	call->end_block(call->user, block);
	relay_of(run)->call_free(run);
}

void relay_pause(struct engine_run *run, bool paused)
{
	struct engine_run *inner = ((struct relay_call *)(void *)run)->inner;

	if (inner) {
		engine_pause(inner, paused);
	}
}
