/* SPDX-License-Identifier: Apache-2.0 */
/* The engine in this process: receives calls, sends answers. See engine_local.h. */
#include "engine/local/engine_local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sysinfo.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "lib/api/result_writer.h"
#include "lib/context.h"
#include "role/message.h"

#define SECOND_NS 1000000000ull
#define TIDY_NS   20000000ull /* processes that were killed need a moment */

static local_start *const starters[ENGINE_OPS] = {
	[ENGINE_EXECUTE] = local_execute,
	[ENGINE_SESSION_OPEN] = local_session_open,
	[ENGINE_SESSION_GET] = local_session_get,
	[ENGINE_SESSION_LIST] = local_session_list,
	[ENGINE_SESSION_CLOSE] = local_session_close,
	[ENGINE_SESSION_INTERRUPT] = local_session_interrupt,
	[ENGINE_SESSION_FORK] = local_session_fork,
	[ENGINE_FILE_LIST] = local_file_call,
	[ENGINE_FILE_GET] = local_file_call,
	[ENGINE_FILE_PUT] = local_file_call,
	[ENGINE_FILE_DELETE] = local_file_call,
	[ENGINE_RUNTIMES] = local_runtimes,
	[ENGINE_POLICIES] = local_policies,
	[ENGINE_POLICY_CHECK] = local_policy_check,
	[ENGINE_SESSION_ENDED] = local_session_ended,
	[ENGINE_STATS] = local_stats,
};

static struct local *local_of(struct engine *engine)
{
	return (struct local *)(void *)engine;
}

static void tidy(void *user)
{
	struct local *local = user;

	if (cgroup_manager_tidy(local->context->groups) && !local->tidy.place) {
		(void)loop_timer_set(local->loop, &local->tidy, clock_now_ns() + TIDY_NS);
	}
}

static void free_run(struct engine_run *run)
{
	struct local *local = run->local;

	local_turn_drop(run);
	local_turn_left(run, 0);
	loop_remove(run->source);
	loop_timer_clear(&run->answered);
	local_wait_drop(run);
	local_fork_drop(run);
	local_file_drop(run);
	close_fd(&run->file_block);
	if (run->local->watcher == run) {
		run->local->watcher = NULL;
	}
	if (run->session && run->session->current == run) {
		local_session_occupy(run->session, NULL);
	}
	if (run->session && run->session->opener == run) {
		run->session->opener = NULL;
	}
	brig_run_free(run->run);
	result_writer_free(run->writer);
	brig_result_free(run->written);
	block_unref(run->block);
	buf_done(&run->answer);
	local_id_drop(run);
	list_remove(&local->runs, &run->node);
	free(run);
	tidy(local);
}

/* As a block, if the caller accepts one; else as bytes. */
static void finish_block(struct engine_run *run)
{
	struct brig_error error = { 0 };
	void *data = NULL;
	size_t size = 0;

	if (run->end_block) {
		run->end_block(run->user, run->file_block);
		return;
	}
	int r = message_block_map(run->file_block, SIZE_MAX, &data, &size);
	if (r < 0) {
		error_errno(&error, BRIG_E_SYSTEM, -r, "the file cannot be sent");
		run->fail(run->user, &error);
		return;
	}
	run->end(run->user, data ? data : "", size);
	message_block_unmap(data, size);
}

void local_finish(struct engine_run *run)
{
	if (run->state != CALL_ANSWERED && run->state != CALL_FAILED) {
		local_call_enter(run, CALL_ANSWERED);
	}
	if (run->state == CALL_ANSWERED && run->answer.failed) {
		local_call_enter(run, CALL_FAILED);
		error_set(&run->error, BRIG_E_SYSTEM, ENOMEM, "no memory for the answer");
	}
	if (run->forgotten) {
	} else if (run->state == CALL_FAILED) {
		run->fail(run->user, &run->error);
	} else if (run->block && run->result) {
		run->result(run->user, run->block);
	} else if (run->block) {
		size_t head = sizeof(struct outcome);
		run->end(run->user, run->block->data + head, run->block->size - head);
	} else if (run->file_block >= 0) {
		finish_block(run);
	} else {
		run->end(run->user, run->answer.data ? run->answer.data : "", run->answer.size);
	}
	free_run(run);
}

