/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rights and limits of a process, as far as the kernel shows them to others: two processes with
 * the same facts would give a run the same rights, limits and results.
 */
#ifndef BRIG_CLI_WARM_WARM_FACTS_H
#define BRIG_CLI_WARM_WARM_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WARM_FACTS_LINES 16
#define WARM_FACTS_IDS   14

struct warm_facts {
	char lines[WARM_FACTS_LINES][512]; /* of /proc/PID/status */
	struct {
		uint64_t device, inode, mount;
	} ids[WARM_FACTS_IDS]; /* namespaces, root, program */
	char limits[2048];     /* /proc/PID/limits */
	char label[256];       /* of the security module */
	char groups[2048];     /* /proc/PID/cgroup */
	int oom_score;
	int ioprio;
	struct {
		uint32_t policy;
		int32_t nice;
		uint32_t priority;
	} schedule;
	/* A worker takes these over from its client, whatever they are. */
	unsigned umask;
	uint64_t ignored; /* signals */
};

/* 0 or -errno: the process does not exist any more, or may not be read. */
int warm_facts_read(pid_t pid, struct warm_facts *ret);
/*
 * NULL: a run by `service` has no more rights than one by `client`, and the same limits. Else what
 * differs, for people.
 */
const char *warm_facts_differ(const struct warm_facts *service, const struct warm_facts *client);
#endif
