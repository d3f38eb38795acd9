/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public functions for runs: see brig.h. A run has one or two phases, the compiler's cell and
 * the program's. One outer epoll fd is used for both, so that the caller's event loop needs no
 * change between them.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "lib/api/api_run.h"
#include "lib/api/audit_log.h"
#include "lib/build/build_cache.h"
#include "lib/guard/value.h"
#include "lib/prepare/choice.h"
#include "lib/remedy.h"
#include "lib/warm/warm.h"
#include "run/run.h"

const char *brig_run_cell(const struct brig_run *run)
{
	const struct phase *phase = run->session ? &run->session->session->phase : &run->phase;

	return phase->run ? phase->run->cell_name : "";
}

int run_watch_phase(struct brig_run *run, struct brig_error *err)
{
	struct epoll_event want = { .events = EPOLLIN };

	if (epoll_ctl(run->epoll, EPOLL_CTL_ADD, run->phase.run->epoll, &want) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot watch the run");
	}
	return 0;
}

/* Removed explicitly: a copy in a process that the host has forked would keep it in the set. */
void run_end_phase(struct brig_run *run)
{
	struct warm *warm = run->context->warm;

	if (run->phase.run) {
		epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->phase.run->epoll, NULL);
	}
	/* A service has other runs: it does not wait for the kernel. */
	if (run->phase.run && warm && run->context->hurried &&
	    warm_reap_run(warm, &run->phase.run, run->phase.prepared)) {
		return;
	}
	phase_done(&run->phase);
}

int run_start_program(struct brig_run *run, struct brig_error *err)
{
	int r = phase_start(&run->phase, run->context, &run->program, &run->options, err);

	run->compiling = false;
	return r < 0 ? r : run_watch_phase(run, err);
}

static int keep_request(struct brig_run *run, const struct brig_request *request,
			struct brig_error *err)
{
	if (request->stdin_size) {
		run->stdin_data = malloc(request->stdin_size);
		if (!run->stdin_data) {
			return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the request");
		}
		memcpy(run->stdin_data, request->stdin_data, request->stdin_size);
	}
	for (const char *const *glob = request->out; glob && *glob; glob++) {
		if (strlist_add(&run->options.own_globs, *glob) < 0) {
			return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the request");
		}
	}
	run->options.globs = (const char *const *)run->options.own_globs.items;
	run->options.id = run->id;
	run->options.changes = request->changes;
	run->options.stdin_data = run->stdin_data;
	run->options.stdin_size = request->stdin_size;
	run->options.stdin_feed = request->stdin_feed;
	run->options.keep_output = !request->discard_output;
	run->value_asked = request->want_value;
	run->options.on_output = request->on_output;
	run->options.user = request->user;
	run->options.terminal = request->terminal;
	run->options.terminal_size =
		(struct terminal_size){ request->terminal_rows, request->terminal_columns };
	return 0;
}

static void choose_value(struct brig_run *run)
{
	run->options.value = run->program.guard.on                                ? VALUE_GUARDED
			     : run->value_asked || prepare_is_wasm(&run->program) ? VALUE_SEALED
										  : VALUE_NONE;
}

static void release_pool(struct brig_run *run)
{
	warm_cell_free(TAKE_PTR(run->cell));
	if (run->pool) {
		prepared_done(&run->program); /* it borrows from the pool */
		warm_pool_unuse(TAKE_PTR(run->pool));
	}
}

/* The program has not begun: it is started as if there were no pool. */
static int start_cold_instead(struct brig_run *run, struct brig_error *err)
{
	run_end_phase(run);
	warm_cell_free(TAKE_PTR(run->cell));
	int r = prepare_cold(&run->program, err);
	return r < 0 ? r : run_start_program(run, err);
}

/* Would a run that starts cold report a value, and one in a cell of the pool not? */
static bool loses_value(const struct warm_pool *pool, const struct brig_request *request)
{
	const struct prepared *base = &pool->base;

	return request->want_value && base->spec.kind != CELL_CLONED &&
	       base->runtime->value_driver[0] && provider_can(base->spec.provider, ABILITY_VALUE);
}

/* NULL: such requests are started cold. */
static struct warm_pool *pool_of(struct brig_context *context, const struct brig_request *request)
{
	struct warm *warm = context->warm;
	struct brig_error unused = { 0 };

	if (!warm || request->start == BRIG_START_COLD || request->terminal) {
		return NULL;
	}
	struct warm_pool *pool = warm_pool_for(warm, request, &unused);
	/* Without a template a waiting cell has no driver that could report a value... */
	if (!pool || loses_value(pool, request)) {
		return NULL;
	}
	/* ...or check the code. */
	if ((pool->base.spec.kind != CELL_CLONED || prepare_is_wasm(&pool->base)) &&
	    (pool->base.guard.on || request->guard || request->check)) {
		return NULL;
	}
	if (!warm_pool_ready(pool)) {
		warm_step(warm, 1);
	}
	return pool;
}

