/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /v1/batch: each program with each input, answered one by one as they end: a line of JSON
 * each, or an event each. Only a few of them stand in the line at once, so that a batch is no
 * worse a neighbour than its owner's single runs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_out.h"
#include "front/events.h"
#include "front/spout.h"

#define BATCH_MAX 1000

struct batch_item {
	struct batch_item *next;
	struct batch *batch;
	struct listener listener;
	size_t number;
};

struct batch {
	struct visit *visit;
	json_t *root; /* owned */
	json_t *programs, *inputs;
	size_t width, count, next, ended, failed;
	unsigned window, under_way;
	bool events, filling, over;
	struct batch_item *items; /* owned: those under way */
	struct spout spout;
};

static void fill(struct batch *batch);

static void finish(struct batch *batch)
{
	visit_end_stream(batch->visit);
}

static void put(struct batch *batch, const char *event, struct buf *line)
{
	struct buf text = { 0 };

	if (batch->events) {
		buf_addf(&text, "event: %s\ndata: ", event);
	}
	buf_add(&text, line->data, line->size);
	buf_adds(&text, batch->events ? "\n\n" : "\n");
	buf_done(line);
	spout_put(&batch->spout, batch->visit->exchange, &text);
}

static void put_item(struct batch *batch, size_t number, const char *result, size_t size,
		     const struct problem *problem)
{
	struct buf line = { 0 };

	buf_addf(&line, "{\"program\":%zu,\"input\":%zu,\"result\":", number / batch->width,
		 number % batch->width);
	buf_add(&line, result ? result : "null", result ? size : 4);
	buf_adds(&line, ",\"error\":");
	if (result) {
		buf_adds(&line, "null");
	} else {
		struct buf text = { 0 };
		problem_write(problem, &text);
		buf_add(&line, text.data, text.size);
		buf_done(&text);
	}
	buf_addc(&line, '}');
	batch->ended++;
	batch->failed += result == NULL;
	put(batch, result ? "result" : "error", &line);
}

static void item_ended(void *user, struct execution *execution)
{
	struct batch_item *item = user;
	struct batch *batch = item->batch;
	const struct problem *problem;
	size_t size;
	const char *result = execution_result(execution, &size, &problem);

	for (struct batch_item **at = &batch->items; *at; at = &(*at)->next) {
		if (*at == item) {
			*at = item->next;
			break;
		}
	}
	batch->under_way--;
	put_item(batch, item->number, result, size, problem);
	free(item);
	fill(batch);
}

static int make_ask(struct batch *batch, size_t number, struct ask **ret, struct problem *problem)
{
	char where[48];
	json_t *input = json_array_get(batch->inputs, number % batch->width);

	snprintf(where, sizeof(where), "programs[%zu]", number / batch->width);
	int r = ask_read(ASK_RUN, json_array_get(batch->programs, number / batch->width), where,
			 ret, problem);
	if (r == 0 && input) {
		snprintf(where, sizeof(where), "inputs[%zu]", number % batch->width);
		r = ask_overlay(*ret, input, where, problem);
	}
	if (r == 0) {
		r = front_permit(batch->visit->front, &batch->visit->caller, *ret, problem);
	}
	if (r < 0) {
		ask_free(*ret);
		*ret = NULL;
	}
	return r;
}

/* 1: not now, but when one of ours has ended. */
static int begin_item(struct batch *batch, size_t number)
{
	struct front *front = batch->visit->front;
	struct problem problem = { 0 };
	struct execution_order order = { .caller = &batch->visit->caller };
	struct execution *execution = NULL;
	struct batch_item *item = calloc(1, sizeof(*item));

	if (!item || make_ask(batch, number, &order.ask, &problem) < 0) {
		problem.kind = problem.kind ? problem.kind : PROBLEM_MEMORY_LOW;
		free(item);
		put_item(batch, number, NULL, 0, &problem);
		return 0;
	}
	if (execution_new(front, &order, &execution, &problem) < 0) {
		free(item);
		if (batch->under_way > 0) {
			return 1;
		}
		put_item(batch, number, NULL, 0, &problem);
		return 0;
	}
	item->batch = batch;
	item->number = number;
	item->listener = (struct listener){ .ended = item_ended, .user = item };
	item->next = batch->items;
	batch->items = item;
	batch->under_way++;
	execution_listen(execution, &item->listener);
	execution_submit(execution);
	return 0;
}

