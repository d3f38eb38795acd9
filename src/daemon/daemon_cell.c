/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a provider whose cells a daemon makes: see daemon.h. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon/daemon.h"
#include "kernel/filter/filter.h"
#include "kernel/sys.h"

#define ALL_LAYERS (LAYER_BIT(LAYER_COUNT) - 1)

layer_set daemon_resolve(const struct cgroup_manager *groups, struct spec *spec)
{
	(void)groups; /* the daemon's own: they are looked at when there is a container */
	spec->layers = ALL_LAYERS;
	return ALL_LAYERS & ~DAEMON_LAYERS;
}

const struct cgroup_manager *daemon_groups(const struct run *run)
{
	return daemon_of(run)->manager;
}

int daemon_layer_of(const char *step)
{
	return strcmp(step, "cgroup") == 0 ? LAYER_CGROUP_MEMORY : -1;
}

const char *daemon_means(enum layer layer)
{
	return layer == LAYER_SECCOMP ? "brig's agent, and the daemon" : "the daemon";
}

bool daemon_setting(const struct daemon_kind *kind, const struct spec *spec,
		    char ret[PROVIDER_SETTING_MAX])
{
	const struct daemon_settings *settings = kind->settings(spec);
	char socket[DAEMON_SOCKET_MAX] = "";

	daemon_find(kind, settings, socket, NULL);
	snprintf(ret, PROVIDER_SETTING_MAX, "%s %.200s %.200s", socket,
		 settings && settings->runtime ? settings->runtime : "",
		 settings && settings->image ? settings->image : "");
	return true;
}

/* --- opening ---------------------------------------------------------------------------------- */

static int choose_image(struct run *run, struct brig_error *err)
{
	struct daemon_cell *cell = daemon_of(run);
	const struct daemon_settings *settings = cell->settings;

	if (settings && settings->image) {
		snprintf(cell->image_name, sizeof(cell->image_name), "%s", settings->image);
		return agent_file_make(run->options.spec, &cell->agent_path, err);
	}
	return daemon_own_image(cell, err);
}

int daemon_open(struct run *run, const struct daemon_kind *kind, struct brig_error *err)
{
	const struct spec *spec = run->options.spec;
	struct daemon_cell *cell = calloc(1, sizeof(*cell));

	run->cell = cell;
	if (!cell) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a cell");
	}
	cell->kind = kind;
	cell->settings = kind->settings(spec);
	cell->call = (struct daemon_call)DAEMON_CALL_NONE;
	cell->link = (struct agent_link)AGENT_LINK_CLOSED;
	cell->pidfd = cell->inside[0] = cell->inside[1] = cell->inside[2] = -1;
	cell->over = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	int r = cell->over < 0 ? -errno : daemon_owner_begin(&cell->owner);
	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot prepare a container");
	}
	run->watch.waits = true;
	r = daemon_find(kind, cell->settings, cell->socket, err);
	r = r < 0 ? r : plan_make(spec, &cell->plan, err);
	r = r < 0 ? r : names_file_make(spec, &cell->names_path, err);
	return r < 0 ? r : choose_image(run, err);
}

static int begin(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);
	_cleanup_(buf_done)
	struct buf path = { 0 };
	struct daemon_request request;

	for (int i = 0; i < 3; i++) {
		cell->inside[i] = TAKE_FD(run->inside[i]);
	}
	daemon_request(cell, DAEMON_VERSION, &path, &request);
	return daemon_call_begin(&cell->call, cell->socket, &request, &cell->err);
}

int daemon_launch(struct run *run, struct brig_error *err)
{
	struct daemon_cell *cell = daemon_of(run);
	int r = begin(run);

	if (r < 0) {
		*err = cell->err;
		error_step(err, "version");
		return r;
	}
	run->cell_alarm_ns = clock_now_ns() + daemon_stages[DAEMON_VERSION].most_ns;
	r = daemon_listen(run);
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "cannot watch a container") : 0;
}

int daemon_assign(struct run *run, const struct spec *spec)
{
	(void)spec; /* run->options has it */
	return agent_link_begin(&daemon_of(run)->link, run);
}

