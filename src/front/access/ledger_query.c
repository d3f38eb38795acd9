/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the ledger: see question.h. */
#include "front/access/ledger_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASKED_MAX   4u /* of one tenant at a time: each may be as long as a result is kept */
#define WAITING_MAX 256u

/* Once it is asked it cannot be taken back; its asker may leave. */
struct question {
	struct question *next; /* of all, the newest first */
	struct front *front;
	struct visit *visit; /* NULL: gone */
	bool asked;
	char tenant[TOKEN_NAME_MAX + 1]; /* who asks */
	struct question_text text;
	question_done *done;
};

static void question_free(struct front *front, struct question *question)
{
	struct question **at = &front->questions;

	while (*at != question) {
		at = &(*at)->next;
	}
	*at = question->next;
	free(question);
}

void questions_forget(struct front *front)
{
	while (front->questions) {
		question_free(front, front->questions);
	}
}

static void asker_closed(struct visit *visit)
{
	struct question *question = visit->state;

	if (question->asked) {
		question->visit = NULL;
	} else {
		question_free(question->front, question);
	}
}

static struct visit *asker_of(struct question *question)
{
	struct visit *visit = question->visit;

	if (visit) {
		visit->closed = NULL;
		visit->state = NULL;
	}
	return visit;
}

/* The oldest of the tenant's that waits, unless enough of them are with the ledger. */
static struct question *next_question(const struct front *front, const char *tenant)
{
	struct question *oldest = NULL;
	unsigned asked = 0;

	for (struct question *q = front->questions; q; q = q->next) {
		if (strcmp(q->tenant, tenant) == 0) {
			asked += q->asked;
			oldest = q->asked ? oldest : q;
		}
	}
	return asked < ASKED_MAX ? oldest : NULL;
}

static ledger_done answered;

static int send_execution(struct question *question)
{
	const struct question_text *text = &question->text;

	return ledger_get(question->front->ledger, text->tenant, text->id, answered, question);
}

static int send_executions(struct question *question)
{
	const struct question_text *text = &question->text;

	return ledger_list(question->front->ledger, text->tenant, text->id[0] ? text->id : NULL,
			   text->limit, answered, question);
}

static int send_sessions_gone(struct question *question)
{
	const struct question_text *text = &question->text;

	return ledger_session_list(question->front->ledger, text->tenant,
				   text->id[0] ? text->id : NULL, text->limit, answered, question);
}

static int (*const send[])(struct question *question) = {
	[QUESTION_EXECUTION] = send_execution,
	[QUESTION_EXECUTIONS] = send_executions,
	[QUESTION_SESSIONS_GONE] = send_sessions_gone,
};

static void ask_next(struct front *front, const char *of)
{
	char tenant[TOKEN_NAME_MAX + 1]; /* whoever is refused takes its name along */
	struct question *question;

	(void)snprintf(tenant, sizeof(tenant), "%s", of);
	while ((question = next_question(front, tenant))) {
		question->asked = true;
		if (send[question->text.kind](question) < 0) {
			struct visit *visit = asker_of(question);

			question_free(front, question);
			visit_refuse(visit, PROBLEM_LEDGER_UNAVAILABLE,
				     "the ledger does not answer");
		}
	}
}

static void answered(void *user, const struct brig_error *error, const char *data, size_t size)
{
	struct question *question = user;
	struct front *front = question->front;
	struct visit *visit = asker_of(question);
	char tenant[TOKEN_NAME_MAX + 1];

	memcpy(tenant, question->tenant, sizeof(tenant));
	if (visit) {
		question->done(visit, &question->text, error, data, size);
	}
	question_free(front, question);
	ask_next(front, tenant);
}

static bool has_room(const struct front *front, const char *tenant)
{
	unsigned waiting = 0;

	for (const struct question *q = front->questions; q; q = q->next) {
		waiting += !q->asked && strcmp(q->tenant, tenant) == 0;
	}
	return waiting < WAITING_MAX;
}

void question_ask(struct visit *visit, const struct question_text *text, question_done *done)
{
	struct front *front = visit->front;
	struct problem problem = { 0 };

	if (!has_room(front, visit->caller.tenant)) {
		problem_set(&problem, PROBLEM_QUEUE_FULL,
			    "%u of your questions for what is recorded are waiting already",
			    WAITING_MAX);
		visit_problem(visit, &problem);
		return;
	}
	struct question *question = calloc(1, sizeof(*question));
	if (!question) {
		visit_refuse(visit, PROBLEM_MEMORY_LOW, "no memory for the request");
		return;
	}
	question->front = front;
	question->visit = visit;
	question->text = *text;
	question->done = done;
	memcpy(question->tenant, visit->caller.tenant, sizeof(question->tenant));
	question->next = front->questions;
	front->questions = question;
	visit->state = question;
	visit->closed = asker_closed;
	ask_next(front, question->tenant);
}

void question_pass_on(struct visit *visit, const struct question_text *text,
		      const struct brig_error *error, const char *data, size_t size)
{
	(void)text;
	if (error) {
		visit_refuse(visit, PROBLEM_LEDGER_UNAVAILABLE, "the ledger does not answer");
	} else {
		visit_json(visit, 200, data, size);
	}
}