static void put_summary(struct batch *batch)
{
	struct buf line = { 0 };

	buf_addf(&line, "{\"done\":true,\"count\":%zu,\"errors\":%zu}", batch->count,
		 batch->failed);
	batch->over = true;
	put(batch, "done", &line);
}

/* An item may end before it is begun here; then the outer turn goes on. */
static void fill(struct batch *batch)
{
	if (batch->filling) {
		return;
	}
	batch->filling = true;
	while (batch->next < batch->count && batch->under_way < batch->window &&
	       spout_ready(&batch->spout)) {
		if (begin_item(batch, batch->next) > 0) {
			break;
		}
		batch->next++;
	}
	batch->filling = false;
	if (batch->ended == batch->count && !batch->over) {
		put_summary(batch);
	}
	if (batch->over && spout_empty(&batch->spout)) {
		finish(batch);
	}
}

static void drained(void *user)
{
	struct batch *batch = ((struct visit *)user)->state;

	spout_resume(&batch->spout, batch->visit->exchange);
	fill(batch);
}

/* Also when the client has left: what is under way was for it alone. */
static void closed(struct visit *visit)
{
	struct batch *batch = visit->state;

	while (batch->items) {
		struct batch_item *item = batch->items;

		batch->items = item->next;
		execution_unlisten(&item->listener);
		free(item);
	}
	spout_done(&batch->spout);
	json_decref(batch->root);
	free(batch);
}

static int read_batch(struct batch *batch, struct problem *problem)
{
	static const struct field fields[] = {
		{ "programs", field_array, offsetof(struct batch, programs), 0, BATCH_MAX },
		{ "inputs", field_array, offsetof(struct batch, inputs), 0, BATCH_MAX },
	};
	int r = fields_read(batch->root, "", fields, ARRAY_SIZE(fields), batch, problem);

	if (r < 0) {
		return r;
	}
	batch->width = batch->inputs ? json_array_size(batch->inputs) : 1;
	batch->count = json_array_size(batch->programs) * batch->width;
	if (batch->count == 0) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST, "%s: there is nothing in it",
				   json_array_size(batch->programs) ? "inputs" : "programs");
	}
	if (batch->count > BATCH_MAX) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST,
				   "programs times inputs: more than %d", BATCH_MAX);
	}
	return 0;
}

/* All of it is looked at before anything runs: each program, and each input once. */
static int check_batch(struct batch *batch, struct problem *problem)
{
	for (size_t i = 0; i < batch->count; i += i < batch->width - 1 ? 1 : batch->width) {
		struct ask *ask = NULL;
		int r = make_ask(batch, i, &ask, problem);

		if (r == 0 && (ask->stream || ask->call.session)) {
			r = problem_set(problem, PROBLEM_INVALID_REQUEST,
					"programs[%zu]: no stream and no session in a batch",
					i / batch->width);
		}
		ask_free(ask);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

void handle_batch(struct visit *visit)
{
	struct problem problem = { 0 };
	struct batch *batch = calloc(1, sizeof(*batch));
	const struct token *token = visit->caller.token;

	if (!batch) {
		visit_refuse(visit, PROBLEM_MEMORY_LOW, "no memory for the request");
		return;
	}
	batch->visit = visit;
	visit->state = batch;
	visit->closed = closed;
	int r = 0;
	if (visit_asks(visit, "Idempotency-Key")) {
		r = problem_set(&problem, PROBLEM_INVALID_REQUEST,
				"Idempotency-Key: not for batches");
	}
	if (r == 0) {
		r = fields_parse(visit->exchange->body, visit->exchange->body_size, &batch->root,
				 &problem);
	}
	if (r == 0) {
		r = read_batch(batch, &problem);
	}
	if (r < 0 || check_batch(batch, &problem) < 0) {
		visit_problem(visit, &problem);
		return;
	}
	batch->window = token && token->concurrency ? (unsigned)token->concurrency
						    : visit->front->admission.limits.running;
	batch->events = visit_accepts(visit, EVENTS_TYPE);
	visit->exchange->drained = drained;
	visit_header(visit, "Cache-Control", "no-store");
	visit_header(visit, "X-Content-Type-Options", "nosniff");
	visit->front->counts.answers[2]++;
	http_stream_begin(visit->exchange, 200,
			  batch->events ? EVENTS_TYPE : "application/x-ndjson");
	fill(batch);
}
