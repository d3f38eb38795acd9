/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Information from the local engine: runtimes, policies, the effective settings of a run,
 * statistics.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json/json_out.h"
#include "engine/local/engine_local.h"
#include "lib/prepare/inventory.h"
#include "lib/prepare/prepare.h"
#include "lib/warm/warm.h"

int local_runtimes(struct local *local, const struct engine_call *call, struct engine_run *run,
		   struct brig_error *err)
{
	struct runtime **all = NULL;
	size_t count = 0;
	int r = listing_load_runtimes(local->context, &all, &count, err);

	(void)call;
	if (r == 0) {
		listing_print_runtimes(all, count, &run->answer);
	}
	listing_free_runtimes(all, count);
	return r < 0 ? r : local_finish_soon(run);
}

int local_policies(struct local *local, const struct engine_call *call, struct engine_run *run,
		   struct brig_error *err)
{
	int r = listing_print_policies(&local->context->policies, &run->answer, err);

	(void)call;
	return r < 0 ? r : local_finish_soon(run);
}

/* --- would it be allowed? ------------------------------------------------------------------- */

static void print_limits(struct json_out *json, struct brig_limits limits)
{
	json_open(json, "limits", '{');
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		const struct limit_info *info = &limit_table[i];
		uint64_t value = *limit_of(&limits, info);
		if (info->unit == UNIT_TIME) {
			json_ms(json, info->name, value);
		} else {
			json_u64(json, info->name, value);
		}
	}
	json_close(json, '}');
}

static void print_allowed(struct json_out *json, const struct prepared *p)
{
	json_bool(json, "allowed", true);
	json_text(json, "language", p->runtime ? p->runtime->name : NULL);
	json_text(json, "version",
		  p->runtime && p->runtime->version[0] ? p->runtime->version : NULL);
	json_text(json, "policy", p->policy->name);
	json_text(json, "policy_sha256", p->policy->hash);
	json_text(json, "provider", p->spec.provider->name);
	print_limits(json, p->spec.limits);
	json_open(json, "layers", '[');
	for (int i = 0; i < LAYER_COUNT; i++) {
		if (p->spec.layers & LAYER_BIT(i)) {
			json_text(json, NULL, layer_table[i].name);
		}
	}
	json_close(json, ']');
	json_nil(json, "error");
}

static void print_refused(struct json_out *json, const struct brig_error *error)
{
	json_bool(json, "allowed", false);
	json_open(json, "error", '{');
	json_text(json, "code", brig_code_name(error->code));
	json_text(json, "message", error->message);
	json_text(json, "remedy", error->remedy[0] ? error->remedy : NULL);
	json_close(json, '}');
}

int local_policy_check(struct local *local, const struct engine_call *call, struct engine_run *run,
		       struct brig_error *err)
{
	struct brig_request request = call->run;
	struct json_out json = { .buf = &run->answer };
	struct prepared prepared;
	struct brig_error why = { 0 };

	(void)err;
	request.size = sizeof(request);
	request.file = NULL;
	request.command = NULL;
	request.mounts_listed = true;
	request.network_own = false;
	request.tenant = call->tenant;
	/* Without code, only the language and the limits are checked. */
	if (!request.code) {
		request.code = "0";
		request.code_size = 1;
	}
	int r = prepare(local->context, &request, PURPOSE_RUN, &prepared, &why);
	json_open(&json, NULL, '{');
	if (r < 0) {
		print_refused(&json, &why);
	} else {
		print_allowed(&json, &prepared);
		prepared_done(&prepared);
	}
	json_close(&json, '}');
	return local_finish_soon(run);
}

void engine_warm_complete(struct brig_warm_options *options)
{
	warm_options_complete(options);
}

/* --- statistics ------------------------------------------------------------------------------ */

static void print_pools(struct json_out *json, const struct warm *warm)
{
	json_open(json, "pools", '[');
	for (unsigned i = 0; warm && i < warm->count; i++) {
		const struct warm_pool *pool = warm->pools[i];
		json_open(json, NULL, '{');
		json_text(json, "language", pool->base.runtime->name);
		json_text(json, "policy", pool->base.policy->name);
		json_u64(json, "ready", warm_pool_ready(pool));
		json_u64(json, "making", pool->count - warm_pool_ready(pool));
		json_u64(json, "target", pool->target);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static uint64_t available_bytes(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/meminfo", "re");
	char line[128];
	static const char name[] = "MemAvailable:";

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, sizeof(name) - 1) == 0) {
			return (uint64_t)strtoull(line + sizeof(name) - 1, NULL, 10) * 1024u;
		}
	}
	return 0;
}

static void print_sessions(struct json_out *json, const struct local *local)
{
	json_open(json, "sessions", '{');
	json_u64(json, "open", local->sessions_count);
	json_u64(json, "busy", local_sessions_busy(local));
	json_u64(json, "max", local->options.sessions_max);
	json_u64(json, "opened", local->counts.opened);
	json_u64(json, "gone", local->counts.gone);
	json_close(json, '}');
}

static void print_gate(struct json_out *json, const struct local *local)
{
	json_open(json, "gate", '{');
	json_u64(json, "connections", local->counts.connections);
	json_u64(json, "refused", local->counts.refused);
	json_u64(json, "untold", local->counts.untold);
	json_u64(json, "up_bytes", local->counts.up_bytes);
	json_u64(json, "down_bytes", local->counts.down_bytes);
	json_close(json, '}');
}

static void print_providers(struct json_out *json, const struct local *local)
{
	json_open(json, "providers", '{');
	for (size_t i = 0; providers[i]; i++) {
		json_u64(json, providers[i]->name, local->counts.providers[i]);
	}
	json_close(json, '}');
}

int local_stats(struct local *local, const struct engine_call *call, struct engine_run *run,
		struct brig_error *err)
{
	struct json_out json = { .buf = &run->answer };
	struct sysinfo host = { 0 };

	(void)call;
	(void)err;
	sysinfo(&host);
	json_open(&json, NULL, '{');
	json_u64(&json, "processors", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	json_ms(&json, "loop_longest_ms", loop_longest_ns(local->loop));
	json_open(&json, "runs", '{');
	json_u64(&json, "running", local->counts.running);
	json_u64(&json, "started", local->counts.started);
	json_u64(&json, "ended", local->counts.ended);
	json_u64(&json, "failed", local->counts.failed);
	json_u64(&json, "cancelled", local->counts.cancelled);
	json_close(&json, '}');
	print_sessions(&json, local);
	print_gate(&json, local);
	print_providers(&json, local);
	print_pools(&json, local->context->warm);
	json_open(&json, "memory", '{');
	json_u64(&json, "total_bytes", (uint64_t)host.totalram * host.mem_unit);
	json_u64(&json, "available_bytes", available_bytes());
	json_close(&json, '}');
	json_close(&json, '}');
	return local_finish_soon(run);
}
