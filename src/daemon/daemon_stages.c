/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a cell's life, one after the other: each stage has one call, and a function that
 * takes its answer and names the next stage. The stream is attached before the container starts,
 * so nothing that the agent says is lost.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon/daemon.h"
#include "kernel/sys.h"
#include "run/spec/group_limits.h"

/* The agent's time, after the container has started. */
#define AGENT_NS 20000000000ull

/* One start of so many asks for the long list. */
#define LONG_LISTS 8u

static void enter(struct run *run, enum daemon_stage stage);

/* --- the call in the set ---------------------------------------------------------------------- */

int daemon_listen_call(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);
	uint32_t wanted = cell->call.fd < 0 ? 0 : daemon_call_events(&cell->call);
	struct epoll_event want = { .events = wanted,
				    .data = { .u32 = RUN_EVENT_CELL + DAEMON_EVENT_CALL } };

	if (wanted == cell->listening) {
		return 0;
	}
	int how = cell->listening ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
	cell->listening = wanted;
	return epoll_ctl(run->epoll, how, cell->call.fd, &want) < 0 ? -errno : 0;
}

static void end_call(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);

	if (cell->listening) {
		epoll_ctl(run->epoll, EPOLL_CTL_DEL, cell->call.fd, NULL);
		cell->listening = 0;
	}
	daemon_call_done(&cell->call);
}

static void write_body(struct run *run, struct buf *out)
{
	const struct daemon_cell *cell = daemon_of(run);
	const struct daemon_container container = {
		.kind = cell->kind,
		.spec = run->options.spec,
		.plan = &cell->plan,
		.image = cell->image_name,
		.runtime = cell->settings ? cell->settings->runtime : NULL,
		.agent = cell->agent_path,
		.names = cell->names_path,
		.owner = cell->owner.text,
	};

	daemon_body_write(&container, out);
}

/* Where an error of the call goes. A container is removed for a reason that stands already. */
static struct brig_error *reason_of(struct daemon_cell *cell)
{
	return cell->stage < DAEMON_REMOVE ? &cell->err : NULL;
}

static int begin_call(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);
	struct brig_error *err = reason_of(cell);
	_cleanup_(buf_done)
	struct buf path = { 0 };
	_cleanup_(buf_done)
	struct buf body = { 0 };
	struct daemon_request request;

	daemon_request(cell, cell->stage, &path, &request);
	if (cell->stage == DAEMON_CREATE) {
		write_body(run, &body);
		request.type = "application/json";
		request.body = body.data;
		request.size = body.size;
	}
	if (path.failed || body.failed) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a request");
	}
	int r = daemon_call_begin(&cell->call, cell->socket, &request, err);
	if (r == 0) {
		r = daemon_listen_call(run);
		r = r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "cannot watch the daemon") : 0;
	}
	return r;
}

/* --- the answers ------------------------------------------------------------------------------ */

static int lie(struct daemon_cell *cell, const char *what)
{
	int r = error_set(&cell->err, BRIG_E_HOST, EPROTO, "%s's answer has no valid %s",
			  cell->kind->title, what);

	error_remedy(&cell->err, "see whether %s is the socket of %s", cell->socket,
		     cell->kind->title);
	return r;
}

static int take_version(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);
	struct daemon_version version;

	if (daemon_answer_version(&cell->call.body, &version) < 0) {
		return lie(cell, "version");
	}
	if (version.most < DAEMON_API_MINOR) {
		int r = error_set(&cell->err, BRIG_E_HOST, ENOTSUP,
				  "%s at %s has API 1.%u, and 1.%u is needed", cell->kind->title,
				  cell->socket, version.most, DAEMON_API_MINOR);
		error_remedy(&cell->err, "install a newer %s", cell->kind->title);
		return r;
	}
	cell->api = version.least > DAEMON_API_MINOR ? version.least : DAEMON_API_MINOR;
	return DAEMON_LIST;
}

static int after_lists(const struct daemon_cell *cell)
{
	return cell->stale_count ? DAEMON_SWEEP : DAEMON_IMAGE;
}

