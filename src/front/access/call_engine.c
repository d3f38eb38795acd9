/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine in front of the engine, for calls that are not runs. A few calls of a tenant are with
 * the warden at a time, some more wait here in order, and calls above that are refused. So a client
 * that requests lists as fast as it can takes no room in the warden's queue from other tenants.
 * Runs and forks have turns of their own (admission.h) and pass straight through.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "front/execution/engine_relay.h"

#define WAITING_MAX 256u

/*
 * Long calls are counted separately, so that they do not block the tenant's other calls, such as
 * those that end them.
 */
enum call_pace { CALL_QUICK, CALL_LONG };

static const unsigned under_way_max[] = { [CALL_QUICK] = 4, [CALL_LONG] = 8 };

static const enum call_pace paces[ENGINE_OPS] = {
	[ENGINE_SESSION_OPEN] = CALL_LONG,
	[ENGINE_FILE_LIST] = CALL_LONG,
	[ENGINE_FILE_GET] = CALL_LONG,
	[ENGINE_FILE_PUT] = CALL_LONG,
};

/* The calls of one tenant; it exists as long as there are any. */
struct call_queue {
	struct list_node node;
	char tenant[TOKEN_NAME_MAX + 1];
	enum call_pace pace;
	unsigned under_way, waiting;
	struct list runs; /* that wait */
};

struct call_turns {
	struct relay relay;
	struct list queues;     /* owned */
	struct loop_timer turn; /* a call may have become able to start */
};

struct engine_run {
	struct relay_call call;
	struct call_queue *queue;
	struct list_node node;                       /* in the queue, while it waits */
	struct execution_request *execution_request; /* owned while it waits */
	bool under_way;
};

static struct call_turns *turns_of(struct engine_run *run)
{
	return (struct call_turns *)(void *)relay_of(run);
}

/* --- queues ----------------------------------------------------------------------------------- */

static bool queue_has_turn(const struct call_queue *queue)
{
	return queue->under_way < under_way_max[queue->pace];
}

static struct call_queue *queue_get(struct call_turns *turns, const char *tenant,
				    enum call_pace pace)
{
	LIST_EACH(struct call_queue, queue, &turns->queues, node) {
		if (queue->pace == pace && strcmp(queue->tenant, tenant) == 0) {
			return queue;
		}
	}
	struct call_queue *queue = calloc(1, sizeof(*queue));
	if (!queue) {
		return NULL;
	}
	queue->pace = pace;
	snprintf(queue->tenant, sizeof(queue->tenant), "%s", tenant);
	list_prepend(&turns->queues, &queue->node);
	return queue;
}

static void queue_put(struct call_turns *turns, struct call_queue *queue)
{
	if (queue->under_way || queue->waiting) {
		return;
	}
	list_remove(&turns->queues, &queue->node);
	free(queue);
}

static void queue_join(struct engine_run *run)
{
	list_append(&run->queue->runs, &run->node);
	run->queue->waiting++;
}

static void queue_leave(struct engine_run *run)
{
	list_remove(&run->queue->runs, &run->node);
	run->queue->waiting--;
}

/* --- calls ------------------------------------------------------------------------------------ */

static void run_free(struct engine_run *run)
{
	struct call_turns *turns = turns_of(run);
	struct call_queue *queue = run->queue;

	if (run->execution_request) {
		queue_leave(run);
		execution_request_free(run->execution_request);
	}
	queue->under_way -= run->under_way;
	if (queue->waiting) {
		(void)loop_timer_set(turns->relay.front->loop, &turns->turn, clock_now_ns());
	}
	queue_put(turns, queue);
	relay_call_free(&run->call);
}

static void inner_end(void *user, const char *data, size_t size)
{
	struct engine_run *run = user;

	run->call.inner = NULL;
	run->call.end(run->call.user, data, size);
	run_free(run);
}

static void inner_fail(void *user, const struct brig_error *error)
{
	struct engine_run *run = user;

	run->call.inner = NULL;
	run->call.fail(run->call.user, error);
	run_free(run);
}

static int pass_on(struct engine_run *run, const struct engine_call *call, struct brig_error *error)
{
	struct engine_call inner = *call;

	inner.end = inner_end;
	inner.end_block = run->call.end_block ? relay_end_block : NULL;
	inner.fail = inner_fail;
	inner.user = run;
	run->under_way = true;
	run->queue->under_way++;
	return engine_start(relay_of(run)->inner, &inner, &run->call.inner, error);
}

