/* SPDX-License-Identifier: Apache-2.0 */
/* Phases: see phase.h. */
#include "lib/prepare/phase.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The policy's bounds on a program's files do not apply to the output of its compiler. */
static void bound_files(const struct prepared *p, struct collect_options *collect)
{
	bool compiles = p->purpose == PURPOSE_COMPILE;

	collect->bytes_max = compiles ? p->spec.limits.disk_bytes : p->policy->files_out_bytes;
	collect->count_max = compiles ? COMPILED_FILES_MAX : p->policy->files_out_count;
}

static struct run_options run_options_of(const struct phase *phase)
{
	const struct prepared *p = phase->prepared;
	const struct phase_options *options = &phase->options;

	struct run_options run = {
		.id = options->id,
		.spec = &p->spec,
		.groups = phase->context->groups,
		.watchdog = phase->context->watchdog,
		.checked_files = &phase->context->checked_files,
		.filter = p->policy->filter.count ? &p->policy->filter : NULL,
		.cut_output = p->policy->on_output_limit == OUTPUT_CUT,
		.end_after = p->policy->monitor.end_after,
		.collect = {
			.globs = options->globs,
			.changes = options->changes,
			.inputs = p->inputs,
			.inputs_count = p->inputs_count,
		},
		.stdin_data = options->stdin_data,
		.stdin_size = options->stdin_size,
		.stdin_feed = options->stdin_feed,
		.keep_output = options->keep_output,
		.on_output = options->on_output,
		.user = options->user,
		.terminal = options->terminal,
		.terminal_size = options->terminal_size,
		.measure = options->measure,
		.value = options->value,
		.session = options->session,
		.watch = p->watch,
		.monitor = p->monitor.on ? &p->monitor : NULL,
	};
	bound_files(p, &run.collect);
	return run;
}

/*
 * A cell that is made for a run has the run's id as its name, so that its control group can be
 * found. The group of an earlier cell may still exist: each further cell has a name of its own.
 */
static const char *name_cell(struct phase *phase, char name[RUN_CELL_NAME_SIZE])
{
	const struct phase_options *options = &phase->options;
	char number[16] = "";

	if (phase->cells++) {
		snprintf(number, sizeof(number), ".%u", phase->cells);
	}
	if (!options->id) {
		return NULL;
	}
	snprintf(name, RUN_CELL_NAME_SIZE, "%s%s%s%s", options->id, options->part ? "." : "",
		 options->part ? options->part : "", number);
	return name;
}

static int start_run(struct phase *phase, struct gate_process *gate, struct brig_error *err)
{
	struct prepared *p = phase->prepared;
	struct run_options run = run_options_of(phase);
	char name[RUN_CELL_NAME_SIZE];
	int r = prepare_trees(phase->context, p, err);

	run.cell = name_cell(phase, name);
	if (r < 0) {
		return r;
	}
	if (p->gate) {
		r = gate_start(phase->context, p, gate, err);
		run.gate = gate;
	}
	if (r < 0) {
		return r;
	}
	r = run_start(&run, &phase->run, err);
	if (r < 0) {
		return r;
	}
	watch_used_before(&phase->run->watch, phase->options.used_before_ns);
	return 0;
}

static int start_once(struct phase *phase, struct brig_error *err)
{
	struct prepared *p = phase->prepared;
	struct gate_process gate = { .line = -1, .pidfd = -1 };
	int r = start_run(phase, &gate, err);

	/* The cell has one end now, and the run the other; anything left here is from a failure. */
	if (p->gate) {
		close_fd(&p->spec.gate);
		gate_stop(&gate);
	}
	return r;
}

/* The error means that the host lacks the layer. A shortage, or a signal, removes no layer. */
static bool means_missing(int errnum)
{
	static const int missing[] = { ENOSYS, EOPNOTSUPP, EINVAL, EPERM, EACCES, ENODEV, EROFS };

	for (size_t i = 0; i < ARRAY_SIZE(missing); i++) {
		if (errnum == missing[i]) {
			return true;
		}
	}
	return false;
}

/* 0: built again without the layer; -errno: it stays an error. */
static int start_without(struct phase *phase, int r, struct brig_error *err)
{
	const struct provider *provider = phase->prepared->spec.provider;
	int layer = err && provider->layer_of ? provider->layer_of(err->step) : -1;
	struct brig_error refusal = { 0 };

	if (layer < 0 || !means_missing(-r) || !(phase->prepared->spec.layers & LAYER_BIT(layer))) {
		return r;
	}
	if (prepare_without(phase->prepared, (enum layer)layer, &refusal) < 0) {
		error_wrap(&refusal, "%s: ", err->message);
		*err = refusal;
		return r;
	}
	run_free(phase->run);
	phase->run = NULL;
	return start_once(phase, err);
}

int phase_start(struct phase *phase, struct brig_context *context, struct prepared *prepared,
		const struct phase_options *options, struct brig_error *err)
{
	struct brig_error own = { 0 };

	*phase = (struct phase){ .context = context, .prepared = prepared, .options = *options };
	int r = start_once(phase, &own);
	for (int tries = 0; r < 0 && tries < LAYER_COUNT; tries++) {
		layer_set before = prepared->spec.layers;
		r = start_without(phase, r, &own);
		if (prepared->spec.layers == before) {
			break;
		}
	}
	/* Only after the cell has started: a caller is waiting for it. */
	context_sweep(context, prepared->spec.provider);
	if (r < 0 && err) {
		*err = own;
	}
	return r;
}

int phase_assign(struct phase *phase, struct brig_context *context, struct prepared *prepared,
		 const struct phase_options *options, struct run *held, struct brig_error *err)
{
	*phase = (struct phase){
		.context = context, .prepared = prepared, .options = *options, .run = held
	};
	struct run_options run = run_options_of(phase);
	return run_assign(held, &run, err);
}

int phase_step(struct phase *phase, struct brig_error *err)
{
	struct brig_error own = { 0 };
	int r = run_step(phase->run, &own);

	if (r >= 0) {
		return r;
	}
	if (!phase_is_warm(phase) && phase->run->build_failed &&
	    start_without(phase, r, &own) == 0) {
		return PHASE_RESTARTED;
	}
	if (err) {
		*err = own;
	}
	return r;
}

struct brig_result *phase_take_result(struct phase *phase)
{
	return TAKE_PTR(phase->run->result);
}

void phase_done(struct phase *phase)
{
	run_free(phase->run);
	phase->run = NULL;
}