/* A long list is work for all cells, so not each start asks for it. */
static bool is_next_due(const struct daemon_cell *cell, size_t listed)
{
	switch (cell->list) {
	case DAEMON_LIST_CREATED:
		return true;
	case DAEMON_LIST_SHORT:
		return listed >= DAEMON_LIST_ENTRIES && clock_now_ns() / 1000 % LONG_LISTS == 0;
	default:
		return false;
	}
}

static int take_list(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);
	size_t listed = daemon_answer_stale(&cell->call.body, cell->owner.text, cell->stale,
					    &cell->stale_count);

	if (cell->stale_count < DAEMON_STALE_MAX && is_next_due(cell, listed)) {
		cell->list++;
		return DAEMON_LIST;
	}
	return after_lists(cell);
}

static int take_sweep(struct run *run)
{
	daemon_of(run)->stale_count--;
	return after_lists(daemon_of(run));
}

/* Each would be a directory of the daemon's, writable and without a limit. */
static int has_volumes(struct daemon_cell *cell)
{
	int r = error_set(&cell->err, BRIG_E_HOST, ENOTSUP, "the image %s has volumes",
			  cell->image_name);

	error_remedy(&cell->err, "build it without VOLUME: a program could write there without the "
				 "limit of the disk");
	return r;
}

static int take_image(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);

	if (daemon_call_status(&cell->call) == 200) {
		return daemon_answer_volumes(&cell->call.body) ? has_volumes(cell) : DAEMON_CREATE;
	}
	if (!cell->agent_path) {
		return DAEMON_IMPORT;
	}
	int r = error_set(&cell->err, BRIG_E_HOST, ENOENT, "%s has no image %s", cell->kind->title,
			  cell->image_name);
	error_remedy(&cell->err, "pull it; brig pulls none");
	return r;
}

static int take_import(struct run *run)
{
	(void)run;
	return DAEMON_CREATE;
}

static int take_created(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);

	return daemon_answer_created(&cell->call.body, cell->id) < 0 ? lie(cell, "container id")
								     : DAEMON_ATTACH;
}

static ssize_t receive(struct run *run, void *at, size_t size)
{
	struct daemon_cell *cell = daemon_of(run);
	ssize_t n = demux_receive(&cell->demux, cell->link.fd, at, size);
	return n < 0 ? -errno : n;
}

static int take_stream(struct run *run)
{
	static const struct agent_options options = { .returns = true, .receive = receive };
	struct daemon_cell *cell = daemon_of(run);

	if (cell->listening) {
		epoll_ctl(run->epoll, EPOLL_CTL_DEL, cell->call.fd, NULL);
		cell->listening = 0;
	}
	for (int i = 0; i < 3; i++) {
		run->inside[i] = TAKE_FD(cell->inside[i]);
	}
	cell->attached = true;
	int r = agent_link_open(&cell->link, run, TAKE_FD(cell->call.fd), DAEMON_EVENT_LINK,
				daemon_ready, &options);
	return r < 0 ? error_errno(&cell->err, BRIG_E_SYSTEM, -r, "cannot use the agent's stream")
		     : DAEMON_START;
}

static int take_started(struct run *run)
{
	(void)run;
	return DAEMON_INSPECT;
}

static int not_here(struct daemon_cell *cell, int errnum)
{
	int r = error_errno(&cell->err, BRIG_E_HOST, errnum,
			    "the container's process and control group cannot be seen from here");

	error_remedy(&cell->err,
		     "use a daemon of this host, and of root where control groups are version 1: "
		     "without the group its limits are not certain");
	return r;
}

/* Do the limits hold that the spec has? */
static int check_limits(struct run *run, layer_set layers)
{
	struct daemon_cell *cell = daemon_of(run);
	layer_set lost = run->options.spec->layers & LAYERS_CGROUP & ~layers;
	char names[128];

	if (!lost) {
		return 0;
	}
	layer_list(lost, names, sizeof(names));
	int r = error_set(&cell->err, BRIG_E_HOST, ENOTSUP, "%s has not set the limits: %s",
			  cell->kind->title, names);
	error_remedy(&cell->err, "see docker info, or podman info, for what the daemon can limit; "
				 "rootless daemons need control groups of version 2");
	error_step(&cell->err, "cgroup");
	return r;
}

