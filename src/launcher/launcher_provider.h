/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell that a launcher builds, in a holder (holder/held.h). The holder makes the whole root of
 * the cell; the launcher makes the namespaces, enters the root, and starts brig's agent. It stays
 * around the agent as long as that lives.
 */
#ifndef BRIG_LAUNCHER_LAUNCHER_PROVIDER_H
#define BRIG_LAUNCHER_LAUNCHER_PROVIDER_H

#include "holder/held.h"
#include "policy/launcher/launcher.h"

/* The whole command line: the path first. -ENOENT: the program is not on this host. */
int launcher_command(const struct launcher *launcher, char path[HELD_PATH_MAX], struct strlist *ret,
		     struct brig_error *err);
/* Finds the process that executes brig's agent: held->agent. */
int launcher_find_agent(struct run *run, struct brig_error *err);
/*
 * Are the layers there that the launcher's file names? Seen from outside, before the program
 * begins. -errno: one is not, and err names it.
 */
int launcher_check(struct run *run, struct brig_error *err);
/* The layer rootfs, and the places that can be written: mount_check.c. */
int launcher_check_mounts(struct run *run, const char *mountinfo, char *why, size_t size);
/* The layer proc. */
bool launcher_check_proc(const char *mountinfo);

void launcher_explain(const struct spec *spec, bool json, struct buf *out);
void launcher_probe(const struct probe_report *host, uint64_t deadline_ns,
		    struct probe_finding *ret);
void launcher_probe_for(const struct probe_report *host, uint64_t deadline_ns,
			const struct spec *spec, struct probe_finding *ret);
#endif
