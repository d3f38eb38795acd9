/* SPDX-License-Identifier: Apache-2.0 */
/* Queries to the ledger: see ledger_query.h. */
#include "front/access/ledger_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SENT_MAX    4u /* of one tenant at a time: an answer may be as long as a stored result */
#define WAITING_MAX 256u

/* A query that was sent cannot be taken back; its request may end before the answer. */
struct ledger_query {
	struct list_node node; /* in the list of all, the newest first */
	struct front *front;
	struct request *request; /* NULL: it has ended */
	bool sent;
	char tenant[TOKEN_NAME_MAX + 1]; /* of the request */
	struct ledger_query_text text;
	ledger_query_done *done;
};

static void query_free(struct front *front, struct ledger_query *query)
{
	list_remove(&front->ledger_queries, &query->node);
	free(query);
}

void ledger_queries_forget(struct front *front)
{
	struct ledger_query *query;

	while ((query = LIST_FIRST(&front->ledger_queries, struct ledger_query, node))) {
		query_free(front, query);
	}
}

static void request_closed(struct request *request)
{
	struct ledger_query *query = request->state;

	if (query->sent) {
		query->request = NULL;
	} else {
		query_free(query->front, query);
	}
}

static struct request *detach_request(struct ledger_query *query)
{
	struct request *request = query->request;

	if (request) {
		request->closed = NULL;
		request->state = NULL;
	}
	return request;
}

/* The tenant's oldest query that waits, unless enough of them are with the ledger. */
static struct ledger_query *next_query(const struct front *front, const char *tenant)
{
	struct ledger_query *oldest = NULL;
	unsigned sent = 0;

	LIST_EACH(struct ledger_query, q, &front->ledger_queries, node) {
		if (strcmp(q->tenant, tenant) == 0) {
			sent += q->sent;
			oldest = q->sent ? oldest : q;
		}
	}
	return sent < SENT_MAX ? oldest : NULL;
}

static ledger_done answered;

static int send_execution(struct ledger_query *query)
{
	const struct ledger_query_text *text = &query->text;

	return ledger_get(query->front->ledger, text->tenant, text->id, answered, query);
}

static int send_executions(struct ledger_query *query)
{
	const struct ledger_query_text *text = &query->text;

	return ledger_list(query->front->ledger, text->tenant, text->id[0] ? text->id : NULL,
			   text->limit, answered, query);
}

static int send_sessions_gone(struct ledger_query *query)
{
	const struct ledger_query_text *text = &query->text;

	return ledger_session_list(query->front->ledger, text->tenant,
				   text->id[0] ? text->id : NULL, text->limit, answered, query);
}

static int (*const send[])(struct ledger_query *query) = {
	[LEDGER_QUERY_EXECUTION] = send_execution,
	[LEDGER_QUERY_EXECUTIONS] = send_executions,
	[LEDGER_QUERY_SESSIONS_GONE] = send_sessions_gone,
};

static void send_next(struct front *front, const char *of)
{
	char tenant[TOKEN_NAME_MAX + 1]; /* a copy: refusing a request frees the original */
	struct ledger_query *query;

	(void)snprintf(tenant, sizeof(tenant), "%s", of);
	while ((query = next_query(front, tenant))) {
		query->sent = true;
		if (send[query->text.kind](query) < 0) {
			struct request *request = detach_request(query);

			query_free(front, query);
			request_refuse(request, PROBLEM_LEDGER_UNAVAILABLE,
				       "the ledger does not answer");
		}
	}
}

static void answered(void *user, const struct brig_error *error, const char *data, size_t size)
{
	struct ledger_query *query = user;
	struct front *front = query->front;
	struct request *request = detach_request(query);
	char tenant[TOKEN_NAME_MAX + 1];

	memcpy(tenant, query->tenant, sizeof(tenant));
	if (request) {
		query->done(request, &query->text, error, data, size);
	}
	query_free(front, query);
	send_next(front, tenant);
}

static bool has_room(const struct front *front, const char *tenant)
{
	unsigned waiting = 0;

	LIST_EACH(const struct ledger_query, q, &front->ledger_queries, node) {
		waiting += !q->sent && strcmp(q->tenant, tenant) == 0;
	}
	return waiting < WAITING_MAX;
}

void ledger_query_send(struct request *request, const struct ledger_query_text *text,
		       ledger_query_done *done)
{
	struct front *front = request->front;
	struct problem problem = { 0 };

	if (!has_room(front, request->caller.tenant)) {
		problem_set(&problem, PROBLEM_QUEUE_FULL,
			    "%u of your queries to the ledger are waiting already", WAITING_MAX);
		request_answer_problem(request, &problem);
		return;
	}
	struct ledger_query *query = calloc(1, sizeof(*query));
	if (!query) {
		request_refuse(request, PROBLEM_MEMORY_LOW, "no memory for the request");
		return;
	}
	query->front = front;
	query->request = request;
	query->text = *text;
	query->done = done;
	memcpy(query->tenant, request->caller.tenant, sizeof(query->tenant));
	list_prepend(&front->ledger_queries, &query->node);
	request->state = query;
	request->closed = request_closed;
	send_next(front, query->tenant);
}

void ledger_query_pass_on(struct request *request, const struct ledger_query_text *text,
			  const struct brig_error *error, const char *data, size_t size)
{
	(void)text;
	if (error) {
		request_refuse(request, PROBLEM_LEDGER_UNAVAILABLE, "the ledger does not answer");
	} else {
		request_answer_json(request, 200, data, size);
	}
}