/*
 * The daemon's word is checked: the process is in a group with the container's name. From here on
 * its end is seen, also if it is refused.
 */
static int find_group(struct run *run, pid_t pid)
{
	struct daemon_cell *cell = daemon_of(run);
	const struct cgroup_limits limits = group_limits_of(run->options.spec);
	layer_set layers = 0;

	cell->pidfd = sys_pidfd_open(pid, 0);
	int r = cell->pidfd < 0 ? cell->pidfd
				: cgroup_find(pid, cell->id, &limits, &cell->manager, &cell->group,
					      &layers);
	if (r < 0) {
		close_fd(&cell->pidfd); /* it may be any process: it is not killed */
		return not_here(cell, -r);
	}
	cell->pid = pid;
	run->end_fd = cell->pidfd;
	run->watch.group = cell->group;
	r = run_listen(run, cell->pidfd, RUN_EVENT_CELL + DAEMON_EVENT_END, EPOLLIN);
	return r < 0 ? error_errno(&cell->err, BRIG_E_SYSTEM, -r, "cannot watch the container")
		     : check_limits(run, layers);
}

static int take_process(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);
	pid_t pid = 0;

	if (daemon_answer_pid(&cell->call.body, &pid) < 0) {
		return lie(cell, "process");
	}
	if (pid == 0) {
		return error_set(&cell->err, BRIG_E_HOST, ECHILD, "the container ended at once");
	}
	int r = find_group(run, pid);
	return r < 0 ? r : DAEMON_RUNS;
}

static int (*const takers[DAEMON_STAGES])(struct run *run) = {
	[DAEMON_VERSION] = take_version, [DAEMON_LIST] = take_list,
	[DAEMON_SWEEP] = take_sweep,     [DAEMON_IMAGE] = take_image,
	[DAEMON_IMPORT] = take_import,   [DAEMON_CREATE] = take_created,
	[DAEMON_ATTACH] = take_stream,   [DAEMON_START] = take_started,
	[DAEMON_INSPECT] = take_process,
};

/* --- the stages ------------------------------------------------------------------------------- */

void daemon_fail(struct run *run, const char *step)
{
	struct daemon_cell *cell = daemon_of(run);

	if (cell->stage >= DAEMON_REMOVE) {
		return;
	}
	if (!cell->err.step[0]) {
		error_step(&cell->err, step);
	}
	cell->failed = run->build_failed = true;
	daemon_remove(run);
}

void daemon_end_after(const struct daemon_cell *cell, uint64_t after_ns)
{
	const struct itimerspec when = { .it_value = { .tv_sec = (time_t)(after_ns / 1000000000u),
						       .tv_nsec =
							       (long)(after_ns % 1000000000u) } };

	timerfd_settime(cell->over, 0, &when, NULL);
}

/* Here the cell ends without a process of its own. */
static void be_over(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);

	end_call(run);
	cell->stage = DAEMON_OVER;
	daemon_end_after(cell, 1);
}

/*
 * Where its first process is known, its end is waited for, and no program begins any more. The
 * daemon's word about it does not count.
 */
static void await_end(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);

	if (cell->pidfd < 0) {
		be_over(run);
		return;
	}
	end_call(run);
	cell->stage = DAEMON_ENDING;
	run->cell_alarm_ns = 0;
	/* A run that was told to end has a deadline of its own. */
	if (run->state < RUN_ENDING) {
		daemon_end_after(cell, DAEMON_LAST_NS);
	}
}

void daemon_remove(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);

	if (cell->stage >= DAEMON_REMOVE) {
		return;
	}
	/* Only root, or the owner of a rootless daemon, may; the others ask the daemon. */
	if (cell->pidfd >= 0 && sys_pidfd_send_signal(cell->pidfd, SIGKILL) == 0) {
		await_end(run);
		return;
	}
	if (cell->stage == DAEMON_CREATE) {
		cell->doomed = true; /* its name is not known yet */
		return;
	}
	if (!cell->id[0]) {
		be_over(run);
		return;
	}
	end_call(run);
	enter(run, DAEMON_REMOVE);
}