bool context_worth_waiting(struct brig_context *context, const struct brig_request *request)
{
	struct warm_pool *pool = pool_of(context, request);

	return pool && !warm_pool_ready(pool) && warm_pool_making(pool);
}

void context_begin_warm(struct brig_context *context, const struct brig_request *like)
{
	struct brig_error unused = { 0 };
	struct warm_pool *pool = context->warm ? warm_pool_for(context->warm, like, &unused) : NULL;

	if (pool) {
		pool->target = pool->target ? pool->target : 1;
		pool->used_ns = clock_now_ns();
		warm_step(context->warm, 1);
	}
}

/* 1: started from a pool; 0: it must start cold; -errno: the request is invalid. */
static int start_warm(struct brig_run *run, const struct brig_request *request,
		      struct brig_error *err)
{
	struct brig_error unused = { 0 };
	struct warm_pool *pool = pool_of(run->context, request);

	if (!pool || !warm_pool_await(pool, request->start, run->context->hurried)) {
		return 0;
	}
	int r = prepare_request(&pool->base, request, &run->program, err);
	if (r < 0) {
		return r;
	}
	choose_value(run);
	pool->uses++;
	run->pool = pool;
	run->cell = warm_pool_take(pool);
	/* Before the assignment is sent: a failure after it could start the program twice. */
	run->phase.run = TAKE_PTR(run->cell->run);
	r = run_watch_phase(run, &unused);
	if (r == 0) {
		r = phase_assign(&run->phase, run->context, &run->program, &run->options,
				 run->phase.run, &unused);
	}
	if (r < 0) {
		r = start_cold_instead(run, err);
	}
	return r < 0 ? r : 1;
}

static int start_cold(struct brig_run *run, const struct brig_request *request,
		      struct brig_error *err)
{
	int r = prepare(run->context, request, PURPOSE_RUN, &run->program, err);

	if (r < 0) {
		return r;
	}
	choose_value(run);
	if (!run->program.runtime || run->program.runtime->compile.count == 0) {
		return run_start_program(run, err);
	}
	r = prepare(run->context, request, PURPOSE_COMPILE, &run->compile, err);
	if (r < 0) {
		return r;
	}
	r = build_key(&run->compile, run->key);
	if (r == -EFBIG) {
		run->key[0] = '\0';
		return run_start_compiler(run, err);
	}
	if (r < 0) {
		return error_errno(err, BRIG_E_INPUT, -r, "cannot read the input files");
	}
	r = build_cache_load(run->context->cache_dir, run->key, &run->program, err);
	if (r < 0) {
		return r;
	}
	run->build_cached = r == 1;
	return r == 1 ? run_start_program(run, err) : run_start_compiler(run, err);
}

static int start(struct brig_run *run, const struct brig_request *request, struct brig_error *err)
{
	int r = prepare_check_out(request->out, err);

	if (r < 0) {
		return r;
	}
	r = keep_request(run, request, err);
	if (r < 0) {
		return r;
	}
	r = start_warm(run, request, err);
	if (r != 0) {
		return r < 0 ? r : 0;
	}
	return start_cold(run, request, err);
}

static int begin(struct brig_run *run, const struct brig_request *request, struct brig_error *err)
{
	if (run->epoll < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot watch a run");
	}
	int r = prepare_id(request, run->id, err);
	if (r < 0) {
		return r;
	}
	r = audit_log_accepted(run, request, err);
	return r < 0 ? r : start(run, request, err);
}

int brig_run_start(struct brig_context *context, const struct brig_request *request,
		   struct brig_run **ret, struct brig_error *error)
{
	struct brig_request whole = { 0 };
	struct brig_run *run = calloc(1, sizeof(*run));

	if (!run) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory for a run");
	}
	/* An older caller's struct is shorter: the missing fields are zero. */
	memcpy(&whole, request,
	       request->size && request->size < sizeof(whole) ? request->size : sizeof(whole));
	run->context = context;
	run->program = (struct prepared){ .ids = -1, .workdir_fd = -1, .spec = { .devices = -1 } };
	run->compile = run->program;
	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	int r = begin(run, &whole, error);
	if (r < 0) {
		brig_run_free(run);
		return r;
	}
	*ret = run;
	return 0;
}

int brig_run_fd(const struct brig_run *run)
{
	return run->epoll;
}

