/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /v1/batch: each program with each input, answered one by one as they end: a line of JSON
 * each, or an event each. Only a few of them are in the queue at the same time, so that a batch
 * burdens other tenants no more than its owner's single runs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "front/execution/event_stream.h"
#include "front/execution/stream_writer.h"
#include "front/request/upload.h"

#define BATCH_MAX 1000

struct batch_item {
	struct list_node node;
	struct batch *batch;
	struct execution_listener listener;
	size_t number;
};

struct batch {
	struct request *request;
	struct document body;
	json_t *programs, *inputs;
	size_t width, count, next, ended, failed;
	unsigned window, under_way;
	bool events, filling, over;
	struct list items; /* owned: those in progress */
	struct stream_writer writer;
};

static void fill(struct batch *batch);

static void finish(struct batch *batch)
{
	request_end_stream(batch->request);
}

static void begin_line(const struct batch *batch, const char *event, struct rope *line)
{
	if (batch->events) {
		buf_addf(&line->text, "event: %s\ndata: ", event);
	}
}

static void put(struct batch *batch, struct rope *line)
{
	buf_adds(&line->text, batch->events ? "\n\n" : "\n");
	stream_writer_put(&batch->writer, batch->request->exchange, line);
}

/* A client that does not read its answers gets no more large ones. */
static const struct run_result *affordable(const struct batch *batch,
					   const struct run_result *result, struct problem *problem)
{
	struct http_budget *budget = batch->writer.budget;

	if (!http_budget_take(budget, run_result_size(result))) {
		problem_set(
			problem, PROBLEM_BYTES_LIMITED,
			"your unread answers are too large together (http.tenant_answer_bytes)");
		return NULL;
	}
	http_budget_give(budget, run_result_size(result));
	return result;
}

static void put_item(struct batch *batch, size_t number, const struct run_result *given,
		     const struct problem *problem)
{
	struct problem unaffordable = { 0 };
	const struct run_result *result = given ? affordable(batch, given, &unaffordable) : NULL;
	struct rope line = { 0 };

	problem = given && !result ? &unaffordable : problem;

	begin_line(batch, result ? "result" : "error", &line);
	buf_addf(&line.text, "{\"program\":%zu,\"input\":%zu,\"result\":", number / batch->width,
		 number % batch->width);
	if (result) {
		run_result_write(result, &line);
		buf_adds(&line.text, ",\"error\":null}");
	} else {
		buf_adds(&line.text, "null,\"error\":");
		problem_write(problem, &line.text);
		buf_addc(&line.text, '}');
	}
	batch->ended++;
	batch->failed += result == NULL;
	put(batch, &line);
}

static void item_ended(void *user, struct execution *execution)
{
	struct batch_item *item = user;
	struct batch *batch = item->batch;
	const struct problem *problem;
	const struct run_result *result = execution_result(execution, &problem);

	list_remove(&batch->items, &item->node);
	batch->under_way--;
	put_item(batch, item->number, result, problem);
	free(item);
	fill(batch);
}

/* With an input, or without one (NULL). */
static int make_execution_request(struct batch *batch, size_t program, json_t *input,
				  struct execution_request **ret, struct problem *problem)
{
	_cleanup_(execution_request_freep)
	struct execution_request *made = NULL;
	char where[48];

	snprintf(where, sizeof(where), "programs[%zu]", program);
	int r = execution_request_read(EXECUTION_REQUEST_RUN,
				       json_array_get(batch->programs, program), batch->body.longs,
				       where, &made, problem);
	if (r < 0) {
		return r;
	}
	r = input ? execution_request_overlay(made, input, "inputs", problem) : 0;
	if (r < 0) {
		return r;
	}
	r = front_permit(batch->request->front, &batch->request->caller, made, problem);
	if (r < 0) {
		return r;
	}
	*ret = TAKE_PTR(made);
	return 0;
}

/* 1: not now, but when another item has ended. */
static int begin_item(struct batch *batch, size_t number)
{
	struct front *front = batch->request->front;
	struct problem problem = { 0 };
	struct submission submission = { .caller = &batch->request->caller };
	struct execution *execution = NULL;
	struct batch_item *item = calloc(1, sizeof(*item));
	json_t *input = json_array_get(batch->inputs, number % batch->width);

	if (!item || make_execution_request(batch, number / batch->width, input,
					    &submission.execution_request, &problem) < 0) {
		problem.kind = problem.kind ? problem.kind : PROBLEM_MEMORY_LOW;
		free(item);
		put_item(batch, number, NULL, &problem);
		return 0;
	}
	/* Large items wait for a round of their own, however small their batch is. */
	turns_spend(&front->turns, execution_request_weight(submission.execution_request));
	if (execution_new(front, &submission, &execution, &problem) < 0) {
		free(item);
		if (batch->under_way > 0) {
			return 1;
		}
		put_item(batch, number, NULL, &problem);
		return 0;
	}
	item->batch = batch;
	item->number = number;
	item->listener = (struct execution_listener){ .ended = item_ended, .user = item };
	list_prepend(&batch->items, &item->node);
	batch->under_way++;
	execution_listen(execution, &item->listener);
	execution_submit(execution);
	return 0;
}

