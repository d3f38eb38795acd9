/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to the client. Modern: the request is answered with the questions, and is repeated with
 * the answers; no state is kept here. Legacy: the questions are sent as requests and the call
 * waits.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "mcp/mcp_internal.h"

static const char *ask_method(enum mcp_ability ability)
{
	switch (ability) {
	case MCP_SAMPLING:
		return "sampling/createMessage";
	case MCP_ELICITATION:
		return "elicitation/create";
	default:
		return "roots/list";
	}
}

const json_t *mcp_call_answer(const struct mcp_call *call, const char *key)
{
	return json_object_get(call->answers, key);
}

const char *mcp_call_state(const struct mcp_call *call)
{
	return call->state;
}

static struct mcp_seal call_seal(const struct mcp_call *call)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (struct mcp_seal){
		.key = call->server->key,
		.tenant = call->tenant,
		.method = call->method->name,
		.name = mcp_call_name(call),
		.arguments = json_object_get(call->params, "arguments"),
		.now_s = (uint64_t)now.tv_sec,
	};
}

bool mcp_question_resume(struct mcp_call *call)
{
	json_t *responses = json_object_get(call->params, "inputResponses");
	const json_t *state = json_object_get(call->params, "requestState");
	const char *key;
	json_t *one;

	if (!(call->method->flags & METHOD_ASKS)) {
		return true;
	}
	if (responses && !json_is_object(responses)) {
		mcp_call_fail(call, MCP_E_INVALID_PARAMS, NULL, "inputResponses must be an object");
		return false;
	}
	json_object_foreach(responses, key, one)
	{
		if (!json_is_object(one)) {
			mcp_call_fail(call, MCP_E_INVALID_PARAMS, NULL,
				      "inputResponses: \"%.64s\" must be an object", key);
			return false;
		}
		json_object_set(call->answers, key, one);
	}
	if (state) {
		struct mcp_seal seal = call_seal(call);
		call->state =
			json_is_string(state) ? mcp_unseal(&seal, json_string_value(state)) : NULL;
		if (!call->state) {
			mcp_call_fail(call, MCP_E_INVALID_PARAMS, NULL,
				      "requestState is not the one for this request, or too old: "
				      "send the request without it");
			return false;
		}
	}
	return true;
}

static void ask_modern(struct mcp_call *call, const struct mcp_question *questions, size_t count,
		       const char *state)
{
	json_t *requests = json_object();
	json_t *result =
		json_pack("{s:s, s:o}", "resultType", "input_required", "inputRequests", requests);

	for (size_t i = 0; i < count; i++) {
		json_t *params = questions[i].params ? questions[i].params : json_object();
		json_object_set_new(requests, questions[i].key,
				    json_pack("{s:s, s:o}", "method",
					      ask_method(questions[i].ability), "params", params));
	}
	if (state && result) {
		struct mcp_seal seal = call_seal(call);
		_cleanup_free_ char *sealed =
			mcp_seal(&seal, state, call->server->options.state_ns / 1000000000);
		json_object_set_new(result, "requestState", json_string(sealed ? sealed : ""));
	}
	mcp_call_finish(call, result);
}

/* For a tool's call the model gets the error; otherwise the client. */
static void ask_failed(struct mcp_call *call, const char *method, const char *why)
{
	if (strcmp(call->method->name, "tools/call") == 0) {
		mcp_call_finish_text(call, true, "The client was asked for %s, but %s.", method,
				     why);
	} else {
		mcp_call_fail(call, MCP_E_INTERNAL, NULL, "%s: %s", method, why);
	}
}

static void ask_legacy(struct mcp_call *call, const struct mcp_question *questions, size_t count,
		       const char *state)
{
	bool sent = true;

	call->kind = CALL_ASKING;
	call->on_cancel = NULL;
	free(call->state);
	call->state = state ? strdup(state) : NULL;
	json_decref(call->waiting);
	call->waiting = json_object();
	for (size_t i = 0; i < count; i++) {
		uint64_t id = ++call->peer->last_question;
		char name[24];
		json_t *message = mcp_message_request(id, ask_method(questions[i].ability),
						      questions[i].params);
		snprintf(name, sizeof(name), "%llu", (unsigned long long)id);
		json_object_set_new(call->waiting, name, json_string(questions[i].key));
		sent = sent && message && call->channel->class->send(call->channel, message, false);
		json_decref(message);
	}
	if (!sent) {
		call->kind = CALL_RUNNING;
		ask_failed(call, ask_method(questions[0].ability),
			   "it does not accept text/event-stream");
	}
}

void mcp_call_ask(struct mcp_call *call, const struct mcp_question *questions, size_t count,
		  const char *state)
{
	unsigned wanted = 0;

	for (size_t i = 0; i < count; i++) {
		wanted |= questions[i].ability;
	}
	unsigned lacking = wanted & ~mcp_abilities(call->capabilities);
	if (call->channel && !lacking) {
		(call->modern ? ask_modern : ask_legacy)(call, questions, count, state);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		json_decref(questions[i].params);
	}
	if (!call->channel) {
		mcp_call_free(call);
	} else {
		mcp_call_lacks(call, lacking);
	}
}

void mcp_call_lacks(struct mcp_call *call, unsigned lacking)
{
	json_t *required = mcp_abilities_json(lacking);

	if (call->modern) {
		mcp_call_fail(call, MCP_E_MISSING_CAPABILITY,
			      json_pack("{s:o}", "requiredCapabilities", required),
			      "Missing required client capability");
		return;
	}
	const char *name = json_object_iter_key(json_object_iter(required));
	char text[64];
	snprintf(text, sizeof(text), "%s", name ? name : "it");
	json_decref(required);
	ask_failed(call, text, "it cannot do that");
}

/* The call that waits for the answer with this id, and the question's key. */
static struct mcp_call *asking_call(const struct mcp_peer *peer, const char *id,
				    const char **ret_key)
{
	for (struct mcp_call *call = peer->calls; call; call = call->next) {
		const json_t *key = json_object_get(call->waiting, id);
		if (call->kind == CALL_ASKING && key) {
			*ret_key = json_string_value(key);
			return call;
		}
	}
	return NULL;
}

void mcp_question_answered(struct mcp_peer *peer, const struct mcp_message *response)
{
	char id[24];
	const char *key;

	snprintf(id, sizeof(id), "%lld", (long long)json_integer_value(response->id));
	struct mcp_call *call = json_is_integer(response->id) ? asking_call(peer, id, &key) : NULL;
	if (!call) {
		return;
	}
	if (response->error) {
		const char *why = json_string_value(json_object_get(response->error, "message"));
		call->kind = CALL_RUNNING;
		json_object_clear(call->waiting);
		char text[256];
		snprintf(text, sizeof(text), "it answered: %s", why ? why : "no");
		ask_failed(call, "an answer", text);
		return;
	}
	json_object_set(call->answers, key, response->result);
	json_object_del(call->waiting, id);
	if (json_object_size(call->waiting) == 0) {
		call->kind = CALL_RUNNING;
		call->method->handle(call);
	}
}
