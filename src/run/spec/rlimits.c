/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of each process: see rlimits.h. */
#include "run/spec/rlimits.h"

#include <errno.h>
#include <sys/resource.h>

#include "base/cleanup.h"

size_t rlimits_of(const struct spec *spec, enum rlimits_which which,
		  struct rlimit_value values[RLIMITS_MAX])
{
	const struct brig_limits *limits = &spec->limits;
	const struct {
		const char *name;
		int resource;
		enum rlimits_which which;
		bool wanted;
		uint64_t value;
	} all[] = {
		/* 1, not 0: only 1 also stops a core_pattern that pipes to a helper of the host. */
		{ "core", RLIMIT_CORE, RLIMITS_FIXED, true, 1 },
		{ "nofile", RLIMIT_NOFILE, RLIMITS_OF_REQUEST, true, limits->open_files },
		{ "fsize", RLIMIT_FSIZE, RLIMITS_OF_REQUEST, true, limits->file_bytes },
		/*
		 * In case the check of the whole cell fails: a second later the kernel kills the
		 * process.
		 */
		{ "cpu", RLIMIT_CPU, RLIMITS_OF_REQUEST, !spec->provider->own_clock,
		  limits->cpu_ns / 1000000000u + 2 },
		{ "memlock", RLIMIT_MEMLOCK, RLIMITS_FIXED, true, 65536 },
		{ "msgqueue", RLIMIT_MSGQUEUE, RLIMITS_FIXED, true, 819200 },
		{ "sigpending", RLIMIT_SIGPENDING, RLIMITS_FIXED, true, 1024 },
		{ "stack", RLIMIT_STACK, RLIMITS_FIXED, true, 8u << 20 },
		{ "nice", RLIMIT_NICE, RLIMITS_FIXED, true, 0 },
		{ "rtprio", RLIMIT_RTPRIO, RLIMITS_FIXED, true, 0 },
		{ "data", RLIMIT_DATA, RLIMITS_OF_REQUEST, spec->watch_memory,
		  limits->memory_bytes },
		/*
		 * Counted per user namespace since 5.14, so for the cell alone, even when the outer
		 * id is shared. Not for trusted local runs: there it would count the caller's own
		 * processes. Higher than the group's limit where there is one, because only the
		 * group reports refused forks. An agent has the program's id, and counts.
		 */
		{ "nproc", RLIMIT_NPROC, RLIMITS_OF_REQUEST,
		  (spec->layers & LAYER_BIT(LAYER_USERNS)) != 0,
		  limits->processes + spec->provider->inner_processes +
			  (spec->watch_processes ? 0 : 8) },
	};
	size_t count = 0;

	_Static_assert(ARRAY_SIZE(all) <= RLIMITS_MAX, "there is room for every limit");
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (all[i].wanted && (all[i].which & which)) {
			values[count++] =
				(struct rlimit_value){ all[i].name, all[i].resource, all[i].value };
		}
	}
	return count;
}

int rlimit_lower(int resource, uint64_t value)
{
	struct rlimit now, want;

	if (getrlimit((__rlimit_resource_t)resource, &now) < 0) {
		return -errno;
	}
	want.rlim_max = value < now.rlim_max ? value : now.rlim_max;
	want.rlim_cur = want.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &want) < 0 ? -errno : 0;
}