static void enter(struct run *run, enum daemon_stage stage)
{
	struct daemon_cell *cell = daemon_of(run);

	cell->stage = stage;
	if (stage == DAEMON_OVER) {
		be_over(run);
		return;
	}
	run->cell_alarm_ns =
		clock_now_ns() + (stage == DAEMON_RUNS ? AGENT_NS : daemon_stages[stage].most_ns);
	if (stage == DAEMON_RUNS) {
		int r = cell->link.reports.state == REPORT_NEW ? 0 : daemon_ready(run);
		if (r == 1 ? agent_link_begin(&cell->link, run) < 0 : r < 0) {
			run_end(run, ENDING_PROTOCOL);
		}
		return;
	}
	if (begin_call(run) == 0) {
		return;
	}
	if (stage == DAEMON_REMOVE) {
		await_end(run);
	} else {
		daemon_fail(run, daemon_stages[stage].name);
	}
}

static bool is_good(const struct daemon_cell *cell)
{
	const unsigned *good = daemon_stages[cell->stage].good;
	unsigned status = daemon_call_status(&cell->call);

	for (size_t i = 0; i < 3 && good[i]; i++) {
		if (status == good[i]) {
			return true;
		}
	}
	return false;
}

static int refuse(struct daemon_cell *cell)
{
	char reason[300];

	daemon_answer_reason(&cell->call.body, reason, sizeof(reason));
	int r = error_set(&cell->err, BRIG_E_HOST, EIO, "%s refused the call %s (status %u): %s",
			  cell->kind->title, daemon_stages[cell->stage].name,
			  daemon_call_status(&cell->call), reason);
	error_remedy(&cell->err, cell->stage == DAEMON_CREATE || cell->stage == DAEMON_START
					 ? "a bind of the host's files needs a daemon that sees "
					   "them; see also the daemon's log"
					 : "see the daemon's log");
	return r;
}

/* A failure there costs the run nothing: the next one tries again. */
static bool is_optional(enum daemon_stage stage)
{
	return stage == DAEMON_LIST || stage == DAEMON_SWEEP;
}

static int next_stage(struct run *run, int r)
{
	struct daemon_cell *cell = daemon_of(run);

	if (cell->stage == DAEMON_REMOVE) {
		return DAEMON_ENDING; /* the reason for it is known already */
	}
	r = r < 0 ? r : is_good(cell) ? takers[cell->stage](run) : refuse(cell);
	if (r < 0 && is_optional(cell->stage)) {
		cell->err = (struct brig_error){ 0 };
		return cell->stage == DAEMON_SWEEP ? take_sweep(run) : after_lists(cell);
	}
	return r;
}

int daemon_on_call(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);
	enum daemon_stage stage = cell->stage;

	if (cell->call.fd < 0) {
		return 0;
	}
	int r = daemon_call_turn(&cell->call, reason_of(cell));
	if (r == 0) {
		return daemon_listen_call(run);
	}
	/* The container ended before the answer to its removal. */
	if (stage == DAEMON_OVER) {
		end_call(run);
		return 0;
	}
	r = next_stage(run, r);
	end_call(run);
	if (stage == DAEMON_REMOVE) {
		await_end(run);
	} else if (r < 0) {
		cell->stage = stage == DAEMON_CREATE ? DAEMON_IMAGE : stage;
		daemon_fail(run, daemon_stages[stage].name);
	} else if (cell->doomed) {
		cell->stage = (enum daemon_stage)r;
		daemon_remove(run);
	} else {
		enter(run, (enum daemon_stage)r);
	}
	return 0;
}

void daemon_late(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);
	enum daemon_stage stage = cell->stage;

	if (stage >= DAEMON_REMOVE) {
		await_end(run);
		return;
	}
	error_set(&cell->err, BRIG_E_HOST, ETIMEDOUT, "%s at %s did not answer the call %s in time",
		  cell->kind->title, cell->socket,
		  stage == DAEMON_RUNS ? "start with a ready agent" : daemon_stages[stage].name);
	error_remedy(&cell->err, "restart the daemon, or look at its log");
	if (stage == DAEMON_CREATE) {
		end_call(run);
		cell->stage = DAEMON_IMAGE;
	}
	daemon_fail(run, daemon_stages[stage].name);
}
