/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of a run: the policy's, the request's within them, and the runtime's minimum. The
 * compiler's cell has limits of its own, by policy and runtime; a request tightens them as well.
 */
#include <errno.h>
#include <unistd.h>

#include "lib/prepare/prepare.h"

/* A runtime's own limits can only be lower than the policy's. */
static void tighten(struct brig_limits *limits, const struct brig_limits *by)
{
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		uint64_t value = *limit_of((struct brig_limits *)(uintptr_t)by, &limit_table[i]);
		if (value && value < *limit_of(limits, &limit_table[i])) {
			*limit_of(limits, &limit_table[i]) = value;
		}
	}
}

/*
 * The limits of a request are meant for its program, and a compiler may need more: its limits are
 * tightened down to the runtime's minimum for the compiler, and no further. Limits on output and
 * network do not apply to the compiler.
 */
static void tighten_by_request(struct brig_limits *limits, const struct brig_limits *asked,
			       const struct brig_limits *least)
{
	struct brig_limits wanted = *asked, floors = *least;

	wanted.stdout_bytes = wanted.stderr_bytes = wanted.net_bytes = 0;
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		uint64_t *value = limit_of(&wanted, &limit_table[i]);
		uint64_t floor = *limit_of(&floors, &limit_table[i]);

		*value = *value && *value < floor ? floor : *value;
	}
	tighten(limits, &wanted);
}

/* The token's maximum is applied last: it also binds the compiler, whatever that needs. */
static void prepare_compile_limits(const struct brig_request *request, struct prepared *p)
{
	struct brig_limits *limits = &p->spec.limits;

	*limits = p->policy->compile_limits;
	tighten(limits, &p->runtime->compile_limits);
	tighten_by_request(limits, &request->limits, &p->runtime->compile_least);
	tighten(limits, &request->limits_most);
}

static int cannot_count(const struct provider *provider, struct brig_error *err)
{
	int r = error_set(err, BRIG_E_POLICY, ENOTSUP, "provider %s cannot count instructions",
			  provider->name);

	error_remedy(err, "leave --instructions (limits.instructions) out, or use a policy with "
			  "provider \"wasm\"");
	return r;
}

int prepare_limits(const struct brig_request *request, struct prepared *p, struct brig_error *err)
{
	struct spec *spec = &p->spec;

	p->most = request->limits_most;
	if (p->purpose == PURPOSE_COMPILE || p->purpose == PURPOSE_TRANSLATE) {
		prepare_compile_limits(request, p);
		return 0;
	}
	struct brig_limits asked = request->limits;
	if (request->clamp) {
		policy_limits_clamp(p->policy, &request->limits_most, &asked);
	}
	int r = policy_limits_within(p->policy, &asked, &request->limits_most, &spec->limits, err);
	if (r == 0 && spec->limits.instructions < LIMIT_INSTRUCTIONS_NONE &&
	    !provider_can(spec->provider, ABILITY_INSTRUCTIONS)) {
		return cannot_count(spec->provider, err);
	}
	if (r < 0 || !p->runtime) {
		return r;
	}
	const struct runtime *runtime = p->runtime;
	char text[32];
	if (spec->limits.memory_bytes < runtime->least_memory_bytes) {
		r = error_set(err, BRIG_E_INPUT, ERANGE, "%s cannot start with so little memory",
			      runtime->name);
		error_remedy(
			err, "give it at least %s",
			unit_format(UNIT_BYTES, runtime->least_memory_bytes, text, sizeof(text)));
	} else if (spec->limits.processes < runtime->least_processes) {
		r = error_set(err, BRIG_E_INPUT, ERANGE,
			      "%s cannot start with so few processes and threads", runtime->name);
		error_remedy(err, "give it at least %llu",
			     (unsigned long long)runtime->least_processes);
	}
	return r;
}

void prepare_cpus(struct spec *spec)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned host = online > 0 ? (unsigned)online : 1;
	uint64_t share = (spec->limits.cpu_millicores + 999) / 1000;

	spec->cpus = share > 0 && share < host ? (unsigned)share : host;
}