static void answer(void *user)
{
	local_finish(user);
}

int local_finish_soon(struct engine_run *run)
{
	if (run->state != CALL_FAILED) {
		local_call_enter(run, CALL_ANSWERED);
	}
	run->answered.due = answer;
	run->answered.user = run;
	uint64_t at_ns = local_call_charge(run);
	return loop_timer_set(run->local->loop, &run->answered, at_ns ? at_ns : clock_now_ns());
}

static int start(struct engine *engine, const struct engine_call *call, struct engine_run **ret,
		 struct brig_error *error)
{
	struct local *local = local_of(engine);

	if ((unsigned)call->op >= ENGINE_OPS || !starters[call->op] || !call->tenant) {
		return error_set(error, BRIG_E_INPUT, EINVAL, "unknown call");
	}
	int r = local_room(call, error);
	if (r < 0) {
		return r;
	}
	struct engine_run *run = calloc(1, sizeof(*run));
	if (!run) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory for a call");
	}
	*run = (struct engine_run){
		.unseen = call->unseen,
		.head = { engine },
		.local = local,
		.op = call->op,
		.stream = call->stream && call->output,
		.output = call->output,
		.end = call->end,
		.result = call->result,
		.end_block = call->end_block,
		.file_block = -1,
		.fail = call->fail,
		.user = call->user,
	};
	snprintf(run->tenant, sizeof(run->tenant), "%s", call->tenant);
	snprintf(run->caller, sizeof(run->caller), "%s", call->caller ? call->caller : "");
	run->share = shares_of(&local->shares, run->tenant);
	list_prepend(&local->runs, &run->node);
	/* The cost of a run is counted step by step, while it runs. */
	run->call_ns = call->op == ENGINE_EXECUTE ? 0 : share_clock_ns();
	r = local_id_take(run, call, error);
	if (r == 0) {
		r = starters[call->op](local, call, run, error);
	}
	(void)local_call_charge(run);
	if (r < 0) {
		free_run(run);
		return r;
	}
	if (run->state == CALL_NEW) {
		local_call_enter(run, CALL_WORKING);
	}
	*ret = run;
	return 0;
}

/* It has done all that it will do; its caller is told soon. */
static void end_cancelled(struct engine_run *run, const char *what)
{
	local_call_enter(run, CALL_FAILED);
	error_set(&run->error, BRIG_E_INPUT, ECANCELED, "the %s was cancelled", what);
	(void)local_finish_soon(run);
}

static void cancel(struct engine_run *run)
{
	/* It began and ended: so there is a result that reports it. */
	if (run->wait && !local_wait_over(run)) {
		return;
	}
	if (run->local->watcher == run) {
		local_watcher_end(run->local);
	} else if (run->file) {
		local_file_drop(run);
		end_cancelled(run, "call");
	} else if (run->fork) {
		local_fork_drop(run);
		end_cancelled(run, "fork");
	} else if (run->run) {
		brig_run_cancel(run->run);
	} else if (run->session && run->session->opener == run) {
		brig_session_end(run->session->session, "its opening was cancelled");
	}
}

/* It continues until its cell is gone; nothing waits for that. */
static void forget(struct engine_run *run)
{
	/* It has ended, and its cost would not be reported otherwise. */
	if (run->writer && !run->unseen) {
		local_bill(run->local, run->tenant, run->caller, run->written->usage.cpu_ns);
	}
	if (run->wait || run->fork || run->file || run->writer || run->local->watcher == run) {
		free_run(run);
		return;
	}
	run->forgotten = true;
	if (run->run) {
		brig_run_pause(run->run, false);
	}
	cancel(run);
}

