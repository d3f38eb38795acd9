/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /metrics, as OpenMetrics text. Operators get the counts of the front, the tenants, the engine
 * and the ledger; a tenant gets its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "front/execution/execution_record.h"
#include "front/metrics/metrics.h"
#include "front/request/request.h"

#define METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

struct metrics {
	struct request *request; /* NULL: the client has left before the ledger's answer */
	struct buf text;
};

void metrics_family(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_addf(out, "# TYPE %s %s\n# HELP %s %s\n", name, type, name, help);
}

void metrics_one(struct buf *out, const char *name, const char *type, const char *help,
		 uint64_t value)
{
	metrics_family(out, name, type, help);
	buf_addf(out, "%s%s %llu\n", name, strcmp(type, "counter") == 0 ? "_total" : "",
		 (unsigned long long)value);
}

static void write_http(struct buf *out, const struct front *front)
{
	struct http_counts counts;

	http_server_counts(front->http, &counts);
	metrics_one(out, "brig_http_connections", "gauge", "Open connections.", counts.connections);
	metrics_one(out, "brig_http_accepted", "counter", "Connections accepted.", counts.accepted);
	metrics_one(out, "brig_http_requests", "counter", "Complete requests.", counts.requests);
	metrics_one(out, "brig_http_malformed", "counter", "Refused as malformed.",
		    counts.malformed);
	metrics_one(out, "brig_http_timed_out", "counter", "Too slow.", counts.timed_out);
	metrics_one(out, "brig_http_in_bytes", "counter", "Bytes received.", counts.bytes_in);
	metrics_one(out, "brig_http_out_bytes", "counter", "Bytes sent.", counts.bytes_out);
	buf_addf(out,
		 "# TYPE brig_front_loop_longest_seconds gauge\n"
		 "# UNIT brig_front_loop_longest_seconds seconds\n"
		 "# HELP brig_front_loop_longest_seconds Longest turn of the last minutes.\n"
		 "brig_front_loop_longest_seconds %.6f\n",
		 (double)loop_longest_ns(front->loop) / 1e9);
	metrics_family(out, "brig_http_answers", "counter",
		       "Answers by the class of their status.");
	for (unsigned i = 1; i < ARRAY_SIZE(front->counts.answers); i++) {
		buf_addf(out, "brig_http_answers_total{class=\"%uxx\"} %llu\n", i,
			 (unsigned long long)front->counts.answers[i]);
	}
	metrics_family(out, "brig_problems", "counter", "Refusals and failures by their code.");
	for (unsigned i = 1; i < PROBLEM_KINDS; i++) {
		buf_addf(out, "brig_problems_total{code=\"%s\"} %llu\n",
			 problem_info((enum problem_kind)i)->code,
			 (unsigned long long)front->counts.problems[i]);
	}
}

static void write_runs(struct buf *out, const struct front *front)
{
	const struct front_counts *counts = &front->counts;
	uint64_t total = 0;

	metrics_one(out, "brig_executions_running", "gauge", "Runs in progress.",
		    front->admission.running);
	metrics_one(out, "brig_executions_waiting", "gauge", "Runs in the queue.",
		    front->admission.waiting);
	metrics_one(out, "brig_queue_held", "gauge", "1: the queue waits for an operator.",
		    front->queue_held);
	metrics_one(out, "brig_executions_replayed", "counter",
		    "Answered by an earlier run's result.", counts->replayed);
	metrics_one(out, "brig_executions_unrecorded", "gauge",
		    "Ends that the ledger had no room for yet.", front->unsaved);
	metrics_family(out, "brig_executions", "counter", "Runs that have ended, by their status.");
	for (unsigned i = 0; i <= BRIG_ERROR; i++) {
		total += counts->executions[i];
		buf_addf(out, "brig_executions_total{status=\"%s\"} %llu\n",
			 brig_status_name((enum brig_status)i),
			 (unsigned long long)counts->executions[i]);
	}
	metrics_family(out, "brig_events", "counter", "Events of runs, by kind.");
	for (unsigned i = 0; i < BRIG_EVENT_KINDS; i++) {
		buf_addf(out, "brig_events_total{kind=\"%s\"} %llu\n", brig_event_name(i),
			 (unsigned long long)counts->events[i]);
	}
	metrics_family(out, "brig_execution_seconds", "histogram", "How long runs took.");
	buf_adds(out, "# UNIT brig_execution_seconds seconds\n");
	for (size_t i = 0; i < ARRAY_SIZE(counts->run_seconds_bucket); i++) {
		buf_addf(out, "brig_execution_seconds_bucket{le=\"%g\"} %llu\n",
			 run_seconds_bounds[i], (unsigned long long)counts->run_seconds_bucket[i]);
	}
	buf_addf(out,
		 "brig_execution_seconds_bucket{le=\"+Inf\"} %llu\n"
		 "brig_execution_seconds_count %llu\nbrig_execution_seconds_sum %.6f\n",
		 (unsigned long long)total, (unsigned long long)total, counts->run_seconds_sum);
}

static void closed(struct request *request)
{
	((struct metrics *)request->state)->request = NULL;
}

static void ledger_counted(void *user, const struct brig_error *error, const char *data,
			   size_t size)
{
	struct metrics *metrics = user;
	struct request *request = metrics->request;

	if (!error) {
		metrics_ledger(&metrics->text, data, size);
	}
	buf_adds(&metrics->text, "# EOF\n");
	if (request) {
		request->closed = NULL;
		request_answer(request, 200, METRICS_TYPE, metrics->text.data, metrics->text.size);
	}
	buf_done(&metrics->text);
	free(metrics);
}

static void engine_counted(void *user, const char *data, size_t size)
{
	struct request *request = user;
	struct metrics *metrics = calloc(1, sizeof(*metrics));
	struct brig_error error = { 0 };

	request->run = NULL;
	if (!metrics) {
		request_refuse(request, PROBLEM_MEMORY_LOW, "no memory for the answer");
		return;
	}
	metrics->request = request;
	request->state = metrics;
	request->closed = closed;
	write_http(&metrics->text, request->front);
	write_runs(&metrics->text, request->front);
	metrics_tenants(&metrics->text, request->front);
	metrics_engine(&metrics->text, data, size);
	if (ledger_stats(request->front->ledger, ledger_counted, metrics) < 0) {
		ledger_counted(metrics, &error, NULL, 0);
	}
}

/* A tenant gets only its own counts: totals would reveal the activity of the others. */
static void answer_tenant(struct request *request)
{
	struct buf text = { 0 };

	metrics_tenant(&text, request->front, request->caller.tenant);
	buf_adds(&text, "# EOF\n");
	if (text.failed) {
		request_refuse(request, PROBLEM_MEMORY_LOW, "no memory for the answer");
	} else {
		request_answer(request, 200, METRICS_TYPE, text.data, text.size);
	}
	buf_done(&text);
}

void handle_metrics(struct request *request)
{
	struct engine_call call = { .op = ENGINE_STATS };

	if (!request->caller.is_operator) {
		answer_tenant(request);
		return;
	}
	request_call_engine(request, &call, engine_counted);
}
