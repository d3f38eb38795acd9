/* SPDX-License-Identifier: Apache-2.0 */
/* A call: its lifetime, and the functions for its handler. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "mcp/mcp_internal.h"

static const char *const level_names[] = {
	[MCP_DEBUG] = "debug",     [MCP_INFO] = "info",           [MCP_NOTICE] = "notice",
	[MCP_WARNING] = "warning", [MCP_ERROR] = "error",         [MCP_CRITICAL] = "critical",
	[MCP_ALERT] = "alert",     [MCP_EMERGENCY] = "emergency",
};

static const struct {
	enum mcp_ability ability;
	const char *name;
} abilities[] = {
	{ MCP_SAMPLING, "sampling" },
	{ MCP_ELICITATION, "elicitation" },
	{ MCP_ROOTS, "roots" },
};

int mcp_level_find(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(level_names); i++) {
		if (strcmp(level_names[i], name) == 0) {
			return (int)i;
		}
	}
	return -1;
}

unsigned mcp_abilities(const json_t *capabilities)
{
	unsigned has = 0;

	for (size_t i = 0; i < ARRAY_SIZE(abilities); i++) {
		const json_t *one = json_object_get(capabilities, abilities[i].name);
		/* Elicitation by URL alone is not enough; {} means by form. */
		if (json_is_object(one) &&
		    (abilities[i].ability != MCP_ELICITATION || json_object_get(one, "form") ||
		     !json_object_get(one, "url"))) {
			has |= abilities[i].ability;
		}
	}
	return has;
}

json_t *mcp_abilities_json(unsigned wanted)
{
	json_t *all = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(abilities); i++) {
		if (wanted & abilities[i].ability) {
			json_object_set_new(all, abilities[i].name, json_object());
		}
	}
	return all;
}

void mcp_call_unlink(struct mcp_call *call)
{
	if (!call->peer) {
		return;
	}
	*call->link = call->next;
	if (call->next) {
		call->next->link = call->link;
	}
	call->peer->calls_count--;
	if (call->kind == CALL_LISTENING) {
		call->server->listeners--;
	}
	call->peer = NULL;
}

void mcp_call_free(struct mcp_call *call)
{
	mcp_call_unlink(call);
	json_decref(call->id);
	json_decref(call->params);
	json_decref(call->capabilities);
	json_decref(call->progress_token);
	json_decref(call->answers);
	json_decref(call->waiting);
	mcp_watch_done(&call->watch);
	free(call->state);
	free(call->tenant);
	free(call);
}

void mcp_call_cancel(struct mcp_call *call)
{
	struct mcp_channel *channel = call->channel;
	bool ours = call->kind != CALL_RUNNING;

	call->cancelled = true;
	call->channel = NULL;
	call->base = NULL;
	mcp_call_unlink(call);
	if (channel) {
		channel->class->answer(channel, NULL, 0);
	}
	if (ours) {
		mcp_call_free(call);
	} else if (call->on_cancel) {
		call->on_cancel(call->on_cancel_user);
	}
}

bool mcp_call_send(struct mcp_call *call, const char *method, json_t *params, bool lossy)
{
	json_t *message = params ? mcp_message_notification(method, params) : NULL;
	bool sent = message && call->channel &&
		    call->channel->class->send(call->channel, message, lossy);

	json_decref(message);
	return sent;
}

static void call_end(struct mcp_call *call, json_t *message, int status)
{
	struct mcp_channel *channel = call->channel;

	mcp_call_free(call);
	if (channel) {
		channel->class->answer(channel, message, status);
	}
	json_decref(message);
}

/* Adds the members that every result of the modern era has. */
static void result_complete(const struct mcp_call *call, json_t *result)
{
	if (!json_object_get(result, "resultType")) {
		json_object_set_new(result, "resultType", json_string("complete"));
		if (call->method->flags & METHOD_CACHEABLE && !json_object_get(result, "ttlMs")) {
			/*
			 * Contents may change at any time; lists stay the same until a
			 * notification.
			 */
			bool lasting = !(call->method->flags & METHOD_ASKS);
			json_int_t ttl = lasting ? (json_int_t)call->server->provider->ttl_ms : 0;
			json_object_set_new(result, "ttlMs", json_integer(ttl));
			json_object_set_new(result, "cacheScope", json_string("private"));
		}
	}
	json_t *meta = json_object_get(result, "_meta");
	if (!meta) {
		meta = json_object();
		json_object_set_new(result, "_meta", meta);
	}
	json_object_set(meta, META_SERVER, call->server->info);
}

