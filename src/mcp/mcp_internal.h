/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a server, for the files of this folder.
 *
 * A peer is one client: a stdio connection, a legacy HTTP session, or a single modern HTTP request.
 * A transport reads messages and gives them to its peer together with a channel, which takes the
 * messages back that belong to this one. Each request becomes a call, which is in its peer's list
 * until it is answered or cancelled. A call is owned by the function that works on it, but while it
 * waits for the client (asking, listening) it is owned by its peer.
 */
#ifndef BRIG_MCP_MCP_INTERNAL_H
#define BRIG_MCP_MCP_INTERNAL_H

#include "mcp/mcp.h"
#include "mcp/mcp_message.h"
#include "mcp/mcp_sealed.h"

#define META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_LOG_LEVEL    "io.modelcontextprotocol/logLevel"
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"
#define META_SERVER       "io.modelcontextprotocol/serverInfo"

#define VERSION_MODERN "2026-07-28"
#define VERSION_LATEST "2025-11-25" /* of the legacy era */

struct mcp_batch;
struct mcp_channel;

struct mcp_channel_class {
	/*
	 * Sends a message before the answer. A lossy one is left out when the client is slow.
	 * False: it cannot be sent.
	 */
	bool (*send)(struct mcp_channel *channel, const json_t *message, bool lossy);
	/*
	 * The answer, or NULL when there is none because the request was cancelled; `status` is
	 * HTTP's. NULL with 202: a batch without requests was taken. The caller does not touch the
	 * channel afterwards.
	 */
	void (*answer)(struct mcp_channel *channel, const json_t *message, int status);
	/*
	 * The same with the text of a batch's answer; the channel of a batch needs none. NULL: no
	 * memory.
	 */
	void (*answer_text)(struct mcp_channel *channel, const char *text, size_t size);
	void (*release)(struct mcp_channel *channel); /* mcp_call_release(); may be NULL */
};

struct mcp_channel {
	const struct mcp_channel_class *class;
};

struct mcp_watch {     /* changes that a client wants to be notified of */
	bool lists[3]; /* by enum mcp_list */
	json_t *uris;  /* owned; an array of strings, or NULL */
};

struct mcp_peer {
	struct mcp_server *server;
	char *tenant; /* owned */
	/* legacy: from initialize */
	const char *version;  /* static; NULL: not yet */
	json_t *capabilities; /* owned */
	enum mcp_level log_level;
	struct mcp_watch watch;
	/* for messages that belong to no request; NULL: they are dropped */
	struct mcp_channel *general;

	struct mcp_call *calls;
	unsigned calls_count;
	unsigned batches;   /* that have messages to take */
	size_t batch_bytes; /* answers that wait in its batches */
	uint64_t last_question;
	struct mcp_peer *next, **link; /* all peers of the server */
};

enum mcp_call_state_kind {
	CALL_RUNNING,   /* a function of the provider works on it */
	CALL_ASKING,    /* legacy: waits for answers */
	CALL_LISTENING, /* modern: subscriptions/listen */
};

struct mcp_method;

struct mcp_call {
	struct mcp_server *server;
	struct mcp_peer *peer;       /* NULL: the answer is not wanted any more */
	struct mcp_channel *channel; /* NULL: the same */
	struct mcp_channel *base;    /* the transport's own, where `channel` is a batch's */
	const struct mcp_method *method;
	enum mcp_call_state_kind kind;
	bool modern;
	bool cancelled;
	const char *version;  /* static */
	char *tenant;         /* owned */
	json_t *id;           /* owned, as all below */
	json_t *params;       /* always an object */
	json_t *capabilities; /* of the client */
	json_t *progress_token;
	double progress; /* the last one that was sent */
	int log_level;   /* enum mcp_level; above all of them: no messages are wanted */
	json_t *answers; /* key -> result */
	json_t *waiting; /* legacy: question's id (as text) -> key */
	char *state;
	struct mcp_watch watch; /* of a listener */
	void (*on_cancel)(void *user);
	void *on_cancel_user;
	struct mcp_call *next, **link; /* of the peer */
};

struct mcp_server {
	struct loop *loop;
	const struct mcp_provider *provider;
	struct mcp_options options; /* with the defaults filled in */
	uint8_t key[MCP_SEAL_KEY];
	json_t *all_tools; /* owned: the provider's table, including hidden ones */
	json_t *tools;     /* owned: the arrays for the list methods */
	json_t *resources;
	json_t *templates;
	json_t *prompts;
	json_t *info; /* {"name","title","version"} */
	struct mcp_peer *peers;
	unsigned listeners;
	struct mcp_batch *batches; /* that have messages to handle, in turn */
	struct loop_timer batches_due;
};

enum method_era { ERA_LEGACY = 1, ERA_MODERN = 2 };
enum method_flags {
	METHOD_EARLY = 1,     /* also before initialize */
	METHOD_CACHEABLE = 2, /* modern results contain the time for which they are valid */
	METHOD_ASKS = 4,      /* may answer input_required */
};

