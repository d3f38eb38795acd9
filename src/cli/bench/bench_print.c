/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of `brig bench`, as a table and as JSON. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "cli/bench/cli_bench.h"

struct row_info {
	const char *start;
	bool loaded; /* with the requested number in flight; else one */
	bool ready;
};

static const struct row_info row_table[BENCH_ROWS] = {
	[BENCH_COLD] = { "cold", false, false },      [BENCH_COLD_LOAD] = { "cold", true, false },
	[BENCH_WARM_READY] = { "warm", false, true }, [BENCH_WARM] = { "warm", false, false },
	[BENCH_WARM_LOAD] = { "warm", true, false },
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double middle(const double rounds[BENCH_ROUNDS])
{
	double sorted[BENCH_ROUNDS];

	for (size_t i = 0; i < BENCH_ROUNDS; i++) {
		sorted[i] = rounds[i];
	}
	qsort(sorted, BENCH_ROUNDS, sizeof(sorted[0]), compare);
	return sorted[BENCH_ROUNDS / 2];
}

static double ms_at(const struct bench_figures *figures, unsigned percent)
{
	return (double)bench_samples_at(&figures->samples, percent) / 1e6;
}

static double ratio(const struct bench *bench)
{
	uint64_t warm = bench_samples_at(&bench->rows[BENCH_WARM_READY].samples, 50);

	return warm ? (double)bench_samples_at(&bench->rows[BENCH_COLD].samples, 50) / (double)warm
		    : 0;
}

static void sort_all(struct bench *bench)
{
	for (size_t i = 0; i < BENCH_ROWS; i++) {
		bench_samples_sort(&bench->rows[i].samples);
	}
}

static void print_row(const struct bench *bench, size_t i, struct buf *out)
{
	const struct bench_figures *figures = &bench->rows[i];
	const struct row_info *info = &row_table[i];
	char name[40], rate[24] = "-";

	snprintf(name, sizeof(name), "%s, %u in flight%s", info->start,
		 info->loaded ? bench->in_flight : 1, info->ready ? ", pool full" : "");
	if (!info->ready) {
		snprintf(rate, sizeof(rate), "%.0f", middle(figures->per_second));
	}
	buf_addf(out, "%-28s %9.3f %9.3f %9.3f %8s %6zu\n", name, ms_at(figures, 50),
		 ms_at(figures, 90), ms_at(figures, 99), rate, figures->samples.count);
	if (figures->samples.warm != figures->samples.count && info->start[0] == 'w') {
		buf_addf(out, "%-28s %zu of them were started cold\n", "",
			 figures->samples.count - figures->samples.warm);
	}
}

static void print_memory(const struct bench *bench, struct buf *out)
{
	const struct bench_memory_sum *cells = &bench->memory.cells;
	double kib = 1024.0 * bench->cells;

	if (cells->unread || cells->processes == 0) {
		buf_adds(out, "\nmemory of a ready cell: not readable on this host\n");
		return;
	}
	buf_addf(out,
		 "\nmemory of a ready cell: %.0f KiB private, %.0f KiB proportional (%u "
		 "processes in %u cells)\n",
		 (double)cells->private_bytes / kib, (double)cells->proportional_bytes / kib,
		 cells->processes, bench->cells);
}

void bench_print_text(struct bench *bench, struct buf *out)
{
	sort_all(bench);
	buf_addf(out, "%s, policy %s\n\n%-28s %9s %9s %9s %8s %6s\n", bench->runtime, bench->policy,
		 "", "p50 ms", "p90 ms", "p99 ms", "runs/s", "runs");
	for (size_t i = 0; i < BENCH_ROWS; i++) {
		if (bench->rows[i].wanted) {
			print_row(bench, i, out);
		}
	}
	if (!bench->warm) {
		buf_addf(out, "\nno warm figures: %s\n", bench->reason);
		return;
	}
	print_memory(bench, out);
	buf_addf(out, "a warm start is %.1f times as fast as a cold one\n", ratio(bench));
}

static void add_number(struct json_out *json, const char *key, double value)
{
	char text[40];

	snprintf(text, sizeof(text), "%.2f", value);
	json_raw(json, key, text);
}

static void add_row(const struct bench *bench, size_t i, struct json_out *json)
{
	const struct bench_figures *figures = &bench->rows[i];
	const struct row_info *info = &row_table[i];

	json_open(json, NULL, '{');
	json_text(json, "start", info->start);
	json_u64(json, "in_flight", info->loaded ? bench->in_flight : 1);
	json_bool(json, "pool_full", info->ready);
	json_ms(json, "p50_ms", bench_samples_at(&figures->samples, 50));
	json_ms(json, "p90_ms", bench_samples_at(&figures->samples, 90));
	json_ms(json, "p99_ms", bench_samples_at(&figures->samples, 99));
	if (info->ready) {
		json_nil(json, "runs_per_second");
	} else {
		add_number(json, "runs_per_second", middle(figures->per_second));
	}
	json_u64(json, "runs", figures->samples.count);
	json_u64(json, "warm", figures->samples.warm);
	json_close(json, '}');
}

static void add_memory(const struct bench *bench, struct json_out *json)
{
	const struct bench_memory_sum *cells = &bench->memory.cells;

	if (!bench->warm || cells->unread || cells->processes == 0) {
		json_nil(json, "memory");
		return;
	}
	json_open(json, "memory", '{');
	json_u64(json, "cells", bench->cells);
	json_u64(json, "processes", cells->processes);
	json_u64(json, "private_bytes", cells->private_bytes / bench->cells);
	json_u64(json, "proportional_bytes", cells->proportional_bytes / bench->cells);
	json_u64(json, "template_private_bytes", bench->memory.templates.private_bytes);
	json_u64(json, "template_proportional_bytes", bench->memory.templates.proportional_bytes);
	json_close(json, '}');
}

void bench_print_json(struct bench *bench, struct buf *out)
{
	struct json_out json = { .buf = out };

	sort_all(bench);
	json_open(&json, NULL, '{');
	json_text(&json, "runtime", bench->runtime);
	json_text(&json, "policy", bench->policy);
	json_open(&json, "rows", '[');
	for (size_t i = 0; i < BENCH_ROWS; i++) {
		if (bench->rows[i].wanted) {
			add_row(bench, i, &json);
		}
	}
	json_close(&json, ']');
	add_memory(bench, &json);
	if (bench->warm) {
		add_number(&json, "cold_to_warm", ratio(bench));
		json_nil(&json, "not_warm");
	} else {
		json_nil(&json, "cold_to_warm");
		json_text(&json, "not_warm", bench->reason);
	}
	json_close(&json, '}');
}
