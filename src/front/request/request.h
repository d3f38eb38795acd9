/* SPDX-License-Identifier: Apache-2.0 */
/* One request on its way to an answer. A handler owns its visit until it answers. */
#ifndef BRIG_FRONT_REQUEST_REQUEST_H
#define BRIG_FRONT_REQUEST_REQUEST_H

#include "front/front_internal.h"
#include "front/request/routes.h"

struct visit {
	struct front *front;
	struct visit *next, *previous;
	struct http_exchange *exchange; /* NULL: the client has left */
	const struct route *route;
	struct caller caller;
	char *args[ROUTE_ARGS]; /* owned: what stands for {} in the route */

	/* Called when the client leaves; without it the visit ends, and what it waits for too. */
	void (*left)(struct visit *visit);
	struct engine_run *run;              /* a call that this visit waits for */
	struct listener listener;            /* an execution that it waits for */
	void *state;                         /* the handler's own */
	void (*closed)(struct visit *visit); /* called at the visit's end, to free that; or NULL */
	int status;                          /* of the answer that is wanted */
	int answered;                        /* its status; 0: the client has left before */
	uint64_t began_ns;
	char *line;        /* owned: "METHOD path", for the log; NULL: nobody reads it */
	const char *audit; /* kind of the line for the audit chain when it succeeds */
};

/* These answer, and end the visit. */
void visit_json(struct visit *visit, int status, const char *json, size_t size);
void visit_answer(struct visit *visit, int status, const char *type, const void *data, size_t size);
/* A text in parts, which is taken over. */
void visit_rope(struct visit *visit, int status, const char *type, struct rope *text);
void visit_empty(struct visit *visit, int status);
void visit_problem(struct visit *visit, const struct problem *problem);
void visit_refuse(struct visit *visit, enum problem_kind kind, const char *detail);

void visit_header(struct visit *visit, const char *name, const char *value);
const char *visit_asks(const struct visit *visit, const char *header);
/* Is this media type what the client would rather have? */
bool visit_accepts(const struct visit *visit, const char *type);
/* Without an answer: the stream has been ended, or the client has left. */
/* The end of a stream that it has answered with, and of the visit. */
void visit_end_stream(struct visit *visit);
void visit_free(struct visit *visit);

/*
 * Asks the engine on the visitor's behalf; the answer is JSON and goes straight to the client with
 * visit->status, or 200. `end`: somebody else looks at it first; NULL: as said.
 */
void visit_engine(struct visit *visit, struct engine_call *call,
		  void (*end)(void *user, const char *data, size_t size));

/* The tenant whose executions the visitor may look at and end; or LEDGER_ANY_TENANT. */
const char *visit_reach(const struct visit *visit);
/* An operator's hand on another tenant's execution: that tenant's chain has it. */
void visit_audit_other(struct visit *visit, const char *kind, const char *tenant, const char *id);

/* Other tokens: visitors are looked up again, and those whose token is no more are sent away. */
void visits_revoke(struct front *front);

/* What came in: makes a visit of it, checks who it is, and lets the route's handler work. */
void visit_begin(struct front *front, struct http_exchange *exchange);
#endif
