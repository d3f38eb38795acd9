/* SPDX-License-Identifier: Apache-2.0 */
/* Server-sent events. */
#include "front/execution/event_stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json/json_out.h"
#include "front/execution/execution_record.h"
#include "front/execution/stream_writer.h"

/* bytes that the reader has already seen are skipped in steps of this size */
#define REPLAY_SKIP ((size_t)256 << 10)
/* so that proxies do not take a silent stream for a dead one */
#define BEAT_NS UINT64_C(15000000000)

enum events_phase {
	EVENTS_LIVE,   /* the execution is in progress: more may come */
	EVENTS_LOG,    /* it has ended: the rest of its output */
	EVENTS_REPLAY, /* it had ended before: its output from the result */
	EVENTS_END,    /* the last event */
	EVENTS_OVER,   /* everything has been given to the writer */
};

struct events {
	struct output_log_position position;
	enum events_phase phase;
	bool owner; /* its reader sets the pace of the program */
	struct stream_writer writer;
	struct loop_timer beat;
	struct output_log *log;   /* a reference; or NULL */
	struct run_result result; /* or the problem */
	struct problem problem;
	int replayed; /* 0: stdout is next, 1: stderr, 2: neither */
	bool opened;  /* the stream to replay */
	struct outcome_stream stream;
	size_t skip;                /* bytes of that stream that the reader has already seen */
	struct http_budget *budget; /* the budget that counts the `held` bytes */
	size_t held;
};

/* Digits, followed by `behind`. */
static bool take_number(const char **text, char behind, size_t *ret)
{
	char *end = NULL;

	if (**text < '0' || **text > '9') {
		return false;
	}
	errno = 0;
	*ret = strtoull(*text, &end, 10);
	*text = end + 1;
	return errno == 0 && *end == behind;
}

int events_position(const char *id, struct output_log_position *ret)
{
	*ret = (struct output_log_position){ 0 };
	if (!id || !*id) {
		return 0;
	}
	if (strcmp(id, "end") == 0) {
		return -EALREADY;
	}
	return take_number(&id, '-', &ret->seen[0]) && take_number(&id, '\0', &ret->seen[1])
		       ? 0
		       : -EINVAL;
}

static void write_output(struct rope *rope, const struct output_log_position *position,
			 const struct output_part *part)
{
	struct buf *out = &rope->text;
	struct json_out json = { .buf = out };

	buf_addf(out, "id: %zu-%zu\nevent: output\ndata: ", position->seen[0], position->seen[1]);
	json_open(&json, NULL, '{');
	json_text(&json, "stream", part->stream == 2 ? "stderr" : "stdout");
	if (utf8_valid(part->data, part->size)) {
		json_textn(&json, "data", part->data, part->size);
	} else {
		json_base64(&json, "data_base64", part->data, part->size);
	}
	json_close(&json, '}');
	buf_adds(out, "\n\n");
}

static void write_end(struct rope *rope, const struct run_result *result,
		      const struct problem *problem)
{
	buf_addf(&rope->text, "id: end\nevent: %s\ndata: ", result->block ? "result" : "error");
	if (result->block) {
		run_result_write(result, rope);
	} else {
		problem_write(problem, &rope->text);
	}
	buf_adds(&rope->text, "\n\n");
}

static void begin(struct request *request, const char *id)
{
	char location[64];

	if (id) {
		snprintf(location, sizeof(location), "/v1/executions/%s", id);
		request_answer_header(request, "Location", location);
	}
	request_answer_header(request, "Cache-Control", "no-store");
	request_answer_header(request, "X-Content-Type-Options", "nosniff");
	request->front->counts.answers[2]++;
	http_stream_begin(request->exchange, 200, EVENTS_TYPE);
}

/* --- the next event --------------------------------------------------------------------------- */

/* The next part of the output from the result: stdout, then stderr. False: there is no more. */
static bool next_replayed(struct events *events, struct rope *out)
{
	char room[OUTPUT_PART_MAX];
	const char *json = run_result_json(&events->result);

	while (events->replayed < 2) {
		size_t *seen = &events->position.seen[events->replayed];
		size_t slice = events->skip < REPLAY_SKIP ? events->skip : REPLAY_SKIP;

		if (!events->opened) {
			outcome_stream_open(&events->result.outcome, json, events->replayed,
					    &events->stream);
			events->opened = true;
			events->skip = *seen;
			continue;
		}
		if (events->skip) {
			size_t passed = outcome_stream_skip(&events->stream, slice);
			events->skip = passed < slice ? 0 : events->skip - passed;
			turns_spend(events->writer.turns, passed);
			return true;
		}
		size_t size = outcome_stream_read(&events->stream, room, sizeof(room));
		if (size) {
			struct output_part part = { .stream = events->replayed + 1,
						    .data = room,
						    .size = size };
			*seen += size;
			write_output(out, &events->position, &part);
			return true;
		}
		events->opened = false;
		events->replayed++;
	}
	return false;
}

static void give_back(struct events *events)
{
	http_budget_give(events->budget, events->held);
	events->held = 0;
}