static void put_summary(struct batch *batch)
{
	struct rope line = { 0 };

	begin_line(batch, "done", &line);
	buf_addf(&line.text, "{\"done\":true,\"count\":%zu,\"errors\":%zu}", batch->count,
		 batch->failed);
	batch->over = true;
	put(batch, &line);
}

/* An item may end while it is started here; then the outer call goes on. */
static void fill(struct batch *batch)
{
	if (batch->filling) {
		return;
	}
	batch->filling = true;
	while (batch->next < batch->count && batch->under_way < batch->window &&
	       stream_writer_ready(&batch->writer)) {
		if (begin_item(batch, batch->next) > 0) {
			break;
		}
		batch->next++;
	}
	batch->filling = false;
	if (batch->ended == batch->count && !batch->over) {
		put_summary(batch);
	}
	if (batch->over && stream_writer_empty(&batch->writer)) {
		finish(batch);
	}
}

static void go_on(void *user)
{
	struct batch *batch = ((struct request *)user)->state;

	stream_writer_resume(&batch->writer, batch->request->exchange);
	fill(batch);
}

static void drained(void *user)
{
	stream_writer_drained(&((struct batch *)((struct request *)user)->state)->writer);
	go_on(user);
}

/* Also when the client has left: the items in progress were only for it. */
static void closed(struct request *request)
{
	struct batch *batch = request->state;
	struct batch_item *item;

	while ((item = LIST_FIRST(&batch->items, struct batch_item, node))) {
		list_remove(&batch->items, &item->node);
		execution_unlisten(&item->listener);
		free(item);
	}
	stream_writer_done(&batch->writer);
	document_done(&batch->body);
	free(batch);
}

static int read_batch(struct batch *batch, struct problem *problem)
{
	static const struct field fields[] = {
		{ "programs", field_array, offsetof(struct batch, programs), 0, BATCH_MAX },
		{ "inputs", field_array, offsetof(struct batch, inputs), 0, BATCH_MAX },
	};
	int r = fields_read(batch->body.root, "", fields, ARRAY_SIZE(fields), batch, problem);

	if (r < 0) {
		return r;
	}
	batch->width = batch->inputs ? json_array_size(batch->inputs) : 1;
	batch->count = json_array_size(batch->programs) * batch->width;
	if (batch->count == 0) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST, "%s: is empty",
				   json_array_size(batch->programs) ? "inputs" : "programs");
	}
	if (batch->count > BATCH_MAX) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST,
				   "programs times inputs: more than %d", BATCH_MAX);
	}
	return 0;
}

static int check_program(struct batch *batch, size_t program, struct problem *problem)
{
	_cleanup_(execution_request_freep)
	struct execution_request *made = NULL;
	int r = make_execution_request(batch, program, NULL, &made, problem);

	if (r < 0) {
		return r;
	}
	return made->stream || made->call.session
		       ? problem_set(problem, PROBLEM_INVALID_REQUEST,
				     "programs[%zu]: no stream and no session in a batch", program)
		       : 0;
}

/*
 * Everything is checked before anything runs: each program and each input once, by itself. Checking
 * each combination would be a thousand times as much, and the front has one thread.
 */
static int check_batch(struct batch *batch, struct problem *problem)
{
	char where[48];

	for (size_t i = 0; i < json_array_size(batch->programs); i++) {
		int r = check_program(batch, i, problem);
		if (r < 0) {
			return r;
		}
	}
	for (size_t i = 0; i < json_array_size(batch->inputs); i++) {
		snprintf(where, sizeof(where), "inputs[%zu]", i);
		int r = execution_request_check_input(json_array_get(batch->inputs, i),
						      batch->body.longs, where, problem);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int take_batch(struct batch *batch, struct problem *problem)
{
	struct request *request = batch->request;

	if (request_header(request, "Idempotency-Key")) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST,
				   "Idempotency-Key: not for batches");
	}
	int r = body_read(request->exchange, &batch->body, problem);
	if (r < 0) {
		return r;
	}
	r = read_batch(batch, problem);
	return r < 0 ? r : check_batch(batch, problem);
}

void handle_batch(struct request *request)
{
	struct problem problem = { 0 };
	struct batch *batch = calloc(1, sizeof(*batch));
	const struct token *token = request->caller.token;

	if (!batch) {
		request_refuse(request, PROBLEM_MEMORY_LOW, "no memory for the request");
		return;
	}
	batch->request = request;
	request->state = batch;
	stream_writer_init(&batch->writer, &request->front->turns, request->exchange->budget, go_on,
			   request);
	request->closed = closed;
	if (take_batch(batch, &problem) < 0) {
		request_answer_problem(request, &problem);
		return;
	}
	batch->window = token && token->concurrency ? (unsigned)token->concurrency
						    : request->front->admission.limits.running;
	batch->events = request_accepts(request, EVENTS_TYPE);
	request->exchange->drained = drained;
	request_answer_header(request, "Cache-Control", "no-store");
	request_answer_header(request, "X-Content-Type-Options", "nosniff");
	request->front->counts.answers[2]++;
	http_stream_begin(request->exchange, 200,
			  batch->events ? EVENTS_TYPE : "application/x-ndjson");
	fill(batch);
}
