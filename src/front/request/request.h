/* SPDX-License-Identifier: Apache-2.0 */
/* One request on its way to an answer. A handler owns its request until it answers. */
#ifndef BRIG_FRONT_REQUEST_REQUEST_H
#define BRIG_FRONT_REQUEST_REQUEST_H

#include "front/front_internal.h"
#include "front/request/routes.h"

struct request {
	struct front *front;
	struct list_node node;
	struct http_exchange *exchange; /* NULL: the client has left */
	const struct route *route;
	char allowed[64]; /* methods of its path, if it has no route; "": none */
	struct caller caller;
	bool begun; /* complete; before that it waits for its body, and nothing answers it */
	char *args[ROUTE_ARGS]; /* owned: the parts of the path for {} in the route */

	/*
	 * Called when the client leaves; without it the request ends, and the work that it waits
	 * for too.
	 */
	void (*left)(struct request *request);
	struct engine_run *run;             /* a call that it waits for */
	struct execution_listener listener; /* for an execution that it waits for */
	void *state;                        /* the handler's own */
	void (*closed)(
		/* called at the end of the request, to free `state`; or NULL */
		struct request *request);
	int status;   /* for the answer */
	int answered; /* the status of the answer; 0: the client has left before */
	uint64_t began_ns;
	char *line;        /* owned: "METHOD path", for the log; NULL: it is not logged */
	const char *audit; /* kind of the record for the audit chain when the call succeeds */
};

/* These answer, and end the request. */
void request_answer_json(struct request *request, int status, const char *json, size_t size);
void request_answer(struct request *request, int status, const char *type, const void *data,
		    size_t size);
/* A text in parts, which is taken over. */
void request_answer_rope(struct request *request, int status, const char *type, struct rope *text);
void request_answer_empty(struct request *request, int status);
void request_answer_problem(struct request *request, const struct problem *problem);
void request_refuse(struct request *request, enum problem_kind kind, const char *detail);

/* Sets a header of the answer. */
void request_answer_header(struct request *request, const char *name, const char *value);
/* A header of the request; NULL: not found. */
const char *request_header(const struct request *request, const char *header);
/* Does the client accept this media type? */
bool request_accepts(const struct request *request, const char *type);
/* Ends the stream that it was answered with, and the request. */
void request_end_stream(struct request *request);
/* Frees the request without an answer: the stream has been ended, or the client has left. */
void request_free(struct request *request);

/*
 * Calls the engine on behalf of the caller; the answer is JSON and goes straight to the client with
 * request->status, or 200. `end`: called with the answer instead; or NULL.
 */
void request_call_engine(struct request *request, struct engine_call *call,
			 void (*end)(void *user, const char *data, size_t size));

/* The tenant whose executions the caller may read and end; or LEDGER_ANY_TENANT. */
const char *request_tenant_scope(const struct request *request);
/* Records in another tenant's audit chain that an operator has acted on its execution. */
void request_audit_other(struct request *request, const char *kind, const char *tenant,
			 const char *id);

/*
 * The tokens were read again: looks up the caller of each request, and refuses those whose token is
 * gone.
 */
void requests_revoke(struct front *front);

/*
 * Called before a body is read: does the route exist, and may the caller use it? 0, or a status.
 * From here on the exchange has a request.
 */
int request_admit(struct front *front, struct http_exchange *exchange, size_t *ret_limit);
/* Makes a request of an exchange, checks the caller, and calls the route's handler. */
void request_begin(struct front *front, struct http_exchange *exchange);
#endif