/* The next event, or a step towards it. False: nothing comes now. */
static bool next_event(struct events *events, struct rope *out)
{
	struct output_part part;

	switch (events->phase) {
	case EVENTS_LIVE:
	case EVENTS_LOG:
		if (output_log_next(events->log, &events->position, &part)) {
			write_output(out, &events->position, &part);
			return true;
		}
		if (events->phase == EVENTS_LIVE) {
			return false;
		}
		break;
	case EVENTS_REPLAY:
		if (next_replayed(events, out)) {
			return true;
		}
		break;
	case EVENTS_END:
		/* From here on the writer owns the bytes and counts them. */
		give_back(events);
		write_end(out, &events->result, &events->problem);
		run_result_done(&events->result);
		break;
	case EVENTS_OVER:
		return false;
	}
	events->phase = events->phase == EVENTS_END ? EVENTS_OVER : EVENTS_END;
	return true;
}

static void pump(struct request *request)
{
	struct events *events = request->state;
	struct execution *execution = request->listener.execution;
	struct rope text = { 0 };

	while (request->exchange && stream_writer_ready(&events->writer) &&
	       next_event(events, &text)) {
		stream_writer_put(&events->writer, request->exchange, &text);
	}
	if (execution && events->owner) {
		execution_pause(execution, events->writer.held);
	}
	if (events->phase == EVENTS_OVER && stream_writer_empty(&events->writer)) {
		request_end_stream(request);
	}
}

static void more(void *user)
{
	pump(user);
}

/* Its turn has come, or the reader has taken the bytes that it was sent. */
static void go_on(void *user)
{
	struct request *request = user;
	struct events *events = request->state;

	stream_writer_resume(&events->writer, request->exchange);
	pump(request);
}

static void drained(void *user)
{
	struct request *request = user;

	stream_writer_drained(&((struct events *)request->state)->writer);
	go_on(user);
}

static void beat(void *user)
{
	struct request *request = user;
	struct events *events = request->state;

	if (request->exchange && !events->writer.held && stream_writer_empty(&events->writer)) {
		http_stream_write(request->exchange, ":\n\n", 3);
	}
	loop_timer_set(request->front->loop, &events->beat, clock_now_ns() + BEAT_NS);
}

/* --- beginning and end ----------------------------------------------------------------------- */

/* Bytes that wait for a slow reader count for its tenant. False: the tenant's budget is used up. */
static bool hold(struct events *events, size_t size)
{
	if (!http_budget_take(events->budget, size)) {
		return false;
	}
	events->held = size;
	return true;
}

/* The rest is sent at the reader's pace; the execution itself has ended. */
static void ended(void *user, struct execution *execution)
{
	struct request *request = user;
	struct events *events = request->state;
	const struct problem *problem;
	const struct run_result *result = execution_result(execution, &problem);
	size_t size = output_log_left(events->log, &events->position);

	/* Output that the log lacks is in the result. */
	bool lacks = output_log_lacks(events->log, &events->position);
	events->phase = !lacks ? EVENTS_LOG : result ? EVENTS_REPLAY : EVENTS_END;
	events->problem = *problem;
	if (result) {
		run_result_copy(result, &events->result);
		size = run_result_size(result) + (lacks ? 0 : size);
	}
	if (!hold(events, size)) {
		/*
		 * The stream stops before its end: a reader that comes back continues from there.
		 */
		request_refuse(request, PROBLEM_BYTES_LIMITED, "");
		return;
	}
	pump(request);
}

static void closed(struct request *request)
{
	struct events *events = request->state;

	loop_timer_clear(&events->beat);
	stream_writer_done(&events->writer);
	give_back(events);
	output_log_unref(events->log);
	run_result_done(&events->result);
	free(events);
	request->state = NULL;
}

static struct events *events_new(struct request *request, const struct output_log_position *from)
{
	struct events *events = calloc(1, sizeof(*events));

	if (!events) {
		request_refuse(request, PROBLEM_MEMORY_LOW, "no memory for the request");
		return NULL;
	}
	events->position = *from;
	events->budget = request->exchange->budget;
	events->beat.due = beat;
	events->beat.user = request;
	stream_writer_init(&events->writer, &request->front->turns, events->budget, go_on, request);
	request->state = events;
	request->closed = closed;
	request->exchange->drained = drained;
	return events;
}

static void begin_stream(struct request *request, struct events *events, const char *id)
{
	begin(request, id);
	loop_timer_set(request->front->loop, &events->beat, clock_now_ns() + BEAT_NS);
	pump(request);
}

void events_attach(struct request *request, struct execution *execution,
		   const struct output_log_position *from, bool owner)
{
	if (!request->listener.execution) {
		execution_listen(execution, &request->listener);
	}
	struct events *events = events_new(request, from);
	if (events) {
		events->phase = EVENTS_LIVE;
		events->owner = owner;
		events->log = output_log_ref(execution_output(execution));
		request->listener.output = more;
		request->listener.ended = ended;
		begin_stream(request, events, execution_id(execution));
	}
}

void events_replay(struct request *request, const struct stored *stored,
		   const struct output_log_position *from)
{
	if (!stored->result.block) {
		stored_answer_result(request, stored);
		return;
	}
	struct events *events = events_new(request, from);
	if (!events) {
		return;
	}
	events->phase = stored->failed ? EVENTS_END : EVENTS_REPLAY;
	events->problem = stored->problem;
	if (!stored->failed) {
		run_result_copy(&stored->result, &events->result);
		if (!hold(events, events->result.block->size)) {
			request_refuse(request, PROBLEM_BYTES_LIMITED,
				       "your unread answers are too large together "
				       "(http.tenant_answer_bytes)");
			return;
		}
	}
	begin_stream(request, events, NULL);
}
