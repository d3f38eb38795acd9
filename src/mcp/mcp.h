/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server of the Model Context Protocol: both eras, any transport, no tools of its own. Its
 * provider gives tables of tools, resources and prompts; calls are asynchronous and end on the
 * loop's thread.
 *
 * Eras: up to 2025-11-25 a client sends `initialize` first (legacy); 2026-07-28 is stateless, every
 * request describes its client (modern). Tools do not see the difference, nor the transport.
 */
#ifndef BRIG_MCP_MCP_H
#define BRIG_MCP_MCP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "loop/loop.h"

struct mcp_call; /* one request in progress */
struct mcp_server;

/* Error codes of JSON-RPC, for mcp_call_fail(). */
enum {
	MCP_E_PARSE = -32700,
	MCP_E_INVALID_REQUEST = -32600,
	MCP_E_METHOD_NOT_FOUND = -32601,
	MCP_E_INVALID_PARAMS = -32602,
	MCP_E_INTERNAL = -32603,
	MCP_E_HEADER_MISMATCH = -32020,
	MCP_E_MISSING_CAPABILITY = -32021,
	MCP_E_UNSUPPORTED_VERSION = -32022,
};

/* Optional abilities of a client. */
enum mcp_ability {
	MCP_SAMPLING = 1,    /* sampling/createMessage */
	MCP_ELICITATION = 2, /* elicitation/create, by form */
	MCP_ROOTS = 4,       /* roots/list */
};

enum mcp_level { /* of log messages, as in syslog */
		 MCP_DEBUG,
		 MCP_INFO,
		 MCP_NOTICE,
		 MCP_WARNING,
		 MCP_ERROR,
		 MCP_CRITICAL,
		 MCP_ALERT,
		 MCP_EMERGENCY,
};

/*
 * --- what a server offers ------------------------------------------------------------------------
 *
 * Texts and tables belong to the provider and must exist as long as the server. A function that
 * gets a struct mcp_call must end it, then or later, by exactly one of mcp_call_finish,
 * mcp_call_fail and mcp_call_ask; also after it was cancelled.
 */

struct mcp_tool {
	const char *name; /* [A-Za-z0-9_.-]{1,128} */
	const char *title;
	const char *description;
	const char *input_schema;  /* JSON text, "type":"object"; arguments are validated with it */
	const char *output_schema; /* JSON text, or NULL */
	const char *annotations;   /* JSON text (readOnlyHint, ...), or NULL */
	unsigned needs;            /* enum mcp_ability; a client without them is refused */
	bool hidden;               /* can be called, but is not listed */
	void (*call)(void *user, struct mcp_call *call, const json_t *arguments);
};

/* A URI with a "{" is a template and listed as such. */
struct mcp_resource {
	const char *uri;
	const char *name;
	const char *title;
	const char *description;
	const char *mime_type;
};

struct mcp_prompt_argument {
	const char *name;
	const char *description;
	bool required;
};

struct mcp_prompt {
	const char *name;
	const char *title;
	const char *description;
	const struct mcp_prompt_argument *arguments;
	size_t arguments_count;
	void (*get)(void *user, struct mcp_call *call, const json_t *arguments);
};

struct mcp_provider {
	const char *name;
	const char *title; /* or NULL */
	const char *version;
	const char *instructions; /* for the model; or NULL */

	const struct mcp_tool *tools;
	size_t tools_count;
	const struct mcp_resource *resources;
	size_t resources_count;
	const struct mcp_prompt *prompts;
	size_t prompts_count;

	/* Ends with {"contents":[...]}, or by mcp_call_no_resource(). NULL: no resources at all. */
	void (*read)(void *user, struct mcp_call *call, const char *uri);
	/* Ends with {"resources":[...],"nextCursor":...}, instead of the table. Or NULL. */
	void (*list)(void *user, struct mcp_call *call, const char *cursor);
	/* Ends with {"completion":{"values":[...]}}. Or NULL. */
	void (*complete)(void *user, struct mcp_call *call, const json_t *ref, const char *argument,
			 const char *value);

	bool tools_change; /* mcp_server_changed() may be called for them */
	bool prompts_change;
	bool resources_change;
	bool resources_watch; /* mcp_server_updated() may be called */
	bool log;             /* mcp_call_log() may be called */
	uint64_t ttl_ms;      /* for how long a client may cache a list */

	void *user; /* of all functions above */
};

struct mcp_options {                   /* 0: the default in parentheses */
	size_t message_bytes;          /* one message of a client (32 MiB) */
	unsigned calls_per_client;     /* in progress at the same time (64) */
	unsigned listeners;            /* subscriptions/listen, all clients (256) */
	unsigned listeners_per_tenant; /* (16) */
	uint64_t state_ns;             /* how long a requestState is valid (10 minutes) */
	const uint8_t *key; /* 32 bytes that seal it; NULL: random, so valid for this server only */
};