static void describe(const struct brig_run *run, struct brig_result *result)
{
	const struct prepared *p = &run->program;

	snprintf(result->policy, sizeof(result->policy), "%s@sha256:%s", p->policy->name,
		 p->policy->hash);
	if (p->runtime) {
		snprintf(result->language, sizeof(result->language), "%s", p->runtime->name);
		snprintf(result->runtime, sizeof(result->runtime), "%.31s%s%.31s", p->runtime->name,
			 p->runtime->version[0] ? " " : "", p->runtime->version);
	} else {
		snprintf(result->language, sizeof(result->language), "command");
	}
	remedy_limit(&(struct remedy_for){ p->policy, p->most, run->compiling }, result);
	result->build_cached = run->build_cached;
	result->compile_cpu_ns = run->compile_cpu_ns;
}

/* A cell that was made ahead is removed later: the caller does not wait for it. */
static void reap_phase(struct brig_run *run)
{
	if (!run->cell) {
		run_end_phase(run);
		return;
	}
	epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->phase.run->epoll, NULL);
	run->cell->run = TAKE_PTR(run->phase.run);
	phase_done(&run->phase);
	warm_reap(run->context->warm, TAKE_PTR(run->cell));
}

static int step(struct brig_run *run, struct brig_error *error)
{
	if (run->session) {
		int end = session_run_step(run->session, error);
		run->result = TAKE_PTR(run->session->result);
		return end;
	}
	int r = phase_step(&run->phase, error);
	if (r < 0 && phase_is_warm(&run->phase) && run->phase.run->build_failed &&
	    run->phase.run->facts.ending == ENDING_NONE) {
		return start_cold_instead(run, error);
	}
	if (r == PHASE_RESTARTED) {
		return run_watch_phase(run, error);
	}
	if (r <= 0) {
		return r;
	}
	if (run->compiling) {
		r = run_finish_compiler(run, error);
		if (r <= 0) {
			return r;
		}
	} else {
		run->result = phase_take_result(&run->phase);
		if (run->result->status != BRIG_ERROR) {
			choice_worked(run->context, &run->program.spec);
		}
		run->result->usage.cpu_ns +=
			run->compile_cpu_ns; /* the whole cost of the request */
		if (run->program.guard.on) {
			guard_read(&run->program.guard, run->phase.run->value, run->result);
		}
		if (run->phase.run->value >= 0 && run->value_asked &&
		    run->result->status == BRIG_OK) {
			run->result->value_json = value_read(
				run->phase.run->value, run->program.guard.on ? RUN_GUARD_BYTES : 0,
				&run->result->value_repr);
		}
		reap_phase(run);
		/* Knowledge from a crash or a denied call must not help against the next clone. */
		if (run->pool && !run->pool->retired && run->pool->base.spec.kind == CELL_CLONED &&
		    (run->result->signal || run->result->denied)) {
			warm_pool_distrust(run->pool);
		}
	}
	describe(run, run->result);
	return 1;
}

int brig_run_step(struct brig_run *run, struct brig_error *error)
{
	if (run->end < 0) {
		return error_set(error, BRIG_E_SYSTEM, -run->end, "the run has already failed");
	}
	if (run->end == 0) {
		run->end = step(run, error);
		int r = run->end > 0 ? audit_log_ended(run, run->result, error) : 0;
		run->end = r < 0 ? r : run->end;
	}
	/* The next cell is made while the program runs; its end must not be delayed. */
	if (run->end == 0 && run->context->warm && warm_is_low(run->context->warm)) {
		warm_step(run->context->warm, 1);
	}
	return run->end;
}

int brig_run_wait(struct brig_run *run, struct brig_error *error)
{
	for (;;) {
		int r = brig_run_step(run, error);
		if (r != 0) {
			return r < 0 ? r : 0;
		}
		const struct warm *warm = run->context->warm;
		struct pollfd ready[2] = { { .fd = run->epoll, .events = POLLIN },
					   { .fd = warm ? warm->epoll : -1, .events = POLLIN } };
		poll(ready, warm && warm_is_low(warm) ? 2 : 1, -1);
	}
}

void brig_run_free(struct brig_run *run)
{
	if (!run) {
		return;
	}
	struct brig_error unused = { 0 };
	(void)audit_log_ended(run, NULL, &unused);
	session_run_free(run->session);
	run_end_phase(run);
	release_pool(run);
	prepared_done(&run->program);
	prepared_done(&run->compile);
	strlist_done(&run->globs);
	strlist_done(&run->options.own_globs);
	free(run->stdin_data);
	brig_result_free(run->result);
	close_fd(&run->epoll);
	free(run);
}
