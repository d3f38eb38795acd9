/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a run: the last bytes, the last figures, the files, the verdict. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "run/file_limit.h"
#include "run/offline.h"
#include "run/run_internal.h"
#include "run/verdict.h"

#define SLICE_NS       1000000u /* of collecting, before others have their turn */
#define LAST_WORDS_MAX 16u      /* more than there is to say */

/* All writers are dead, or parked: what the pipes still hold is all that there will ever be. */
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
}

static bool failed_by_itself(const struct run *run)
{
	const struct facts *facts = &run->facts;

	return !facts->stuck && facts->ending == ENDING_NONE && facts->exited &&
	       (facts->end_code != CLD_EXITED || facts->end_status != 0);
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
	run_names_note(run);
	run->facts.file_full = failed_by_itself(run) && run->sandbox >= 0 &&
			       file_limit_reached(run->sandbox, spec->limits.file_bytes);
	run_note_limits(run);
	result->denied = run->denials.any;
	result->denial = run->denials.first;
	run->facts.denial_remedy = run->denials.remedy;
	filter_kill_calls(run->options.filter, run->facts.kill_calls,
			  sizeof(run->facts.kill_calls));
	fill_usage(run);
	layer_list(spec->layers, result->layers, sizeof(result->layers));
	watch_means(spec, cgroup_manager_means(run->options.groups), result->means,
		    sizeof(result->means));
	snprintf(result->provider, sizeof(result->provider), "%s",
		 spec->provider == PROVIDER_LOCAL ? "local" : "native");
	snprintf(result->start, sizeof(result->start), "%s", run->options.warm ? "warm" : "cold");
	verdict_give(&run->facts, result);
	run_gate_remedy(result);
	if (!spec->gate_ports_count && (spec->layers & LAYER_BIT(LAYER_NETNS))) {
		offline_remedy(run_names_first(result), run->out[run->out[0].terminal ? 0 : 1].tail,
			       result);
	}
	return 0;
}

void run_take_end(struct run *run, const struct wire_record *record)
{
	run->facts.exited = true;
	run->facts.end_code = (int)(record->value & ~WIRE_ALONE);
	run->facts.end_status = record->status;
	/* Without a group, and with a parent that is not us, nobody else could tell. */
	uint64_t before = run->watch.cpu_base_ns;
	uint64_t used_ns = record->cpu_ns > before ? record->cpu_ns - before : 0;
	if (!run->cell.group && run->facts.cpu_ns < used_ns) {
		run->facts.cpu_ns = used_ns;
	}
}

static bool is_in_place(struct run *run, const struct wire_record *record, unsigned fds_count)
{
	/* The answer to a question may come too late, but only to one that was asked. */
	return wire_check(&run->wire, record, fds_count) == 0 &&
	       (record->kind != WIRE_THIS || run_grace_answered(run));
}

void run_hear_last_words(struct run *run)
{
	struct wire_record record;
	int fds[WIRE_FDS_MAX];
	unsigned count;

	for (unsigned heard = 0; heard < LAST_WORDS_MAX; heard++) {
		if (wire_receive(run->cell.control, &record, fds, &count) != 1) {
			return;
		}
		for (unsigned i = 0; i < count; i++) {
			close(fds[i]);
		}
		if (!is_in_place(run, &record, count)) {
			return;
		}
		if (record.kind == WIRE_FAILED && record.value < run->plan.count) {
			run->setup_errnum = record.errnum > 0 ? record.errnum : EIO;
			run->setup_step = record.value;
		} else if (record.kind == WIRE_EXITED) {
			run_take_end(run, &record);
		}
	}
}

static int cannot_collect(int r, struct brig_error *err)
{
	return error_errno(err, BRIG_E_SYSTEM, -r, "cannot collect the run's result");
}

int run_finish(struct run *run, struct brig_error *err)
{
	enum ending ending = run->facts.ending;

	run_hear_last_words(run);
	run_driver_last_words(run);
	run->facts.wall_ns = clock_now_ns() - run->watch.start_ns;
	if (run->setup_errnum && ending == ENDING_NONE) {
		return run_setup_error(run, &run->plan.steps[run->setup_step], run->setup_errnum,
				       err);
	}
	drain(&run->out[0]);
	drain(&run->out[1]);
	/* Who is parked uses nothing: the look that found it alone was the last. */
	if (!run->parked) {
		run->watch.proc = -1; /* nobody is left there */
		watch_look(&run->watch, clock_now_ns(), &run->facts);
	}
	for (int i = 0; i < 2 && ending == ENDING_NONE && !run->options.cut_output; i++) {
		if (stream_truncated(&run->out[i])) {
			ending = i ? ENDING_STDERR : ENDING_STDOUT;
		}
	}
	run->facts.ending = ending;
	int r = run_fill_result(run);
	if (r == 0 && run->sandbox >= 0 && !run->facts.stuck) {
		r = collect_begin(run->sandbox, &run->options.collect, run->result, &run->files);
	}
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
		r = -errno; /* nobody would call again */
	}
	return r;
}

int run_done(struct run *run, int r)
{
	run->state = RUN_DONE;
	if (run->parked) {
		run_kill_parked(run);
	}
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
