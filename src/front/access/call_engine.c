/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine before the engine: calls that are no runs. A few of a tenant's are with the warden at a
 * time, some more wait here in their order, and what is above that is refused. So whoever asks for
 * lists as fast as it can takes no place in the warden's queue from anybody else. Runs and forks
 * have turns of their own (admission.h) and go straight through.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "front/execution/relay.h"

#define WAITING_MAX 256u

/* What takes long does not keep the tenant's other calls waiting, such as those that end it. */
enum call_pace { CALL_QUICK, CALL_LONG };

static const unsigned under_way_max[] = { [CALL_QUICK] = 4, [CALL_LONG] = 8 };

static const enum call_pace paces[ENGINE_OPS] = {
	[ENGINE_SESSION_OPEN] = CALL_LONG,
	[ENGINE_FILE_LIST] = CALL_LONG,
	[ENGINE_FILE_GET] = CALL_LONG,
	[ENGINE_FILE_PUT] = CALL_LONG,
};

/* A tenant's: there as long as it has calls. */
struct call_line {
	struct call_line *next;
	char tenant[TOKEN_NAME_MAX + 1];
	enum call_pace pace;
	unsigned under_way, waiting;
	struct engine_run *first; /* of those that wait */
};

struct call_turns {
	struct relay relay;
	struct call_line *lines; /* owned */
	struct loop_timer turn;  /* somebody may begin who could not before */
};

struct engine_run {
	struct relay_call call;
	struct call_line *line;
	struct engine_run *behind; /* who waits next */
	struct ask *ask;           /* owned: it waits */
	bool under_way;
	void (*end_block)(void *user, int block);
};

static struct call_turns *turns_of(struct engine_run *run)
{
	return (struct call_turns *)(void *)relay_of(run);
}

/* --- lines ------------------------------------------------------------------------------------ */

static bool line_has_turn(const struct call_line *line)
{
	return line->under_way < under_way_max[line->pace];
}

static struct call_line *line_get(struct call_turns *turns, const char *tenant, enum call_pace pace)
{
	struct call_line *line = turns->lines;

	while (line && (line->pace != pace || strcmp(line->tenant, tenant) != 0)) {
		line = line->next;
	}
	if (!line && (line = calloc(1, sizeof(*line)))) {
		line->pace = pace;
		snprintf(line->tenant, sizeof(line->tenant), "%s", tenant);
		line->next = turns->lines;
		turns->lines = line;
	}
	return line;
}

static void line_put(struct call_turns *turns, struct call_line *line)
{
	struct call_line **at = &turns->lines;

	if (line->under_way || line->waiting) {
		return;
	}
	while (*at != line) {
		at = &(*at)->next;
	}
	*at = line->next;
	free(line);
}

static void line_join(struct engine_run *run)
{
	struct engine_run **at = &run->line->first;

	while (*at) {
		at = &(*at)->behind;
	}
	*at = run;
	run->line->waiting++;
}

static void line_leave(struct engine_run *run)
{
	struct engine_run **at = &run->line->first;

	while (*at != run) {
		at = &(*at)->behind;
	}
	*at = run->behind;
	run->behind = NULL;
	run->line->waiting--;
}

/* --- calls ------------------------------------------------------------------------------------ */

static void run_free(struct engine_run *run)
{
	struct call_turns *turns = turns_of(run);
	struct call_line *line = run->line;

	if (run->ask) {
		line_leave(run);
		ask_free(run->ask);
	}
	line->under_way -= run->under_way;
	if (line->first) {
		(void)loop_timer_set(turns->relay.front->loop, &turns->turn, clock_now_ns());
	}
	line_put(turns, line);
	relay_call_free(&run->call);
}

static void inner_end(void *user, const char *data, size_t size)
{
	struct engine_run *run = user;

	run->call.inner = NULL;
	run->call.end(run->call.user, data, size);
	run_free(run);
}

static void inner_end_block(void *user, int block)
{
	struct engine_run *run = user;

	run->call.inner = NULL;
	run->end_block(run->call.user, block);
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
	inner.end_block = run->end_block ? inner_end_block : NULL;
	inner.fail = inner_fail;
	inner.user = run;
	run->under_way = true;
	run->line->under_way++;
	return engine_start(relay_of(run)->inner, &inner, &run->call.inner, error);
}

static void begin_first(struct call_line *line)
{
	struct engine_run *run = line->first;
	struct ask *ask = run->ask;
	struct brig_error error = { 0 };

	line_leave(run);
	run->ask = NULL;
	int r = pass_on(run, &ask->call, &error);
	ask_free(ask);
	if (r < 0) {
		inner_fail(run, &error);
	}
}

/* The end of one may be the end of its line, and of others: each time from the beginning. */
static struct call_line *find_ready(const struct call_turns *turns)
{
	for (struct call_line *line = turns->lines; line; line = line->next) {
		if (line->first && line_has_turn(line)) {
			return line;
		}
	}
	return NULL;
}

static void turn(void *user)
{
	struct call_turns *turns = user;
	struct call_line *line;

	while ((line = find_ready(turns)) != NULL) {
		begin_first(line);
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
	struct call_line *line = run->line;

	if (line_has_turn(line) && !line->first) {
		return pass_on(run, call, error);
	}
	if (line->waiting >= WAITING_MAX) {
		return refuse(error);
	}
	int r = ask_copy(call, &run->ask);
	if (r < 0) {
		return error_errno(error, BRIG_E_SYSTEM, -r, "the request cannot be copied");
	}
	line_join(run);
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
		run->end_block = call->end_block;
		run->line = line_get(turns, call->tenant, paces[call->op]);
	}
	if (!run || !run->line) {
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
	} else if (run->ask) {
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
 * The warden does what it was asked for, whether somebody waits for it or not: a call keeps its
 * place until it is answered, or who asks and leaves would have as many as it can send. What takes
 * long is ended instead.
 */
static void forget(struct engine_run *run)
{
	if (!run->call.inner || run->line->pace == CALL_LONG || run->end_block) {
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
	turns->turn = (struct loop_timer){ .due = turn, .user = turns };
	*ret = &turns->relay.engine;
	return 0;
}