static void hold(struct engine_run *run, bool paused)
{
	run->paused = paused;
	if (run->run) {
		brig_run_pause(run->run, paused);
	}
}

static void hold_files(struct engine *engine, bool held)
{
	struct local *local = local_of(engine);

	local->files_held = held;
	local_files_go_on(local);
}

static void free_engine(struct engine *engine)
{
	struct local *local = local_of(engine);
	struct engine_run *run;

	/* Forks have calls of their own in the list. */
	LIST_EACH(struct engine_run, it, &local->runs, node) {
		local_fork_drop(it);
	}
	while ((run = LIST_FIRST(&local->runs, struct engine_run, node))) {
		free_run(run);
	}
	local_sessions_free(local);
	local_bills_free(local);
	shares_free(&local->shares);
	loop_remove(local->pools);
	loop_timer_clear(&local->tidy);
	loop_timer_clear(&local->look);
	loop_timer_clear(&local->files_turn);
	loop_timer_clear(&local->forks_turn);
	brig_context_free(local->context);
	free(local);
}

static const struct engine_class local_class = {
	.start = start,
	.cancel = cancel,
	.forget = forget,
	.pause = hold,
	.hold = hold_files,
	.free = free_engine,
};

static void step_pools(void *user, uint32_t events)
{
	struct local *local = user;

	(void)events;
	brig_context_step(local->context);
	tidy(local);
	local_wait_look(local);
}

void engine_options_complete(struct engine_options *options)
{
	options->sessions_max = options->sessions_max ? options->sessions_max : 256;
	options->sessions_per_tenant =
		options->sessions_per_tenant ? options->sessions_per_tenant : 32;
	options->idle_ns = options->idle_ns ? options->idle_ns : 600 * SECOND_NS;
	options->idle_max_ns = options->idle_max_ns ? options->idle_max_ns : 3600 * SECOND_NS;
	options->life_max_ns = options->life_max_ns ? options->life_max_ns : 86400 * SECOND_NS;
	if (options->idle_ns > options->idle_max_ns) {
		options->idle_ns = options->idle_max_ns;
	}
}

static int open_context(struct local *local, const struct engine_options *options,
			struct brig_error *error)
{
	int r = brig_context_new(&options->context, &local->context, error);

	if (r < 0) {
		return r;
	}
	r = context_hurry(local->context, error);
	context_on_cells(local->context, local_wait_look_soon, local);
	if (options->broker) {
		context_use_broker(local->context, options->broker);
	}
	if (r < 0 || brig_context_fd(local->context) < 0) {
		return r;
	}
	r = loop_add(local->loop, brig_context_fd(local->context), EPOLLIN, step_pools, local,
		     &local->pools);
	return r < 0 ? error_errno(error, BRIG_E_SYSTEM, -r, "cannot watch the pools") : 0;
}

int engine_local_new(struct loop *loop, const struct engine_options *options, struct engine **ret,
		     struct brig_error *error)
{
	struct local *local = calloc(1, sizeof(*local));

	if (!local) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory for an engine");
	}
	local->engine.class = &local_class;
	local->loop = loop;
	local->patience_ns = LOCAL_PATIENCE_NS;
	local->shares.cores = (unsigned)get_nprocs();
	local->tidy = (struct loop_timer){ .due = tidy, .user = local };
	local->options = *options;
	engine_options_complete(&local->options);
	int r = open_context(local, options, error);
	/* The caller owns its pointers. */
	local->options.context = (struct brig_context_options){ 0 };
	if (r < 0) {
		free_engine(&local->engine);
		return r;
	}
	*ret = &local->engine;
	return 0;
}

void engine_local_warm(struct engine *engine, const char *tenant, const struct brig_request *like)
{
	struct brig_request request = *like;

	request.size = sizeof(request);
	request.tenant = tenant;
	request.code = "0"; /* pools are found by the code to run */
	request.code_size = 1;
	context_begin_warm(local_of(engine)->context, &request);
}
