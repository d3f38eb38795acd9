/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that an agent returns: the place for them, the time for them, and their end. A program
 * that has to end is told so by its agent, because the files come only while that lives; an agent
 * that does not answer soon is killed with the cell, and its files are lost.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "agent_link/agent_link.h"
#include "base/cleanup.h"
#include "base/clock.h"

/* How long the agent may take to report the end of a program that was told to end... */
#define END_MS 1000u
/* ...and to end after its last frame. The time for the files is that of return_time.h. */
#define LEAVE_MS 5000u

/* The largest file: as the limit allows, or as brig itself has put it there. */
static uint64_t largest_file(const struct spec *spec)
{
	uint64_t most = spec->limits.file_bytes;

	for (size_t i = 0; i < spec->inputs_count; i++) {
		most = spec->inputs[i].size > most ? spec->inputs[i].size : most;
	}
	return most;
}

int files_begin(struct agent_link *link, struct run *run)
{
	const struct brig_limits *limits = &run->options.spec->limits;

	link->reports.returns = 1;
	link->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (link->timer < 0) {
		return -errno;
	}
	return own_tmpfs_begin(&link->place, limits->disk_bytes, limits->disk_inodes);
}

void files_done(struct agent_link *link)
{
	close_fd(&link->timer);
	returned_done(&link->files);
	own_tmpfs_done(&link->place);
}

bool files_missing(const struct agent_link *link)
{
	return link->options.returns && link->place.root < 0 && link->reports.state == REPORT_NEW;
}

int files_have_place(struct agent_link *link, struct run *run)
{
	int r = own_tmpfs_take(&link->place);

	if (r == 0) {
		return 0;
	}
	epoll_ctl(run->epoll, EPOLL_CTL_DEL, link->place.socket, NULL);
	link->files.root = link->place.root;
	link->blocked = false;
	if (r < 0) {
		/* Of this host's: the cell has done nothing wrong. */
		link->error = -r;
		link->error_step = FRAME_STEP_RETURN;
	}
	return r < 0 ? r : 0;
}

static int set_timer(const struct agent_link *link, uint64_t after_ms)
{
	const struct itimerspec when = { .it_value = { .tv_sec = (time_t)(after_ms / 1000u),
						       .tv_nsec = (long)(after_ms % 1000u) *
								  1000000 } };

	return timerfd_settime(link->timer, 0, &when, NULL) < 0 ? -errno : 0;
}

static void take_disk(const struct agent_link *link, struct run *run)
{
	const struct frame_disk *disk = &link->reports.disk;
	const struct brig_limits *limits = &run->options.spec->limits;
	struct facts *facts = &run->facts;

	facts->disk_peak_bytes = disk->peak.bytes;
	facts->inodes_peak = disk->peak.inodes;
	facts->disk_full |= (disk->full & FRAME_DISK_FULL) != 0;
	/* Where nothing limits their number, it is only known afterwards. */
	facts->inodes_full |=
		(disk->full & FRAME_INODES_FULL) != 0 || disk->peak.inodes > limits->disk_inodes;
}

/* The timer is looked at by files_late(). */
static int set_timer_at(const struct agent_link *link, uint64_t at_ns)
{
	const struct itimerspec when = { .it_value = { .tv_sec = (time_t)(at_ns / 1000000000u),
						       .tv_nsec = (long)(at_ns % 1000000000u) } };

	return timerfd_settime(link->timer, TFD_TIMER_ABSTIME, &when, NULL) < 0 ? -errno : 0;
}

int files_come(struct agent_link *link, struct run *run)
{
	const struct brig_limits *limits = &run->options.spec->limits;
	const uint64_t rate = link->options.return_rate ? link->options.return_rate : RETURN_RATE;

	take_disk(link, run);
	return_time_begin(&link->time, limits, rate, clock_now_ns());
	link->files.file_max = largest_file(run->options.spec);
	run_program_over(run, return_time_most(limits, rate) + RUN_KILL_PATIENCE_NS);
	return set_timer_at(link, link->time.period_ns);
}

int files_late(struct agent_link *link, struct run *run)
{
	uint64_t next_ns =
		link->reports.state != REPORT_RETURNS
			? 0
			: return_time_next(&link->time, link->files.received, clock_now_ns());
	uint64_t expirations;

	if (next_ns > 0) {
		(void)!read(link->timer, &expirations, sizeof(expirations));
		return set_timer_at(link, next_ns);
	}
	epoll_ctl(run->epoll, EPOLL_CTL_DEL, link->timer, NULL);
	link->ended = true;
	run->provider->kill(run);
	return 0;
}

void files_complete(struct agent_link *link, struct run *run)
{
	const struct frame_left *left = &link->reports.left;

	returned_done(&link->files);
	run->options.collect.left = (struct walk_report){
		.odd_names = left->odd_names,
		.too_deep = left->too_deep,
		.too_many = left->too_many != 0,
	};
	run->options.collect.left_over = left->over;
	run->sandbox = TAKE_FD(link->place.root);
	/*
	 * The cell ends by itself, a machine after its last report; unless it is the program's: no
	 * limit applies to it any more.
	 */
	if (set_timer(link, LEAVE_MS) < 0) {
		run->provider->kill(run);
	}
}

void files_note(struct agent_link *link, struct run *run)
{
	static const char lost[] = "the cell ended before it had returned its files";

	if (!link->options.returns || run->sandbox >= 0 || !run->result ||
	    run->result->files_note || link->reports.state < REPORT_RUNNING) {
		return;
	}
	run->result->files_note = strdup(lost);
	run->files_cut = true;
}

/* After these the cell is not trusted, or holds up brig itself. */
static bool is_hostile(enum ending why)
{
	return why == ENDING_NONE || why == ENDING_PROTOCOL || why == ENDING_LOCK;
}

bool agent_link_finishing(struct agent_link *link, struct run *run)
{
	enum report_state state = link->reports.state;

	if (!link->options.returns || link->ended) {
		return false;
	}
	if (state == REPORT_RUNNING && !link->asked && !is_hostile(run->facts.ending)) {
		link->asked = true;
		return set_timer(link, END_MS) == 0 && agent_link_signal(link, run, SIGKILL) == 0;
	}
	return (state == REPORT_RUNNING && link->asked) || state == REPORT_RETURNS;
}
