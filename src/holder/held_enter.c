/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent is ready: the holder's work in its namespaces, the check of the walls, and the
 * program's own limits. Then the program may begin.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "holder/held.h"
#include "run/spec/group_limits.h"

/* Where the tool is gone, the agent is the newest process: the program has not begun. */
int held_find_newest(struct run *run, struct brig_error *err)
{
	struct held_cell *held = held_of(run);
	_cleanup_close_ int fd = openat(held->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	long newest = 1; /* the holder */

	if (!dir) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot list the processes");
	}
	(void)TAKE_FD(fd); /* closedir closes it */
	for (struct dirent *entry; (entry = readdir(dir));) {
		long pid = strtol(entry->d_name, NULL, 10);
		newest = pid > newest ? pid : newest;
	}
	closedir(dir);
	held->agent = newest;
	return newest > 1 ? 0 : error_set(err, BRIG_E_SYSTEM, ESRCH, "the agent has ended");
}

/*
 * Where no group counts them, bytes in sockets would be outside of every limit. All of the cell's
 * processes have the agent's network. Before it is set up: then nobody can open the file any more.
 */
static int watch_sockets(struct run *run)
{
	struct held_cell *held = held_of(run);
	char path[64];

	if (!run->options.spec->watch_memory) {
		return 0;
	}
	snprintf(path, sizeof(path), "%ld/net/sockstat", held->agent);
	held->sockets = openat(held->proc, path, O_RDONLY | O_CLOEXEC);
	run->watch.sockets = held->sockets;
	return held->sockets < 0 ? -errno : 0;
}

/* Asks the holder for its work in the agent's namespaces. */
static int ask_to_enter(struct run *run, struct brig_error *err)
{
	struct held_cell *held = held_of(run);
	int r = held->kind->find_agent(run, err);
	int32_t agent = (int32_t)held->agent;

	if (r < 0) {
		return r;
	}
	r = watch_sockets(run);
	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot watch the cell's sockets");
	}
	held->entry = HELD_ENTERING;
	return send(held->control, &agent, sizeof(agent), MSG_NOSIGNAL | MSG_DONTWAIT) ==
			       sizeof(agent)
		       ? 0
		       : error_errno(err, BRIG_E_SYSTEM, errno, "cannot ask the holder");
}

/* False: the program does not begin, or not yet. */
static bool is_right(struct run *run)
{
	struct held_cell *held = held_of(run);
	struct brig_error err = { 0 };
	int r = 0;

	switch (held->entry) {
	case HELD_OUTSIDE:
		r = ask_to_enter(run, &err);
		break;
	case HELD_ENTERED:
		/* The check names the layer, if it is because of one that the holder failed. */
		r = held->kind->check ? held->kind->check(run, &err) : 0;
		r = r < 0 ? r : held_build_error(held, &err);
		break;
	default:
		break;
	}
	if (r == 0) {
		return held->entry == HELD_ENTERED;
	}
	held->refused = malloc(sizeof(*held->refused));
	if (held->refused) {
		*held->refused = err;
	}
	run->build_failed = true;
	held_kill(run);
	return false;
}

/* A cell that is made ahead has an interpreter that waits, or waits with its agent alone. */
static int hold(struct run *run)
{
	return run->options.spec->waiting ? agent_link_hold(&held_of(run)->link, run)
					  : run_held(run);
}

static int waits(struct run *run)
{
	run->cell_alarm_ns = 0;
	return run_held(run);
}

int held_ready(struct run *run)
{
	struct held_cell *held = held_of(run);
	struct cgroup_limits limits = held_limits(run);

	/* The agent may be ready before the tool has left the group; or too late. */
	if (!held->has_handles || held->tool_done == held->kind->stays ||
	    held->link.reports.state == REPORT_NEW || run->state >= RUN_ENDING) {
		return 0;
	}
	if (held->link.holds) {
		return agent_link_is_waiting(&held->link) ? waits(run) : 0;
	}
	if (held->kind->ready) {
		int r = held->kind->ready(run);
		if (r != 1) {
			return r;
		}
	} else if (!is_right(run)) {
		return 0;
	}
	const struct spec *spec = run->options.spec;
	bool holds = spec_traits(spec)->held;
	run->cell_alarm_ns = holds && spec->waiting ? run->cell_alarm_ns : 0;
	int r = held->group ? cgroup_limit(held->group, &limits) : 0;
	/* The tool's use does not count for the program. */
	run->watch.building = false;
	/* A program that can open its agent's descriptors must not keep the warden busy. */
	if (held->kind->emulated && held->log >= 0) {
		epoll_ctl(run->epoll, EPOLL_CTL_DEL, held->log, NULL);
	}
	watch_rebase(&run->watch, &run->facts);
	if (r < 0) {
		return r;
	}
	return holds ? hold(run) : 1;
}
