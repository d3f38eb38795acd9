/* SPDX-License-Identifier: Apache-2.0 */
/* GET /metrics: counts of the front, the engine and the ledger, as OpenMetrics text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "front/execution_record.h"
#include "front/visit.h"

#define METRICS_TYPE  "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define METRICS_DEPTH 4

struct metrics {
	struct visit *visit; /* NULL: has left while the ledger was asked */
	struct buf text;
};

static void one(struct buf *out, const char *name, const char *type, const char *help,
		uint64_t value)
{
	buf_addf(out, "# TYPE %s %s\n# HELP %s %s\n%s%s %llu\n", name, type, name, help, name,
		 strcmp(type, "counter") == 0 ? "_total" : "", (unsigned long long)value);
}

static void write_http(struct buf *out, const struct front *front)
{
	struct http_counts counts;

	http_server_counts(front->http, &counts);
	one(out, "brig_http_connections", "gauge", "Open connections.", counts.connections);
	one(out, "brig_http_accepted", "counter", "Connections accepted.", counts.accepted);
	one(out, "brig_http_requests", "counter", "Complete requests.", counts.requests);
	one(out, "brig_http_malformed", "counter", "Refused as malformed.", counts.malformed);
	one(out, "brig_http_timed_out", "counter", "Too slow.", counts.timed_out);
	one(out, "brig_http_in_bytes", "counter", "Bytes received.", counts.bytes_in);
	one(out, "brig_http_out_bytes", "counter", "Bytes sent.", counts.bytes_out);
	buf_addf(out,
		 "# TYPE brig_front_loop_longest_seconds gauge\n"
		 "# UNIT brig_front_loop_longest_seconds seconds\n"
		 "# HELP brig_front_loop_longest_seconds Longest turn of the last minutes.\n"
		 "brig_front_loop_longest_seconds %.6f\n",
		 (double)loop_longest_ns(front->loop) / 1e9);
	buf_adds(out, "# TYPE brig_http_answers counter\n");
	for (unsigned i = 1; i < ARRAY_SIZE(front->counts.answers); i++) {
		buf_addf(out, "brig_http_answers_total{class=\"%uxx\"} %llu\n", i,
			 (unsigned long long)front->counts.answers[i]);
	}
	buf_adds(out, "# TYPE brig_problems counter\n");
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

	one(out, "brig_executions_running", "gauge", "Runs under way.", front->admission.running);
	one(out, "brig_executions_waiting", "gauge", "Runs in the queue.",
	    front->admission.waiting);
	one(out, "brig_executions_replayed", "counter", "Answered by an earlier run's result.",
	    counts->replayed);
	one(out, "brig_executions_unrecorded", "gauge", "Ends that the ledger had no room for yet.",
	    front->unsaved);
	buf_adds(out, "# TYPE brig_executions counter\n");
	for (unsigned i = 0; i <= BRIG_ERROR; i++) {
		total += counts->executions[i];
		buf_addf(out, "brig_executions_total{status=\"%s\"} %llu\n",
			 brig_status_name((enum brig_status)i),
			 (unsigned long long)counts->executions[i]);
	}
	buf_adds(out, "# TYPE brig_events counter\n");
	for (unsigned i = 0; i < BRIG_EVENT_KINDS; i++) {
		buf_addf(out, "brig_events_total{kind=\"%s\"} %llu\n", brig_event_name(i),
			 (unsigned long long)counts->events[i]);
	}
	buf_adds(out, "# TYPE brig_execution_seconds histogram\n# UNIT brig_execution_seconds "
		      "seconds\n");
	for (size_t i = 0; i < ARRAY_SIZE(counts->run_seconds_bucket); i++) {
		buf_addf(out, "brig_execution_seconds_bucket{le=\"%g\"} %llu\n",
			 run_seconds_bounds[i], (unsigned long long)counts->run_seconds_bucket[i]);
	}
	buf_addf(out,
		 "brig_execution_seconds_bucket{le=\"+Inf\"} %llu\n"
		 "brig_execution_seconds_count %llu\nbrig_execution_seconds_sum %.6f\n",
		 (unsigned long long)total, (unsigned long long)total, counts->run_seconds_sum);
}

/* Every number in an object becomes a gauge; the keys are ours, and only plain ones are taken. */
static void write_numbers(struct buf *out, const char *prefix, json_t *object, unsigned depth)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		char name[128];

		if (key[strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_")] != '\0') {
			continue;
		}
		snprintf(name, sizeof(name), "%s_%s", prefix, key);
		if (json_is_number(value)) {
			buf_addf(out, "# TYPE %s gauge\n%s %.17g\n", name, name,
				 json_number_value(value));
		} else if (json_is_object(value) && depth < METRICS_DEPTH) {
			write_numbers(out, name, value, depth + 1);
		}
	}
}

static void write_json(struct buf *out, const char *prefix, const char *data, size_t size)
{
	json_t *object = json_loadb(data, size, 0, NULL);

	write_numbers(out, prefix, object, 0);
	json_decref(object);
}

static void closed(struct visit *visit)
{
	((struct metrics *)visit->state)->visit = NULL;
}

static void ledger_counted(void *user, const struct brig_error *error, const char *data,
			   size_t size)
{
	struct metrics *metrics = user;
	struct visit *visit = metrics->visit;

	if (!error) {
		write_json(&metrics->text, "brig_ledger", data, size);
	}
	buf_adds(&metrics->text, "# EOF\n");
	if (visit) {
		visit->closed = NULL;
		visit_answer(visit, 200, METRICS_TYPE, metrics->text.data, metrics->text.size);
	}
	buf_done(&metrics->text);
	free(metrics);
}

static void engine_counted(void *user, const char *data, size_t size)
{
	struct visit *visit = user;
	struct metrics *metrics = calloc(1, sizeof(*metrics));
	struct brig_error error = { 0 };

	visit->run = NULL;
	if (!metrics) {
		visit_refuse(visit, PROBLEM_MEMORY_LOW, "no memory for the answer");
		return;
	}
	metrics->visit = visit;
	visit->state = metrics;
	visit->closed = closed;
	write_http(&metrics->text, visit->front);
	write_runs(&metrics->text, visit->front);
	write_json(&metrics->text, "brig_engine", data, size);
	if (ledger_stats(visit->front->ledger, ledger_counted, metrics) < 0) {
		ledger_counted(metrics, &error, NULL, 0);
	}
}

void handle_metrics(struct visit *visit)
{
	struct engine_call call = { .op = ENGINE_STATS };

	visit_engine(visit, &call, engine_counted);
}