struct mcp_method {
	const char *name;
	unsigned eras;
	unsigned flags;
	const char *name_key; /* the parameter that Mcp-Name repeats; or NULL */
	void (*handle)(struct mcp_call *call);
};

/* mcp_methods.c */
const struct mcp_method *mcp_method_find(const char *name, bool modern);

/* mcp_server.c */
const struct mcp_tool *mcp_tool_find(const struct mcp_server *server, const char *name,
				     const json_t **ret_schema);
json_t *mcp_server_capabilities(const struct mcp_server *server);

/* mcp_peer.c */
int mcp_peer_init(struct mcp_peer *peer, struct mcp_server *server, const char *tenant);
/* Cancels its calls; their channels are not used any more. */
void mcp_peer_done(struct mcp_peer *peer);
/* Cancels the calls that answer on this channel, which has ended. */
void mcp_peer_abandon(struct mcp_peer *peer, const struct mcp_channel *base);
/*
 * Handles a message or batch. True: `channel` will get one answer (or has got it); false: there
 * will be none, these were notifications and responses.
 */
bool mcp_peer_receive(struct mcp_peer *peer, json_t *root, struct mcp_channel *channel);
/* Handles one message that is not a batch, with `channel` for its answer if it is a request. */
bool mcp_peer_message(struct mcp_peer *peer, json_t *value, struct mcp_channel *channel,
		      struct mcp_channel *base);
/* Handles a request. HTTP has checked the headers, which also determine the era. */
void mcp_peer_request(struct mcp_peer *peer, const struct mcp_message *message, bool modern,
		      struct mcp_channel *channel, struct mcp_channel *base);
void mcp_peer_refuse(struct mcp_channel *channel, json_t *id, int code, int status, json_t *data,
		     const char *text);
/* Does the message itself show that it is of the modern era? */
bool mcp_message_is_modern(const struct mcp_message *message);
bool mcp_watch_wants(const struct mcp_watch *watch, const char *uri);
void mcp_watch_done(struct mcp_watch *watch);

/* mcp_version.c */
const char *mcp_version_known(const char *version, bool modern); /* the static text, or NULL */
json_t *mcp_versions(void);
bool mcp_version_from(const char *version, const char *first); /* that version, or a later one? */

/* mcp_modern.c: NULL, or the error's text, with *ret_code and *ret_data */
const char *mcp_modern_check(const struct mcp_message *message, int *ret_code, json_t **ret_data);

/* mcp_batch.c */
/*
 * As mcp_peer_receive(), for an array, but always true. Its messages are taken in later rounds of
 * the loop.
 */
bool mcp_batch_receive(struct mcp_peer *peer, json_t *messages, struct mcp_channel *channel);
void mcp_batches_due(void *user); /* `user` is the server */
/* Waiting requests with this id will not be handled. */
void mcp_batch_cancel(struct mcp_peer *peer, const json_t *id);
/* The channel of its batches has ended (NULL: of all), and nothing more of them is handled. */
void mcp_batch_drop(struct mcp_peer *peer, const struct mcp_channel *channel);
/* `channel` is a batch's: the inner one has ended. */
void mcp_batch_detach(struct mcp_channel *channel);

/* mcp_call.c */
void mcp_call_free(struct mcp_call *call);
void mcp_call_cancel(struct mcp_call *call);
void mcp_call_unlink(struct mcp_call *call);
/* Sends a message before the answer. */
bool mcp_call_send(struct mcp_call *call, const char *method, json_t *params, bool lossy);
int mcp_level_find(const char *name); /* or -1 */
unsigned mcp_abilities(const json_t *capabilities);
/* {"sampling":{},...} */
json_t *mcp_abilities_json(unsigned abilities);

/* mcp_question.c */
void mcp_question_answered(struct mcp_peer *peer, const struct mcp_message *response);
/* Modern: reads inputResponses and requestState. False: the call has failed. */
bool mcp_question_resume(struct mcp_call *call);
/* Ends the call: the client lacks abilities that it needs. */
void mcp_call_lacks(struct mcp_call *call, unsigned lacking);

/* the handlers of the method table */
void mcp_handle_initialize(struct mcp_call *call);
void mcp_handle_ping(struct mcp_call *call);
void mcp_handle_set_level(struct mcp_call *call);
void mcp_handle_subscribe(struct mcp_call *call);
void mcp_handle_unsubscribe(struct mcp_call *call);
void mcp_handle_discover(struct mcp_call *call);
void mcp_handle_listen(struct mcp_call *call);
void mcp_handle_tools_list(struct mcp_call *call);
void mcp_handle_tools_call(struct mcp_call *call);
void mcp_handle_resources_list(struct mcp_call *call);
void mcp_handle_templates_list(struct mcp_call *call);
void mcp_handle_resources_read(struct mcp_call *call);
void mcp_handle_prompts_list(struct mcp_call *call);
void mcp_handle_prompts_get(struct mcp_call *call);
void mcp_handle_complete(struct mcp_call *call);
#endif
