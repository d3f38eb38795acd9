/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures that the engine and the ledger report, by a table: figures that are not in it are left
 * out.
 */
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "front/metrics/metrics.h"

struct figure {
	const char *group, *key; /* group NULL: at the top level */
	const char *name, *type, *help;
};

#define ENGINE     "brig_engine_"
#define LEDGER     "brig_ledger_"
#define LABELS_MAX 32

static const struct figure engine_figures[] = {
	{ NULL, "processors", ENGINE "processors", "gauge", "Processors of the host." },
	{ "runs", "running", ENGINE "runs_running", "gauge", "Runs in cells now." },
	{ "runs", "started", ENGINE "runs_started", "counter", "Runs begun." },
	{ "runs", "ended", ENGINE "runs_ended", "counter", "Runs ended." },
	{ "runs", "failed", ENGINE "runs_failed", "counter", "Runs that were not ok." },
	{ "runs", "cancelled", ENGINE "runs_cancelled", "counter", "Runs that were cancelled." },
	{ "sessions", "open", ENGINE "sessions_open", "gauge", "Open sessions." },
	{ "sessions", "busy", ENGINE "sessions_busy", "gauge", "Sessions with a run in progress." },
	{ "sessions", "max", ENGINE "sessions_max", "gauge", "Sessions that may be open." },
	{ "sessions", "opened", ENGINE "sessions_opened", "counter", "Sessions opened." },
	{ "sessions", "gone", ENGINE "sessions_gone", "counter", "Sessions that are gone." },
	{ "gate", "connections", ENGINE "gate_connections", "counter", "Connections allowed." },
	{ "gate", "refused", ENGINE "gate_refused", "counter", "Connections refused." },
	{ "gate", "untold", ENGINE "gate_untold", "counter",
	  "Connections that results had no room for." },
	{ "gate", "up_bytes", ENGINE "gate_up_bytes", "counter", "Bytes sent by cells." },
	{ "gate", "down_bytes", ENGINE "gate_down_bytes", "counter", "Bytes sent to cells." },
	{ "memory", "total_bytes", ENGINE "memory_total_bytes", "gauge", "Memory of the host." },
	{ "memory", "available_bytes", ENGINE "memory_available_bytes", "gauge",
	  "Free memory of the host." },
};

static const struct figure ledger_figures[] = {
	{ NULL, "entries", LEDGER "entries", "gauge", "Entries of the audit chain." },
	{ NULL, "checkpoint", LEDGER "checkpoint", "gauge", "Entry of the last checkpoint." },
	{ NULL, "bytes", LEDGER "bytes", "gauge", "Size of the database." },
	{ NULL, "executions", LEDGER "executions", "gauge", "Executions that are recorded." },
	{ NULL, "pending", LEDGER "pending", "gauge",
	  "Executions queued before a restart that wait to be queued again." },
	{ NULL, "result_bytes", LEDGER "result_bytes", "gauge", "Size of the results kept." },
};

static void write_figures(struct buf *out, const struct figure *figures, size_t count,
			  const char *data, size_t size)
{
	json_t *root = json_loadb(data, size, 0, NULL);

	for (size_t i = 0; i < count; i++) {
		const struct figure *figure = &figures[i];
		const json_t *in = figure->group ? json_object_get(root, figure->group) : root;
		const json_t *value = json_object_get(in, figure->key);
		bool counter = strcmp(figure->type, "counter") == 0;

		if (json_is_number(value)) {
			metrics_family(out, figure->name, figure->type, figure->help);
			buf_addf(out, "%s%s %.17g\n", figure->name, counter ? "_total" : "",
				 json_number_value(value));
		}
	}
	json_decref(root);
}

/* The engine has one number for each of its providers: their names are the only labels. */
static void write_providers(struct buf *out, const char *data, size_t size)
{
	json_t *root = json_loadb(data, size, 0, NULL);
	json_t *value;
	const char *name;
	unsigned count = 0;

	metrics_family(out, ENGINE "provider_runs", "counter", "Runs ended, by provider.");
	json_object_foreach(json_object_get(root, "providers"), name, value)
	{
		if (id_name_valid(name) && json_is_integer(value) && count++ < LABELS_MAX) {
			buf_addf(out, ENGINE "provider_runs_total{provider=\"%s\"} %lld\n", name,
				 (long long)json_integer_value(value));
		}
	}
	json_decref(root);
}

void metrics_engine(struct buf *out, const char *data, size_t size)
{
	write_providers(out, data, size);
	write_figures(out, engine_figures, ARRAY_SIZE(engine_figures), data, size);
}

void metrics_ledger(struct buf *out, const char *data, size_t size)
{
	write_figures(out, ledger_figures, ARRAY_SIZE(ledger_figures), data, size);
}