void mcp_call_finish(struct mcp_call *call, json_t *result)
{
	if (!call->channel) { /* also when the server has been freed */
		json_decref(result);
		mcp_call_free(call);
		return;
	}
	if (!result) {
		mcp_call_fail(call, MCP_E_INTERNAL, NULL, "out of memory");
		return;
	}
	if (call->modern) {
		result_complete(call, result);
	}
	call_end(call, mcp_message_result(call->id, result), 200);
}

void mcp_call_finish_text(struct mcp_call *call, bool is_error, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, format);
	int size = vasprintf(&text, format, args);
	va_end(args);
	json_t *item = size < 0 ? NULL : mcp_text(text, (size_t)size);
	json_t *result = mcp_result(1, &item);
	if (result && is_error) {
		json_object_set_new(result, "isError", json_true());
	}
	if (size < 0) {
		text = NULL;
	}
	mcp_call_finish(call, result);
}

static int http_status(const struct mcp_call *call, int code)
{
	switch (call->modern ? code : 0) {
	case MCP_E_METHOD_NOT_FOUND:
		return 404;
	case MCP_E_HEADER_MISMATCH:
	case MCP_E_MISSING_CAPABILITY:
	case MCP_E_UNSUPPORTED_VERSION:
		return 400;
	default:
		return 200;
	}
}

void mcp_call_fail(struct mcp_call *call, int code, json_t *data, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	json_t *string = mcp_string(text, strlen(text));
	json_t *message = mcp_message_error(call->id, code,
					    string ? json_string_value(string) : "error", data);
	json_decref(string);
	call_end(call, message, http_status(call, code));
}

void mcp_call_no_resource(struct mcp_call *call, const char *uri)
{
	/* The code changed: until 2025-11-25 it was -32002. */
	mcp_call_fail(call, call->modern ? MCP_E_INVALID_PARAMS : -32002,
		      json_pack("{s:s}", "uri", uri), "Resource not found");
}

const char *mcp_call_tenant(const struct mcp_call *call)
{
	return call->tenant;
}

const char *mcp_call_version(const struct mcp_call *call)
{
	return call->version;
}

bool mcp_call_can(const struct mcp_call *call, enum mcp_ability ability)
{
	return mcp_abilities(call->capabilities) & ability;
}

bool mcp_call_is_cancelled(const struct mcp_call *call)
{
	return call->cancelled;
}

const json_t *mcp_call_arguments(const struct mcp_call *call)
{
	return json_object_get(call->params, "arguments");
}

bool mcp_call_wants_progress(const struct mcp_call *call)
{
	return call->channel && call->progress_token;
}

void mcp_call_on_cancel(struct mcp_call *call, void (*cancelled)(void *user), void *user)
{
	call->on_cancel = cancelled;
	call->on_cancel_user = user;
}

void mcp_call_progress(struct mcp_call *call, double done, double total, const char *message)
{
	if (!mcp_call_wants_progress(call) || !isfinite(done) || done <= call->progress) {
		return;
	}
	json_t *params =
		json_pack("{s:O, s:f}", "progressToken", call->progress_token, "progress", done);
	if (params && isfinite(total) && total > 0) {
		json_object_set_new(params, "total", json_real(total));
	}
	if (params && message) {
		json_object_set_new(params, "message", mcp_string(message, strlen(message)));
	}
	call->progress = done;
	mcp_call_send(call, "notifications/progress", params, true);
}

void mcp_call_log(struct mcp_call *call, enum mcp_level level, const char *logger, json_t *data)
{
	int wanted = call->peer && !call->modern ? (int)call->peer->log_level : call->log_level;

	if (!call->channel || (int)level < wanted) {
		json_decref(data);
		return;
	}
	mcp_call_send(call, "notifications/message",
		      json_pack("{s:s, s:s*, s:o}", "level", level_names[level], "logger", logger,
				"data", data),
		      true);
}

void mcp_call_release(struct mcp_call *call)
{
	if (call->channel && call->channel->class->release) {
		call->channel->class->release(call->channel);
	}
}

const char *mcp_call_name(const struct mcp_call *call)
{
	return json_string_value(json_object_get(call->params, call->method->name_key));
}
