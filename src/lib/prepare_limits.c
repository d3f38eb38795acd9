/* What a run may use: the policy's limits, the request's within them, the runtime's least. */
#include <errno.h>
#include <unistd.h>

#include "lib/prepare.h"

/* A runtime's own limits are for what it needs less of: they never widen the policy's. */
static void tighten(struct brig_limits *limits, const struct brig_limits *by)
{
	for (size_t i = 0; i < limit_table_count; i++) {
		uint64_t value = *limit_of((struct brig_limits *)(uintptr_t)by, &limit_table[i]);
		if (value && value < *limit_of(limits, &limit_table[i])) {
			*limit_of(limits, &limit_table[i]) = value;
		}
	}
}

int prepare_limits(const struct brig_request *request, struct prepared *p, struct brig_error *err)
{
	struct spec *spec = &p->spec;

	if (p->purpose == PURPOSE_COMPILE) {
		spec->limits = p->policy->compile_limits;
		tighten(&spec->limits, &p->runtime->compile_limits);
		return 0;
	}
	int r = policy_limits_within(p->policy, &request->limits, &request->limits_most,
				     &spec->limits, err);
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
