/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider: see provider.h. The cell is a native one, with all its layers; the engine in it is
 * one wall more. System calls are filtered by a list of its own (data/syscalls/wasm.rules): the
 * program makes none, so the rules of the policy have nothing to allow.
 */
#include <errno.h>
#include <stdio.h>

#include "kernel/probe/probe.h"
#include "native/native.h"
#include "run/run_internal.h"
#include "wasm/wasm.h"

/* More than the engine starts: it reads and writes files in threads of its own. */
#define ENGINE_THREADS 15

static void probe_with(const struct probe_report *host, uint64_t deadline_ns, const char *setting,
		       struct probe_finding *ret)
{
	struct brig_error why = { 0 };
	char path[PATH_MAX];

	native_probe(host, deadline_ns, ret);
	if (ret->state == PROBE_MISSING) {
		return;
	}
	int r = wasm_engine_find(setting, path, &why);
	r = r < 0 ? r : wasm_engine_check(path, &why);
	if (r == 0 && wasm_host_image_size == 0) {
		r = error_set(&why, BRIG_E_SYSTEM, ENOTSUP,
			      "this build of brig has no helper for "
			      "WebAssembly");
	}
	if (r < 0) {
		*ret = (struct probe_finding){ .state = PROBE_MISSING };
		snprintf(ret->detail, sizeof(ret->detail), "%.390s", why.message);
		snprintf(ret->repair, sizeof(ret->repair), "%s", why.remedy);
	}
}

static void probe(const struct probe_report *host, uint64_t deadline_ns, struct probe_finding *ret)
{
	probe_with(host, deadline_ns, NULL, ret);
}

static void probe_for(const struct probe_report *host, uint64_t deadline_ns,
		      const struct spec *spec, struct probe_finding *ret)
{
	probe_with(host, deadline_ns, spec->wasm_engine, ret);
}

/* --- the end of a program --------------------------------------------------------------------- */

static void report_run(struct run *run)
{
	native_report(run);
	wasm_take_report(run->value, &run->facts);
}

static bool setting(const struct spec *spec, char ret[PROVIDER_SETTING_MAX])
{
	return provider_set(spec->wasm_engine, ret);
}

const struct provider wasm_provider = {
	NATIVE_PROVIDER,
	.name = "wasm",
	.about = "WebAssembly (WASI) by an engine that works in a native cell",
	.abilities = ABILITY_BIT(ABILITY_WALLS) | ABILITY_BIT(ABILITY_OWN_ROOT) |
		     ABILITY_BIT(ABILITY_MOUNTS) | ABILITY_BIT(ABILITY_CALL_RULES) |
		     ABILITY_BIT(ABILITY_PLAN) | ABILITY_BIT(ABILITY_HOLD) |
		     ABILITY_BIT(ABILITY_INSTRUCTIONS),
	.own_processes = 1 + ENGINE_THREADS, /* brig-init */
	.inner_processes = ENGINE_THREADS,
	.runtimes = "wasm",
	.probe = probe,
	.setting = setting,
	.probe_for = probe_for,
	.report = report_run,
};
