/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that share a cell, one after the other: where one ends and the next begins. See run.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "run/run_internal.h"
#include "run/watch/verdict.h"

/* The next run has limits, streams and refusals of its own. */
static int reset_figures(struct run *run)
{
	for (int i = 0; i < 2; i++) {
		stream_start_over(&run->out[i]);
		buf_done(&run->out[i].kept);
	}
	run->grace_end_ns = 0;
	run->gate.bytes_base = run->gate.bytes;
	run->provider->next_round(run);
	uint64_t reported_ns = run->facts.cpu_ns;
	uint64_t used_ns = watch_rebase(&run->watch, &run->facts);
	run->idle_cpu_ns += used_ns > reported_ns ? used_ns - reported_ns : 0;
	run->result = calloc(1, sizeof(*run->result));
	return run->result ? 0 : -ENOMEM;
}

/* Its programs may still run: a file that changes while it is read is not returned. */
static void note_lost_files(struct run *run)
{
	free(run->result->files_note);
	run->result->files_note = strdup("files changed while they were collected");
}

int run_round_end(struct run *run, int exit_code)
{
	enum ending ending = run->facts.ending;

	/*
	 * Once: anything beyond a full pipe was written after the end, by processes that are left.
	 */
	for (int i = 0; i < 2; i++) {
		if (run->out[i].fd >= 0) {
			stream_pump(&run->out[i]);
		}
	}
	run_on_gate(run); /* its reports so far, which may end the run */
	ending = ending == ENDING_NONE ? run->facts.ending : ending;
	run->facts.wall_ns = clock_now_ns() - run->watch.start_ns;
	watch_look(&run->watch, clock_now_ns(), &run->facts);
	for (int i = 0; i < 2 && ending == ENDING_NONE && !run->options.cut_output; i++) {
		if (stream_truncated(&run->out[i])) {
			ending = i ? ENDING_STDERR : ENDING_STDOUT;
		}
	}
	run->facts.ending = ending;
	run->facts.exited = true;
	run->facts.end_code = CLD_EXITED;
	run->facts.end_status = exit_code;
	int r = run_fill_result(run);
	if (r < 0) {
		return r;
	}
	if (run->provider->keeps_files) {
		run->result->files_note = strdup("the files of a session stay in its cell");
		return 0;
	}
	if (run->sandbox >= 0 &&
	    collect_begin(run->sandbox, &run->options.collect, run->result, &run->files) < 0) {
		note_lost_files(run);
	}
	return 0;
}

int run_round_result(struct run *run, struct brig_result **ret)
{
	struct run_section section;

	run_section_enter(run, &section);
	int r = run_collect_some(run);
	run_section_leave(&section);
	if (r == 0) {
		return 0;
	}
	if (r < 0) {
		note_lost_files(run);
	}
	/* Killed while its files were collected, which its verdict did not know of. */
	if (run->facts.ending == ENDING_LOCK) {
		verdict_give(&run->facts, run->result);
	}
	*ret = TAKE_PTR(run->result);
	r = reset_figures(run);
	if (r < 0) {
		brig_result_free(TAKE_PTR(*ret));
	}
	return r < 0 ? r : 1;
}

void run_round_forget(struct run *run)
{
	for (int i = 0; i < 2; i++) {
		run->out[i].on_output = NULL;
		run->out[i].user = NULL;
	}
	run->options.on_output = NULL;
	run->options.user = NULL;
	run->options.id = NULL; /* run->id is a copy */
	run->options.collect.globs = NULL;
}

int run_rest(struct run *run)
{
	if (run->state >= RUN_ENDING) {
		return 0; /* it is being killed, and cannot be resumed */
	}
	run_enter(run, RUN_RESTING);
	run->options.cut_output = true;
	run->provider->rest(run);
	watch_rest(&run->watch);
	int r = run_pause(run, true);
	return r < 0 ? r : run_arm(run);
}

void run_count_idle(struct run *run)
{
	run->idle_cpu_ns += watch_rebase(&run->watch, &run->facts);
}

void run_check_idle(struct run *run)
{
	uint64_t now = clock_now_ns();

	watch_start(&run->watch, now); /* no wall time is counted between runs */
	enum ending due = watch_look(&run->watch, now, &run->facts);
	watch_rest(&run->watch);
	if (due != ENDING_NONE) {
		run_end(run, due);
	}
}

/* Output between the runs belongs to none of them. */
static void skip_output(struct stream *stream)
{
	stream->keep = false;
	stream->on_output = NULL;
	if (stream->fd >= 0) {
		stream_pump(stream);
	}
	stream_start_over(stream);
}

/* The clock that files get their times from. */
static uint64_t file_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int run_resume(struct run *run, const struct run_options *options)
{
	if (run->state >= RUN_ENDING) {
		return -ESTALE;
	}
	int r = run_take_id(run, options);
	if (r < 0) {
		return r;
	}
	run->options = *options;
	run->options.collect.since_ns = file_clock_ns();
	for (int i = 0; i < 2; i++) {
		skip_output(&run->out[i]);
	}
	run_take_output_options(run);
	run->provider->take_options(run);
	run_note_start(run);
	run_count_idle(run);
	watch_start(&run->watch, clock_now_ns());
	run_enter(run, RUN_RUNNING);
	r = run_pause(run, false);
	return r < 0 ? r : run_arm(run);
}