/* Everything is checked here: schemas that are not JSON, invalid names. */
int mcp_server_new(struct loop *loop, const struct mcp_provider *provider,
		   const struct mcp_options *options, struct mcp_server **ret,
		   struct brig_error *error);
/* Ends subscriptions, which would stay open forever: before shutting down. */
void mcp_server_drain(struct mcp_server *server);
/* The transports must have been freed. Calls in progress are cancelled; they may still be ended. */
void mcp_server_free(struct mcp_server *server);

enum mcp_list { MCP_TOOLS, MCP_PROMPTS, MCP_RESOURCES };
/* Notifies all clients that listen for it. */
void mcp_server_changed(struct mcp_server *server, enum mcp_list list);
/* Notifies the clients of the tenant (NULL: all) that watch the resource. */
void mcp_server_updated(struct mcp_server *server, const char *tenant, const char *uri);

/* --- a call ----------------------------------------------------------------------------------- */

/* The caller, as authenticated by the transport. Never NULL. */
const char *mcp_call_tenant(const struct mcp_call *call);
const char *mcp_call_version(const struct mcp_call *call); /* "2025-11-25", ... */
/* Does the client have this ability? */
bool mcp_call_can(const struct mcp_call *call, enum mcp_ability ability);
/* The name of a tool or a prompt, the URI of a resource; or NULL. */
const char *mcp_call_name(const struct mcp_call *call);
/* The arguments of a tool or a prompt; or NULL. */
const json_t *mcp_call_arguments(const struct mcp_call *call);
/* The client wants progress notifications. */
bool mcp_call_wants_progress(const struct mcp_call *call);
bool mcp_call_is_cancelled(const struct mcp_call *call);

/* Called once, when the answer is not wanted any more: stop, then end the call as usual. */
void mcp_call_on_cancel(struct mcp_call *call, void (*cancelled)(void *user), void *user);

/* `done` must grow each time, otherwise it is not sent. total 0: not known; message may be NULL. */
void mcp_call_progress(struct mcp_call *call, double done, double total, const char *message);
/* Takes `data` over. Sent if the client wants messages of that level. */
void mcp_call_log(struct mcp_call *call, enum mcp_level level, const char *logger, json_t *data);

/* Ends the call with a result of the protocol. Takes it over; NULL: out of memory. */
void mcp_call_finish(struct mcp_call *call, json_t *result);
/* Ends a tool's call with a text; `is_error`: an error for the model to act on. */
void mcp_call_finish_text(struct mcp_call *call, bool is_error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Ends the call with a protocol error. Takes `data` over; may be NULL. */
void mcp_call_fail(struct mcp_call *call, int code, json_t *data, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void mcp_call_no_resource(struct mcp_call *call, const char *uri);

/*
 * Questions to the client. A function that needs an answer looks for it with mcp_call_answer(); if
 * there is none, it asks, which ends this call for it. When the answers have come, the function is
 * called again from its beginning, with the same arguments, the answers and `state`. (Modern
 * clients repeat the request; for legacy ones the server waits.) An answer may never come, and
 * answers come from the client: check them. A client that lacks the ability is refused.
 */
struct mcp_question {
	const char *key;
	enum mcp_ability ability;
	json_t *params; /* taken over; NULL for MCP_ROOTS */
};

const json_t *mcp_call_answer(const struct mcp_call *call, const char *key); /* or NULL */
/* The state given to mcp_call_ask(), which was sealed meanwhile; NULL at the first time. */
const char *mcp_call_state(const struct mcp_call *call);
void mcp_call_ask(struct mcp_call *call, const struct mcp_question *questions, size_t count,
		  const char *state);

/*
 * Closes the connection and lets the client come back for the answer, where it can (legacy HTTP
 * from 2025-11-25 on); otherwise does nothing.
 */
void mcp_call_release(struct mcp_call *call);

/*
 * --- content of results --------------------------------------------------------------------------
 *
 * All return a new value, or NULL without memory. Bytes that are not UTF-8 become U+FFFD in texts.
 */
json_t *mcp_string(const char *text, size_t size); /* a JSON string of any bytes */
json_t *mcp_text(const char *text, size_t size);
json_t *mcp_image(const char *mime_type, const void *data, size_t size);
json_t *mcp_audio(const char *mime_type, const void *data, size_t size);
/* An item of "contents" of a read, and of "resource" of an embedded one. */
json_t *mcp_contents_text(const char *uri, const char *mime_type, const char *text, size_t size);
json_t *mcp_contents_blob(const char *uri, const char *mime_type, const void *data, size_t size);
json_t *mcp_embedded(json_t *contents); /* takes it over */
/* {"content":[...]}: takes the items over; NULL when one of them is NULL. */
json_t *mcp_result(size_t count, json_t *const *items);
#endif
