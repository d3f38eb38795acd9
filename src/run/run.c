/* SPDX-License-Identifier: Apache-2.0 */
/* A run's events: one handler each, dispatched by a table. See run.h. */
#include "run/run.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "run/run_internal.h"

/*
 * How often the other limits are checked while a program that was asked to end has its grace
 * period.
 */
#define GRACE_LOOK_NS 10000000u
/* The most events of an owner's own in a set that it shares with its run. */
#define OWNERS_EVENTS 2

int run_listen(struct run *run, int fd, unsigned event, uint32_t events)
{
	struct epoll_event want = { .events = events, .data = { .u32 = event } };

	return epoll_ctl(run->epoll, EPOLL_CTL_ADD, fd, &want) < 0 ? -errno : 0;
}

/* No program runs in the cell, and nothing is counted. */
static bool is_waiting(const struct run *run)
{
	return run->state == RUN_HELD || run->state == RUN_RESTING;
}

int run_arm(struct run *run)
{
	uint64_t now = clock_now_ns(), next = 0;

	if (run->state >= RUN_ENDING) {
		next = run->kill_deadline_ns;
	} else if (!is_waiting(run)) {
		next = watch_next_ns(&run->watch, now, &run->facts);
	}
	/* In the grace period only its own end counts: the limits of time were reached already. */
	if (run->grace_end_ns && run->state < RUN_ENDING) {
		uint64_t look = now + GRACE_LOOK_NS;
		next = look < run->grace_end_ns ? look : run->grace_end_ns;
	}
	if (run->alarm_ns && (!next || run->alarm_ns < next)) {
		next = run->alarm_ns;
	}
	uint64_t cells = run->state < RUN_ENDING ? run->cell_alarm_ns : 0;
	if (cells && (!next || cells < next)) {
		next = cells;
	}
	/* All zero: never. */
	struct itimerspec when = { .it_value = { .tv_sec = (time_t)(next / 1000000000u),
						 .tv_nsec = (long)(next % 1000000000u) } };

	return timerfd_settime(run->timer, TFD_TIMER_ABSTIME, &when, NULL) < 0 ? -errno : 0;
}

/* A limit is reached. A cell that outlives its runs need not end for it at once. */
static void reach_limit(struct run *run, enum ending why)
{
	const struct run_session *session = run->options.session;

	if (run_grace_look(run, clock_now_ns(), why)) {
		return;
	}
	enum ending due =
		session && run->state < RUN_ENDING ? session->due(session->user, why) : why;

	if (due != ENDING_NONE) {
		run_end(run, due);
	}
}

static int on_timer(struct run *run)
{
	uint64_t expirations;
	uint64_t now = clock_now_ns();

	if (read(run->timer, &expirations, sizeof(expirations)) < 0 && errno != EAGAIN) {
		return -errno;
	}
	if (run->cell_alarm_ns && now >= run->cell_alarm_ns) {
		run->cell_alarm_ns = 0;
		int r = run->provider->alarm(run);
		if (r < 0) {
			return r;
		}
	}
	if (is_waiting(run)) {
		return run_arm(run); /* this wakes the owner */
	}
	if (run->state == RUN_ENDING) {
		if (now < run->kill_deadline_ns) {
			return run_arm(run);
		}
		run->facts.stuck = !run->gate.closing; /* the gate had its time to finish */
		return 1;
	}
	enum ending due = watch_look(&run->watch, now, &run->facts);
	if (due != ENDING_NONE || run->grace_end_ns) {
		reach_limit(run, due);
	}
	return run->state < RUN_ENDING ? run_arm(run) : 0;
}

static int on_output(struct run *run, int index)
{
	struct stream *stream = &run->out[index];
	int r = stream->fd < 0 ? 0 : stream_pump(stream);

	if (r < 0) {
		return r;
	}
	if (r == 0 && stream->fd >= 0) {
		/*
		 * Removed explicitly: a copy in a process that the host forked would keep it in the
		 * set.
		 */
		epoll_ctl(run->epoll, EPOLL_CTL_DEL, stream->fd, NULL);
		close_fd(&stream->fd);
	}
	if (stream_truncated(stream) && !run->options.cut_output) {
		reach_limit(run, index ? ENDING_STDERR : ENDING_STDOUT);
	}
	return 0;
}

static int on_stdout(struct run *run)
{
	return on_output(run, 0);
}