int daemon_ready(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);

	if (cell->stage != DAEMON_RUNS || run->state >= RUN_ENDING || cell->failed ||
	    cell->link.ended || cell->link.reports.state == REPORT_NEW) {
		return 0;
	}
	int r = daemon_look(cell, daemon_place_bytes(run->options.spec));
	if (r <= 0) {
		if (r < 0) {
			daemon_fail(run, "walls");
		}
		return 0;
	}
	run->cell_alarm_ns = 0;
	/* Until now the time was the daemon's. */
	run->watch.waits = false;
	watch_start(&run->watch, clock_now_ns());
	watch_rebase(&run->watch, &run->facts);
	return spec_traits(run->options.spec)->held ? run_held(run) : 1;
}

/* --- events ----------------------------------------------------------------------------------- */

/* The first of them is the reason for the others. */
static void note_end(struct daemon_cell *cell, const char *what)
{
	cell->first_end = cell->first_end ? cell->first_end : what;
}

/* The daemon removes the group soon. */
static void look_last(struct run *run)
{
	if (run->watch.group) {
		watch_look(&run->watch, clock_now_ns(), &run->facts);
	}
}

static int on_end(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);

	look_last(run);
	note_end(cell, cell->stage == DAEMON_ENDING ? "its process was killed by brig"
						    : "its process ended before its stream");
	epoll_ctl(run->epoll, EPOLL_CTL_DEL, cell->pidfd, NULL);
	cell->stage = DAEMON_OVER;
	if (cell->attached && !cell->link.ended && cell->link.reports.state < REPORT_OVER) {
		/* Its last words are still on their way through the daemon. */
		daemon_end_after(cell, DAEMON_LAST_NS);
		return 0;
	}
	run_cell_gone(run);
	return 1;
}

/*
 * The agent has said all, and stays: Podman ends a stream as soon as it cannot pass on to the
 * container, and drops what it has from there.
 */
static void release_agent(struct daemon_cell *cell)
{
	if (cell->released || cell->link.reports.state != REPORT_OVER) {
		return;
	}
	cell->released = true;
	if (cell->pidfd < 0 || sys_pidfd_send_signal(cell->pidfd, SIGKILL) < 0) {
		shutdown(cell->link.fd, SHUT_WR);
	}
}

static int on_link(struct run *run, unsigned event)
{
	struct daemon_cell *cell = daemon_of(run);
	int r = agent_link_handle(&cell->link, run, event);

	if (run->facts.exited && !cell->seen_exit) {
		cell->seen_exit = true;
		look_last(run);
	}
	release_agent(cell);
	if (r < 0 && cell->link.error) {
		run->build_failed = true;
		run->provider->kill(run);
	} else if (r < 0) {
		note_end(cell, "its stream has an invalid frame, or cannot be read");
		run_end(run, ENDING_PROTOCOL);
	}
	if (cell->link.ended && cell->stage == DAEMON_OVER) {
		run_cell_gone(run);
		return 1;
	}
	if (cell->link.ended) {
		note_end(cell, cell->link.phase == ASSIGN_NOTHING
				       ? "its stream ended, or took no more, before the program"
				       : "its stream ended before its process");
	}
	/* Nothing more comes from it: what is left of it has no use. */
	if (cell->link.ended && cell->stage == DAEMON_RUNS) {
		daemon_remove(run);
	}
	return 0;
}

int daemon_handle(struct run *run, unsigned number)
{
	switch (number) {
	case DAEMON_EVENT_CALL:
		return daemon_on_call(run);
	case DAEMON_EVENT_END:
		return on_end(run);
	case DAEMON_EVENT_OVER:
		run_cell_gone(run);
		return 1;
	default:
		return on_link(run, number - DAEMON_EVENT_LINK);
	}
}

int daemon_listen(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);
	int r = run_listen(run, cell->over, RUN_EVENT_CELL + DAEMON_EVENT_OVER, EPOLLIN);

	if (r == 0 && cell->pidfd >= 0) {
		r = run_listen(run, cell->pidfd, RUN_EVENT_CELL + DAEMON_EVENT_END, EPOLLIN);
	}
	cell->listening = 0;
	r = r < 0 ? r : daemon_listen_call(run);
	return r < 0 || !cell->attached ? r : agent_link_listen(&cell->link, run);
}

void daemon_mute(struct run *run)
{
	const struct daemon_cell *cell = daemon_of(run);

	epoll_ctl(run->epoll, EPOLL_CTL_DEL, cell->over, NULL);
	epoll_ctl(run->epoll, EPOLL_CTL_DEL, cell->pidfd, NULL);
}