static void begin_first(struct call_queue *queue)
{
	struct engine_run *run = LIST_FIRST(&queue->runs, struct engine_run, node);
	struct execution_request *execution_request = run->execution_request;
	struct brig_error error = { 0 };

	queue_leave(run);
	run->execution_request = NULL;
	int r = pass_on(run, &execution_request->call, &error);
	execution_request_free(execution_request);
	if (r < 0) {
		inner_fail(run, &error);
	}
}

/* The end of one call may free its queue, and others: start from the beginning each time. */
static struct call_queue *find_ready(const struct call_turns *turns)
{
	LIST_EACH(struct call_queue, queue, &turns->queues, node) {
		if (queue->waiting && queue_has_turn(queue)) {
			return queue;
		}
	}
	return NULL;
}

static void turn(void *user)
{
	struct call_turns *turns = user;
	struct call_queue *queue;

	while ((queue = find_ready(turns)) != NULL) {
		begin_first(queue);
	}
}

static int refuse(struct brig_error *error)
{
	struct brig_error unused = { 0 };
	struct problem problem = { 0 };

	problem_set(&problem, PROBLEM_QUEUE_FULL, "%u of your calls are waiting already",
		    WAITING_MAX);
	problem_to_error(&problem, error ? error : &unused);
	return -EXFULL;
}

static int begin(struct engine_run *run, const struct engine_call *call, struct brig_error *error)
{
	struct call_queue *queue = run->queue;

	if (queue_has_turn(queue) && !queue->waiting) {
		return pass_on(run, call, error);
	}
	if (queue->waiting >= WAITING_MAX) {
		return refuse(error);
	}
	int r = execution_request_copy(call, &run->execution_request);
	if (r < 0) {
		return error_errno(error, BRIG_E_SYSTEM, -r, "the request cannot be copied");
	}
	queue_join(run);
	return 0;
}

static int start(struct engine *engine, const struct engine_call *call, struct engine_run **ret,
		 struct brig_error *error)
{
	struct call_turns *turns = (struct call_turns *)(void *)engine;

	if (call->op == ENGINE_EXECUTE || call->op == ENGINE_SESSION_FORK) {
		return engine_start(turns->relay.inner, call, ret, error);
	}
	struct engine_run *run = relay_call_new(engine, sizeof(*run), call);
	if (run) {
		run->queue = queue_get(turns, call->tenant, paces[call->op]);
	}
	if (!run || !run->queue) {
		if (run) {
			relay_call_free(&run->call);
		}
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory for a call");
	}
	int r = begin(run, call, error);
	if (r < 0) {
		run_free(run);
		return r;
	}
	*ret = run;
	return 0;
}

static void cancel(struct engine_run *run)
{
	struct brig_error error = { 0 };

	if (run->call.inner) {
		engine_cancel(run->call.inner);
	} else if (run->execution_request) {
		error_set(&error, BRIG_E_INPUT, ECANCELED, "the call was cancelled");
		inner_fail(run, &error);
	}
}

static void drop(struct engine_run *run)
{
	if (run->call.inner) {
		engine_forget(run->call.inner);
	}
	run_free(run);
}

static void ignore_end(void *user, const char *data, size_t size)
{
	(void)user;
	(void)data;
	(void)size;
}

static void ignore_fail(void *user, const struct brig_error *error)
{
	(void)user;
	(void)error;
}

/*
 * The warden completes a call whether the caller still waits for it or not. So a call keeps its
 * place until it is answered; otherwise a client that leaves after each call could have any number
 * in progress. Long calls are ended instead.
 */
static void forget(struct engine_run *run)
{
	if (!run->call.inner || run->queue->pace == CALL_LONG || run->call.end_block) {
		drop(run);
		return;
	}
	run->call.end = ignore_end;
	run->call.fail = ignore_fail;
}

static void free_engine(struct engine *engine)
{
	struct call_turns *turns = (struct call_turns *)(void *)engine;

	while (turns->relay.calls) {
		drop((struct engine_run *)(void *)turns->relay.calls);
	}
	loop_timer_clear(&turns->turn);
	relay_free(&turns->relay);
}

int call_engine_new(struct front *front, struct engine *inner, struct engine **ret)
{
	static const struct engine_class class = { .start = start,
						   .cancel = cancel,
						   .forget = forget,
						   .pause = relay_pause,
						   .free = free_engine };
	struct call_turns *turns =
		(struct call_turns *)(void *)relay_new(sizeof(*turns), &class, front, inner);

	if (!turns) {
		return -ENOMEM;
	}
	turns->relay.call_free = run_free;
	turns->turn = (struct loop_timer){ .due = turn, .user = turns };
	*ret = &turns->relay.engine;
	return 0;
}