static int on_stderr(struct run *run)
{
	return on_output(run, 1);
}

static int on_stdin(struct run *run)
{
	if (run->in.fd >= 0) {
		feed_pump(&run->in);
	}
	return 0;
}

static int on_group(struct run *run)
{
	cgroup_event_clear(run->watch.group);
	enum ending due = watch_look(&run->watch, clock_now_ns(), &run->facts);
	if (due != ENDING_NONE) {
		reach_limit(run, due);
	}
	return 0;
}

/* Each returns 1 when the cell has ended, 0 to go on, or -errno. */
static int (*const handlers[RUN_EVENT_CELL])(struct run *) = {
	[RUN_EVENT_TIMER] = on_timer,   [RUN_EVENT_STDOUT] = on_stdout,
	[RUN_EVENT_STDERR] = on_stderr, [RUN_EVENT_STDIN] = on_stdin,
	[RUN_EVENT_GROUP] = on_group,   [RUN_EVENT_GATE] = run_on_gate,
};

static int handle(struct run *run, uint32_t event)
{
	return event < RUN_EVENT_CELL ? handlers[event](run)
				      : run->provider->event(run, event - RUN_EVENT_CELL);
}

/* The group's event fd is known only when the scope exists; it is added as soon as possible. */
static void watch_group(struct run *run)
{
	short events = 0;
	int fd = run->watch.group ? cgroup_event_fd(run->watch.group, &events) : -1;

	if (!run->group_watched && fd >= 0) {
		run->group_watched = true;
		run_listen(run, fd, RUN_EVENT_GROUP, events == POLLPRI ? EPOLLPRI : EPOLLIN);
	}
}

static int step(struct run *run, struct brig_error *err)
{
	struct epoll_event ready[RUN_EVENTS + OWNERS_EVENTS];
	bool ended = false;

	if (run->state == RUN_DONE) {
		return 1;
	}
	if (run->state == RUN_COLLECTING) {
		return run_collect(run, err);
	}
	watch_group(run);
	int count = epoll_wait(run->epoll, ready, ARRAY_SIZE(ready), 0);
	if (count < 0 && errno != EINTR) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot watch the cell");
	}
	for (int i = 0; i < count; i++) {
		uint32_t event = ready[i].data.u32;
		if (event >= RUN_EVENTS) {
			continue;
		}
		int r = handle(run, event);
		if (r < 0) {
			run_end(run, ENDING_PROTOCOL);
			return error_errno(err, BRIG_E_SYSTEM, -r,
					   "cannot handle the cell's event");
		}
		ended |= r == 1;
	}
	if (!ended || !run_gate_over(run)) {
		return 0;
	}
	run_enter(run, RUN_COLLECTING);
	int r = run_finish(run, err);
	return r < 0 ? run_done(run, r) : run_collect(run, err);
}

int run_step(struct run *run, struct brig_error *err)
{
	struct run_section section;

	run_section_enter(run, &section);
	int r = step(run, err);
	run_section_leave(&section);
	return r;
}

long run_feed(struct run *run, const void *data, size_t size)
{
	struct run_section section;

	run_section_enter(run, &section);
	long taken = feed_add(&run->in, data, size);
	run_section_leave(&section);
	return taken;
}

void run_feed_end(struct run *run)
{
	struct run_section section;

	run->in.open = false;
	run_section_enter(run, &section);
	feed_pump(&run->in);
	run_section_leave(&section);
}

int run_resize(struct run *run, const struct terminal_size *size)
{
	if (!run->out[0].terminal || run->out[0].fd < 0) {
		return -ENOTTY;
	}
	return terminal_resize(run->out[0].fd, size);
}

int run_pause(struct run *run, bool paused)
{
	static const enum run_event events[2] = { RUN_EVENT_STDOUT, RUN_EVENT_STDERR };

	if (run->paused == paused) {
		return 0;
	}
	run->paused = paused;
	for (int i = 0; i < 2; i++) {
		int fd = run->out[i].fd;
		int r = fd < 0 || paused ? 0 : run_listen(run, fd, events[i], EPOLLIN);
		if (r < 0) {
			return r;
		}
		/* With an empty mask epoll would still report the end of a stream. */
		if (fd >= 0 && paused) {
			epoll_ctl(run->epoll, EPOLL_CTL_DEL, fd, NULL);
		}
	}
	return 0;
}
