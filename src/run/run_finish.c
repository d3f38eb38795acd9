/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a run: the last bytes, the last figures, the files, the verdict. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "run/files/file_limit.h"
#include "run/run_internal.h"
#include "run/watch/verdict.h"

#define SLICE_NS 1000000u /* of collecting, before other runs are served */

/* All writers are dead, or parked: nothing more will be written to the pipes. */
static void drain(struct stream *stream)
{
	while (stream->fd >= 0) {
		uint64_t before = stream->seen;
		if (stream_pump(stream) < 0 || stream->seen == before) {
			return;
		}
	}
}

static void take_stream(struct stream *stream, char **data, size_t *size, bool *truncated)
{
	*truncated = stream_truncated(stream);
	*size = stream->kept.size;
	*data = buf_take(&stream->kept);
}

static void fill_usage(struct run *run)
{
	struct brig_usage *usage = &run->result->usage;
	const struct facts *facts = &run->facts;

	usage->wall_ns = facts->wall_ns;
	usage->cpu_ns = facts->cpu_ns;
	usage->memory_peak_bytes = facts->memory_peak_bytes;
	usage->processes_peak = facts->processes_peak ? facts->processes_peak : 1;
	usage->disk_bytes = facts->disk_peak_bytes;
	usage->net_bytes = facts->net_bytes;
	usage->instructions = facts->instructions;
}

static bool failed_by_itself(const struct run *run)
{
	const struct facts *facts = &run->facts;

	return !facts->stuck && facts->ending == ENDING_NONE && facts->exited &&
	       (facts->end_code != CLD_EXITED || facts->end_status != 0);
}

static const struct cgroup_manager *groups_of(const struct run *run)
{
	const struct cgroup_manager *own =
		run->provider->groups ? run->provider->groups(run) : NULL;

	return own ? own : run->options.groups;
}

int run_fill_result(struct run *run)
{
	struct brig_result *result = run->result;
	const struct spec *spec = run->options.spec;

	memcpy(result->id, run->id, sizeof(result->id));
	take_stream(&run->out[0], &result->stdout_data, &result->stdout_size,
		    &result->stdout_truncated);
	take_stream(&run->out[1], &result->stderr_data, &result->stderr_size,
		    &result->stderr_truncated);
	if (!result->stdout_data || !result->stderr_data) {
		return -ENOMEM;
	}
	result->limits = spec->limits;
	run_gate_fill(run);
	run->provider->report(run);
	run->facts.file_full = failed_by_itself(run) && run->sandbox >= 0 &&
			       file_limit_reached(run->sandbox, spec->limits.file_bytes);
	run_note_limits(run);
	fill_usage(run);
	layer_list(spec->layers, result->layers, sizeof(result->layers));
	watch_means(spec, cgroup_manager_means(groups_of(run)), result->means,
		    sizeof(result->means));
	snprintf(result->provider, sizeof(result->provider), "%s", run->provider->name);
	snprintf(result->start, sizeof(result->start), "%s",
		 spec_traits(spec)->ahead ? "warm" : "cold");
	verdict_give(&run->facts, result);
	run_gate_remedy(result);
	run->provider->advise(run);
	return 0;
}

void run_take_cpu(struct run *run, uint64_t cpu_ns)
{
	uint64_t before = run->watch.cpu_base_ns;
	uint64_t used_ns = cpu_ns > before ? cpu_ns - before : 0;

	if (!run->watch.group && run->facts.cpu_ns < used_ns) {
		run->facts.cpu_ns = used_ns;
	}
}

void run_take_memory(struct run *run, uint64_t peak_bytes)
{
	struct facts *facts = &run->facts;
	bool counted = !run->options.spec->watch_memory && facts->memory_peak_bytes > 0;

	/* Samples can miss the peak of a short program. */
	if (!counted && facts->memory_peak_bytes < peak_bytes) {
		facts->memory_peak_bytes = peak_bytes;
	}
}

void run_take_end(struct run *run, int code, int status, uint64_t cpu_ns)
{
	run->facts.exited = true;
	run->facts.end_code = code;
	run->facts.end_status = status;
	/* Without a group, and with a parent other than this process, this is the only figure. */
	run_take_cpu(run, cpu_ns);
}

void run_look_last(struct run *run)
{
	if (run->watch.group && !run->options.spec->join_by_write &&
	    cgroup_clone_fd(run->watch.group) < 0) {
		watch_look(&run->watch, clock_now_ns(), &run->facts);
	}
}

static int cannot_collect(int r, struct brig_error *err)
{
	return error_errno(err, BRIG_E_SYSTEM, -r, "cannot collect the run's result");
}

int run_finish(struct run *run, struct brig_error *err)
{
	enum ending ending = run->facts.ending;

	int r = run->provider->ended(run, err);

	uint64_t over_ns = run->over_ns ? run->over_ns : clock_now_ns();
	run->facts.wall_ns = over_ns - run->watch.start_ns;
	if (r < 0) {
		return r;
	}
	drain(&run->out[0]);
	drain(&run->out[1]);
	/* A parked program uses nothing: the check that found it alone was the last. */
	if (run->life != CELL_PARKED) {
		run->watch.proc = -1; /* no process is left in it */
		watch_look(&run->watch, clock_now_ns(), &run->facts);
	}
	for (int i = 0; i < 2 && ending == ENDING_NONE && !run->options.cut_output; i++) {
		if (stream_truncated(&run->out[i])) {
			ending = i ? ENDING_STDERR : ENDING_STDOUT;
		}
	}
	run->facts.ending = ending;
	r = run_fill_result(run);
	if (r < 0) {
		return cannot_collect(r, err);
	}
	if (run->sandbox < 0 || run->facts.stuck) {
		return 0;
	}
	r = collect_begin(run->sandbox, &run->options.collect, run->result, &run->files);
	return r < 0 ? cannot_collect(r, err) : 0;
}

int run_collect_some(struct run *run)
{
	const struct itimerspec at_once = { .it_value = { .tv_nsec = 1 } };
	int r = run->files ? collect_step(run->files, clock_now_ns() + SLICE_NS) : 1;

	if (r != 0) {
		run->files_cut = run->files && (r < 0 || collect_is_cut(run->files));
		collect_free(TAKE_PTR(run->files));
	} else if (timerfd_settime(run->timer, 0, &at_once, NULL) < 0) {
		r = -errno; /* no event would cause another call */
	}
	return r;
}

int run_done(struct run *run, int r)
{
	run_enter(run, RUN_DONE);
	run->provider->release(run);
	return r < 0 ? r : 1;
}

int run_collect(struct run *run, struct brig_error *err)
{
	int r = run_collect_some(run);

	if (r == 0) {
		return 0;
	}
	return run_done(run, r < 0 ? cannot_collect(r, err) : r);
}