int daemon_alarm(struct run *run)
{
	if (run->state < RUN_ENDING && daemon_of(run)->link.phase == ASSIGN_NOTHING) {
		daemon_late(run);
	}
	return 0;
}

bool daemon_has_program(const struct run *run)
{
	return daemon_of(run)->link.phase != ASSIGN_NOTHING && !run->facts.exited &&
	       run->state <= RUN_RUNNING;
}

int daemon_ask_to_end(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);

	if (cell->link.reports.state != REPORT_RUNNING || cell->asked) {
		return 0; /* sent as soon as it has begun */
	}
	cell->asked = true;
	return agent_link_signal(&cell->link, run, SIGTERM);
}

int daemon_interrupt(struct run *run)
{
	return agent_link_signal(&daemon_of(run)->link, run, SIGINT);
}

void daemon_next_round(struct run *run)
{
	daemon_of(run)->asked = false;
}

void daemon_take_options(struct run *run)
{
	/* An agent that cannot be reached any more ends the cell. */
	if (run->state == RUN_RESTING) {
		(void)agent_link_mark(&daemon_of(run)->link, run);
	}
}

/* --- the end ---------------------------------------------------------------------------------- */

void daemon_kill(struct run *run)
{
	if (!agent_link_finishing(&daemon_of(run)->link, run)) {
		daemon_remove(run);
	}
}

static int build_error(const struct run *run, struct brig_error *err)
{
	const struct daemon_cell *cell = daemon_of(run);

	if (cell->failed) {
		*err = cell->err;
		return cell->err.errnum ? -cell->err.errnum : -EIO;
	}
	if (cell->link.error || cell->link.reports.state != REPORT_NEW) {
		return agent_link_error(&cell->link, err);
	}
	int r = error_set(err, BRIG_E_HOST, ECHILD,
			  "the container ended before its agent was ready%s%.*s",
			  cell->demux.messages_size ? ": " : "",
			  (int)strcspn(cell->demux.messages, "\r\n"), cell->demux.messages);
	error_remedy(err, "see the daemon's log");
	error_step(err, "start");
	return r;
}

int daemon_ended(struct run *run, struct brig_error *err)
{
	struct daemon_cell *cell = daemon_of(run);

	if (cell->attached) {
		agent_link_drain(&cell->link, run);
	}
	bool refused = cell->failed && cell->link.reports.state < REPORT_RUNNING;
	return run->facts.ending == ENDING_NONE || refused ? build_error(run, err) : 0;
}

void daemon_close(struct run *run)
{
	struct daemon_cell *cell = daemon_of(run);

	if (cell->listening) {
		/* The set may be the owner's, and the call go on without the cell. */
		epoll_ctl(run->epoll, EPOLL_CTL_DEL, cell->call.fd, NULL);
	}
	daemon_leave(cell);
	daemon_owner_end(&cell->owner);
	run->watch.group = NULL;
	run->end_fd = -1;
	daemon_call_done(&cell->call);
	agent_link_close(&cell->link);
	cgroup_free(cell->group);
	cgroup_manager_free(cell->manager);
	for (int i = 0; i < 3; i++) {
		close_fd(&cell->inside[i]);
	}
	close_fd(&cell->pidfd);
	close_fd(&cell->over);
	buf_done(&cell->image);
	free(cell->agent_path);
	free(cell->names_path);
	plan_done(&cell->plan);
	free(cell);
	run->cell = NULL;
}

/* The kernel names no call that it has killed for: the policy does. */
void daemon_report(struct run *run)
{
	filter_kill_calls(run->options.filter, run->facts.kill_calls,
			  sizeof(run->facts.kill_calls));
}

/* The result of a cell that ended without a word says what brig has seen of its end. */
void daemon_advise(struct run *run)
{
	const struct daemon_cell *cell = daemon_of(run);
	struct brig_result *result = run->result;
	const char *words = cell->demux.messages;
	int length = (int)strcspn(words, "\r\n");

	if (result->status != BRIG_ERROR || !cell->first_end) {
		return;
	}
	snprintf(result->operator_remedy, sizeof(result->operator_remedy),
		 "%s: %s%s%.*s. See its log, and the kernel's: an out-of-memory kill of the host?",
		 cell->kind->title, cell->first_end, length ? "; it says: " : "",
		 length < 100 ? length : 100, words);
}

void daemon_nothing(struct run *run)
{
	(void)run;
}
