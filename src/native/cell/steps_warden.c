/* SPDX-License-Identifier: Apache-2.0 */
/* The warden's own steps: control group, clone, id maps, release. */
#include <errno.h>
#include <signal.h>

#include "base/cleanup.h"
#include "kernel/proc_write.h"
#include "kernel/process.h"
#include "kernel/sys.h"
#include "native/cell/cell.h"
#include "run/spec/group_limits.h"

int step_cgroup(struct cell *cell, const struct step *step)
{
	struct cgroup_limits limits = group_limits_of(cell->plan->spec);

	(void)step;
	return cgroup_new(cell->groups, cell->name, &limits, &cell->group, NULL);
}

int step_clone(struct cell *cell, const struct step *step)
{
	int cgroup = cell->group ? cgroup_clone_fd(cell->group) : -1;
	sigset_t all, before;

	/*
	 * A handler of the host program must not run in the child, which has none of its other
	 * threads.
	 */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	/* A template's clone exists already, made with the same flags. */
	int pid = cell->foreign ? cell->pid
				: process_clone(step->clone.namespaces, cgroup, &cell->pidfd);
	if (pid == 0) {
		init_main(cell);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		cell->pidfd = -1;
		return pid;
	}
	cell->pid = pid;
	close_fd(&cell->control_inside);
	close_fd(&cell->go[0]);
	close_fd(&cell->channel_fd);
	for (int i = 0; i < 3; i++) {
		close_fd(&cell->stdio[i]);
	}
	return 0;
}

int step_idmap(struct cell *cell, const struct step *step)
{
	if (step->idmap.deny_setgroups) {
		int r = proc_write(cell->pid, "setgroups", "deny");
		if (r < 0) {
			return r;
		}
	}
	int r = proc_write(cell->pid, "uid_map", step->idmap.uids);
	return r < 0 ? r : proc_write(cell->pid, "gid_map", step->idmap.gids);
}

int step_attach(struct cell *cell, const struct step *step)
{
	(void)step;
	return cgroup_attach(cell->group, cell->pid, NULL);
}

int step_release(struct cell *cell, const struct step *step)
{
	struct wire_record record = { .kind = WIRE_RELEASE };

	(void)step;
	return wire_send(cell->control, &record, NULL, 0);
}

int step_group(struct cell *cell, const struct step *step)
{
	const struct spec *spec = cell->plan->spec;
	struct wire_record record = { .kind = WIRE_GROUP };
	int fds[CGROUP_JOIN_MAX];
	int admitted = spec->ranged ? cgroup_admit(cell->group, spec->first_id) : 0;

	(void)step;
	if (admitted < 0) {
		return admitted;
	}
	record.value = (uint32_t)admitted;
	int count = cgroup_join_fds(cell->group, fds);
	int r = count <= 0 ? -EIO : wire_send(cell->control, &record, fds, (unsigned)count);
	cgroup_join_done(cell->group);
	return r;
}
