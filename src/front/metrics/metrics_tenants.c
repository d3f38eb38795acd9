/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usage of tenants, for /metrics. An operator sees the tenants with the most processor time by name
 * and the rest as one, so that the number of series is bounded; a tenant sees only itself.
 */
#include "front/metrics/metrics.h"

#include <string.h>

#include "base/cleanup.h"

#define TOP_MAX 50
#define OTHER   "other" /* the name for all the rest */

struct counts {
	const char *tenant;
	uint64_t running, waiting, ended, wall_ns, cpu_ns;
};

static struct counts counts_of(const struct tenant_queue *queue)
{
	return (struct counts){ .tenant = queue->tenant,
				.running = queue->running,
				.waiting = queue->waiting,
				.ended = queue->ended,
				.wall_ns = queue->wall_ns,
				.cpu_ns = queue->cpu_ns };
}

static void add_counts(struct counts *sum, const struct counts *more)
{
	sum->running += more->running;
	sum->waiting += more->waiting;
	sum->ended += more->ended;
	sum->wall_ns += more->wall_ns;
	sum->cpu_ns += more->cpu_ns;
}

/* The highest first. A tenant that does not fit is counted in the rest. */
static size_t find_top(const struct front *front, struct counts top[TOP_MAX], struct counts *rest)
{
	size_t count = 0;

	for (const struct tenant_queue *queue = front->admission.queues; queue;
	     queue = queue->next) {
		struct counts now = counts_of(queue);

		if (strcmp(queue->tenant, OTHER) == 0) {
			add_counts(rest, &now);
			continue;
		}
		for (size_t i = 0; i < count; i++) {
			if (now.cpu_ns > top[i].cpu_ns) {
				struct counts lower = top[i];
				top[i] = now;
				now = lower;
			}
		}
		if (count < TOP_MAX) {
			top[count++] = now;
		} else {
			add_counts(rest, &now);
		}
	}
	return count;
}

static const struct {
	const char *name, *type, *help;
	size_t offset;
	bool seconds; /* the value is in nanoseconds */
} families[] = {
	{ "brig_tenant_executions_running", "gauge", "Runs of the tenant in progress.",
	  offsetof(struct counts, running), false },
	{ "brig_tenant_executions_waiting", "gauge", "Runs of the tenant in the queue.",
	  offsetof(struct counts, waiting), false },
	{ "brig_tenant_executions", "counter", "Runs of the tenant that have ended.",
	  offsetof(struct counts, ended), false },
	{ "brig_tenant_execution_seconds", "counter", "Wall-clock time of these runs.",
	  offsetof(struct counts, wall_ns), true },
	{ "brig_tenant_cpu_seconds", "counter",
	  "Processor time of the tenant: runs, compilers, forks, sessions between runs.",
	  offsetof(struct counts, cpu_ns), true },
};

static void write_sample(struct buf *out, size_t family, const struct counts *counts)
{
	uint64_t value =
		*(const uint64_t *)(const void *)((const char *)counts + families[family].offset);
	bool counter = strcmp(families[family].type, "counter") == 0;

	buf_addf(out, "%s%s{tenant=\"%s\"} ", families[family].name, counter ? "_total" : "",
		 counts->tenant);
	if (families[family].seconds) {
		buf_addf(out, "%.6f\n", (double)value / 1e9);
	} else {
		buf_addf(out, "%llu\n", (unsigned long long)value);
	}
}

void metrics_tenants(struct buf *out, const struct front *front)
{
	struct counts top[TOP_MAX];
	struct counts rest = { .tenant = OTHER };
	size_t count = find_top(front, top, &rest);

	for (size_t f = 0; f < ARRAY_SIZE(families); f++) {
		metrics_family(out, families[f].name, families[f].type, families[f].help);
		for (size_t i = 0; i < count; i++) {
			write_sample(out, f, &top[i]);
		}
		write_sample(out, f, &rest);
	}
}

void metrics_tenant(struct buf *out, const struct front *front, const char *tenant)
{
	struct counts own = { .tenant = tenant };

	for (const struct tenant_queue *queue = front->admission.queues; queue;
	     queue = queue->next) {
		if (strcmp(queue->tenant, tenant) == 0) {
			own = counts_of(queue);
		}
	}
	metrics_one(out, "brig_executions_running", "gauge", "Your runs in progress.", own.running);
	metrics_one(out, "brig_executions_waiting", "gauge", "Your runs in the queue.",
		    own.waiting);
	metrics_family(out, "brig_execution_seconds", "summary", "Your runs that have ended.");
	buf_addf(out, "brig_execution_seconds_count %llu\nbrig_execution_seconds_sum %.6f\n",
		 (unsigned long long)own.ended, (double)own.wall_ns / 1e9);
	metrics_family(out, "brig_cpu_seconds", "counter", "Processor time that you have used.");
	buf_addf(out, "brig_cpu_seconds_total %.6f\n", (double)own.cpu_ns / 1e9);
}
