/* SPDX-License-Identifier: Apache-2.0 */
/* One request on its way to an answer. A handler owns its visit until it answers. */
#ifndef BRIG_FRONT_REQUEST_REQUEST_H
#define BRIG_FRONT_REQUEST_REQUEST_H

#include "front/front_internal.h"
#include "front/request/routes.h"

struct request {
	struct front *front;
	struct request *next, *previous;
	struct http_exchange *exchange; /* NULL: the client has left */
	const struct route *route;
	struct caller caller;
	char *args[ROUTE_ARGS]; /* owned: what stands for {} in the route */

	/* Called when the client leaves; without it the visit ends, and what it waits for too. */
	void (*left)(struct request *request);
	struct engine_run *run;             /* a call that this visit waits for */
	struct execution_listener listener; /* an execution that it waits for */
	void *state;                        /* the handler's own */
	void (*closed)(
		struct request *request); /* called at the visit's end, to free that; or NULL */
	int status;                       /* of the answer that is wanted */
	int answered;                     /* its status; 0: the client has left before */
	uint64_t began_ns;
	char *line;        /* owned: "METHOD path", for the log; NULL: nobody reads it */
	const char *audit; /* kind of the line for the audit chain when it succeeds */
};

/* These answer, and end the visit. */
void request_answer_json(struct request *request, int status, const char *json, size_t size);
void request_answer(struct request *request, int status, const char *type, const void *data,
		    size_t size);
/* A text in parts, which is taken over. */
void request_answer_rope(struct request *request, int status, const char *type, struct rope *text);
void request_answer_empty(struct request *request, int status);
void request_answer_problem(struct request *request, const struct problem *problem);
void request_refuse(struct request *request, enum problem_kind kind, const char *detail);

void request_answer_header(struct request *request, const char *name, const char *value);
const char *request_header(const struct request *request, const char *header);
/* Is this media type what the client would rather have? */
bool request_accepts(const struct request *request, const char *type);
/* Without an answer: the stream has been ended, or the client has left. */
/* The end of a stream that it has answered with, and of the visit. */
void request_end_stream(struct request *request);
void request_free(struct request *request);

/*
 * Asks the engine on the visitor's behalf; the answer is JSON and goes straight to the client with
 * visit->status, or 200. `end`: somebody else looks at it first; NULL: as said.
 */
void request_call_engine(struct request *request, struct engine_call *call,
			 void (*end)(void *user, const char *data, size_t size));

/* The tenant whose executions the visitor may look at and end; or LEDGER_ANY_TENANT. */
const char *request_tenant_scope(const struct request *request);
/* An operator's hand on another tenant's execution: that tenant's chain has it. */
void request_audit_other(struct request *request, const char *kind, const char *tenant,
			 const char *id);

/* Other tokens: visitors are looked up again, and those whose token is no more are sent away. */
void requests_revoke(struct front *front);

/* What came in: makes a visit of it, checks who it is, and lets the route's handler work. */
void request_begin(struct front *front, struct http_exchange *exchange);
#endif
