/* SPDX-License-Identifier: Apache-2.0 */
/* Server-sent events. */
#include "front/events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_out.h"
#include "front/execution_record.h"
#include "front/fields.h"
#include "front/spout.h"

#define BEAT_NS UINT64_C(15000000000) /* so that proxies do not take silence for death */

struct events {
	struct place place;
	bool owner; /* its reader sets the pace of the program */
	bool over;  /* all has been put into the spout */
	struct spout spout;
	struct loop_timer beat;
};

/* Digits, and what stands behind them. */
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

int events_place(const char *id, struct place *ret)
{
	*ret = (struct place){ 0 };
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

static void write_output(struct buf *out, const struct place *place, const struct output_part *part)
{
	struct json_out json = { .buf = out };

	buf_addf(out, "id: %zu-%zu\nevent: output\ndata: ", place->seen[0], place->seen[1]);
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

static void write_end(struct buf *out, const char *result, size_t size,
		      const struct problem *problem)
{
	buf_addf(out, "id: end\nevent: %s\ndata: ", result ? "result" : "error");
	if (result) {
		buf_add(out, result, size);
	} else {
		problem_write(problem, out);
	}
	buf_adds(out, "\n\n");
}

static void begin(struct visit *visit, const char *id)
{
	char location[64];

	if (id) {
		snprintf(location, sizeof(location), "/v1/executions/%s", id);
		visit_header(visit, "Location", location);
	}
	visit_header(visit, "Cache-Control", "no-store");
	visit_header(visit, "X-Content-Type-Options", "nosniff");
	visit->front->counts.answers[2]++;
	http_stream_begin(visit->exchange, 200, EVENTS_TYPE);
}

static void pump(struct visit *visit)
{
	struct events *events = visit->state;
	struct execution *execution = visit->listener.execution;
	struct output_part part;

	while (execution && visit->exchange && spout_ready(&events->spout) &&
	       execution_output(execution, &events->place, &part)) {
		struct buf text = { 0 };
		write_output(&text, &events->place, &part);
		spout_put(&events->spout, visit->exchange, &text);
	}
	if (execution && events->owner) {
		execution_pause(execution, !spout_ready(&events->spout));
	}
}

static void more(void *user)
{
	pump(user);
}

static void drained(void *user)
{
	struct visit *visit = user;
	struct events *events = visit->state;

	spout_resume(&events->spout, visit->exchange);
	if (events->over && spout_empty(&events->spout)) {
		visit_end_stream(visit);
	} else {
		pump(visit);
	}
}

static void beat(void *user)
{
	struct visit *visit = user;
	struct events *events = visit->state;

	if (visit->exchange && spout_ready(&events->spout)) {
		http_stream_write(visit->exchange, ":\n\n", 3);
	}
	loop_timer_set(visit->front->loop, &events->beat, clock_now_ns() + BEAT_NS);
}

/* The last of it. It goes out at the reader's pace; the execution itself is over. */
static void close_with(struct visit *visit, struct buf *text)
{
	struct events *events = visit->state;

	events->over = true;
	spout_put(&events->spout, visit->exchange, text);
	if (spout_empty(&events->spout) || !visit->exchange) {
		visit_end_stream(visit);
	}
}

static void ended(void *user, struct execution *execution)
{
	struct visit *visit = user;
	struct events *events = visit->state;
	const struct problem *problem;
	struct output_part part;
	struct buf text = { 0 };
	size_t size;
	const char *result = execution_result(execution, &size, &problem);

	while (execution_output(execution, &events->place, &part)) {
		write_output(&text, &events->place, &part);
	}
	write_end(&text, result, size, problem);
	close_with(visit, &text);
}

static void closed(struct visit *visit)
{
	struct events *events = visit->state;

	loop_timer_clear(&events->beat);
	spout_done(&events->spout);
	free(events);
	visit->state = NULL;
}

/* False: it was refused, and the visit is over. */
static bool begin_stream(struct visit *visit, const char *id, const struct place *from, bool owner)
{
	struct events *events = calloc(1, sizeof(*events));

	if (!events) {
		visit_refuse(visit, PROBLEM_MEMORY_LOW, "no memory for the request");
		return false;
	}
	events->place = *from;
	events->owner = owner;
	events->beat.due = beat;
	events->beat.user = visit;
	visit->state = events;
	visit->closed = closed;
	visit->listener.output = more;
	visit->listener.ended = ended;
	visit->exchange->drained = drained;
	begin(visit, id);
	loop_timer_set(visit->front->loop, &events->beat, clock_now_ns() + BEAT_NS);
	return true;
}

void events_attach(struct visit *visit, struct execution *execution, const struct place *from,
		   bool owner)
{
	if (!visit->listener.execution) {
		execution_listen(execution, &visit->listener);
	}
	if (begin_stream(visit, execution_id(execution), from, owner)) {
		pump(visit);
	}
}

/* One of the result's streams, from where the reader was. */
static void replay_stream(struct buf *text, json_t *result, int stream, struct place *place)
{
	json_t *value = json_object_get(result, stream == 2 ? "stderr" : "stdout");
	const char *encoding = json_string_value(json_object_get(result, "encoding"));
	struct output_part part = { .stream = stream };
	struct problem problem;
	void *decoded = NULL;
	size_t size = json_string_length(value);

	if (encoding && strcmp(encoding, "base64") == 0) {
		if (field_base64(value, "", &decoded, &size, &problem) < 0) {
			return;
		}
	}
	const char *data = decoded ? decoded : json_string_value(value);
	size_t *seen = &place->seen[stream == 2];
	if (data && *seen < size) {
		part.data = data + *seen;
		part.size = size - *seen;
		*seen = size;
		write_output(text, place, &part);
	}
	free(decoded);
}

void events_replay(struct visit *visit, const struct stored *stored, const struct place *from)
{
	struct place place = *from;
	struct buf text = { 0 };

	if (!stored->result) {
		stored_answer_result(visit, stored);
		return;
	}
	if (!stored->failed) {
		json_t *result = record_parse(stored->result, stored->result_size);
		replay_stream(&text, result, 1, &place);
		replay_stream(&text, result, 2, &place);
		json_decref(result);
	}
	write_end(&text, stored->failed ? NULL : stored->result, stored->result_size,
		  &stored->problem);
	if (begin_stream(visit, NULL, from, false)) {
		close_with(visit, &text);
	} else {
		buf_done(&text);
	}
}
