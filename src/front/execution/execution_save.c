/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of an execution: recorded first, then reported. A ledger without room is tried again
 * until it has some or the service ends. A client that waits is answered after a while that the run
 * is over and not recorded yet; the result can be read later, from the ledger.
 *
 * The results held meanwhile are bounded: when they are too large together only the fact of the run
 * is kept, and when there are too many of them nothing new is started.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "front/execution/execution_record.h"
#include "role/log.h"

#define MS             UINT64_C(1000000)
#define TRY_NS         (50 * MS)
#define TRY_MAX_NS     (5000 * MS)
#define CLIENT_WAIT_NS (1500 * MS) /* the longest time that clients wait */
#define UNSAVED_MAX    128u
#define UNSAVED_BYTES  ((size_t)64 << 20)
/* between two attempts to start new runs while the ledger fails */
#define LEDGER_PAUSE_NS (1000 * MS)

/* The ledger has it, or never will: all listeners are notified, and the execution ends. */
static void finish(struct execution *execution)
{
	execution_enter(execution, EXECUTION_ENDED);
	execution_notify_end(execution);
}

void execution_notified(struct execution *execution)
{
	struct front *front = execution->front;

	if (execution->state == EXECUTION_ENDED) {
		execution_free(execution);
		front_check_drained(front);
	} else {
		output_log_clear(
			/* readers hold references, and others read the result */
			execution->output);
	}
}

static const char not_recorded[] = "it ran, but its end could not be recorded";

static void unrecorded(struct execution *execution)
{
	problem_set(&execution->problem, PROBLEM_LEDGER_UNAVAILABLE, "%s", not_recorded);
}

/* Only for clients that are notified now: the record itself does not change. */
static void notify_unrecorded(struct execution *execution)
{
	if (execution->state != EXECUTION_EXCUSED) {
		execution_enter(execution, EXECUTION_EXCUSED);
	}
	problem_set(&execution->excuse, PROBLEM_LEDGER_UNAVAILABLE, "%s", not_recorded);
	problem_remedy(&execution->excuse,
		       "recording it will be tried again: GET /v1/executions/%s", execution->id);
	execution_notify_end(execution);
}

static size_t kept_bytes(const struct execution *execution)
{
	const struct block *block = execution->result.block;

	return execution->failure.size + (block ? block->size : 0);
}

void unsaved_forget(struct execution *execution)
{
	struct front *front = execution->front;

	if (execution->save_since_ns) {
		front->unsaved--;
		front->unsaved_bytes -= kept_bytes(execution);
		execution->save_since_ns = 0;
	}
}

/* Only the fact of the run is kept: it is short, and there is room for it. */
static void keep_fact_only(struct execution *execution)
{
	role_log_often(ROLE_ERROR, "ledger.result-dropped", "", "id=%s bytes=%zu", execution->id,
		       kept_bytes(execution));
	problem_set(&execution->problem, PROBLEM_LEDGER_UNAVAILABLE,
		    "it ran, but its result could not be held until it could be recorded");
	record_failure(execution);
}

static void keep(struct execution *execution, const struct brig_error *error)
{
	struct front *front = execution->front;

	role_log_often(ROLE_ERROR, "ledger.ended", error->message, "id=%s why=%s", execution->id,
		       error->message);
	if (front->unsaved_bytes + kept_bytes(execution) > UNSAVED_BYTES) {
		keep_fact_only(execution);
	}
	execution->save_since_ns = clock_now_ns();
	execution->save_wait_ns = TRY_NS;
	front->unsaved++;
	front->unsaved_bytes += kept_bytes(execution);
	execution_enter(execution, EXECUTION_UNSAVED);
}

static void saved(void *user, const struct brig_error *error, const char *data, size_t size);
static void settle(struct execution *execution, const struct brig_error *error);

static void begun_again(void *user, const struct brig_error *error, const char *data, size_t size)
{
	(void)data;
	(void)size;
	record_ledger_answer(user, error);
}

/* The beginning, if the ledger had no room for it, and the end behind it. */
static int send_end(struct execution *execution)
{
	struct front *front = execution->front;
	int r = execution->begin_again ? record_begin(execution, begun_again, front) : 0;

	if (r < 0) {
		return r;
	}
	execution->begin_again = false;
	return execution->result.block
		       ? ledger_ended_block(front->ledger, execution->id, execution->result.block,
					    saved, execution)
		       : ledger_ended(front->ledger, execution->id, execution->failure.data,
				      execution->failure.size, saved, execution);
}

static void try_again(void *user)
{
	struct execution *execution = user;
	struct brig_error failure = { .code = BRIG_E_SYSTEM, .errnum = ENOBUFS };
	int r = send_end(execution);

	if (r < 0) {
		/* A shortage may be over later; a wrong record stays wrong. */
		bool later = r == -ENOBUFS || r == -ENOMEM || r == -EMFILE || r == -ENFILE;
		failure.code = later ? BRIG_E_SYSTEM : BRIG_E_INPUT;
		failure.errnum = -r;
		settle(execution, &failure);
	}
}

/* False: trying again is of no use, or there is no time for it. */
static bool save_later(struct execution *execution, const struct brig_error *error)
{
	struct front *front = execution->front;
	uint64_t now = clock_now_ns();

	if (error->code != BRIG_E_SYSTEM || front->draining) {
		return false;
	}
	if (execution->state == EXECUTION_SAVING) {
		keep(execution, error);
	} else if (now - execution->save_since_ns > CLIENT_WAIT_NS) {
		notify_unrecorded(execution);
	}
	execution->timer.due = try_again;
	if (loop_timer_set(front->loop, &execution->timer, now + execution->save_wait_ns) < 0) {
		return false;
	}
	execution->save_wait_ns =
		2 * execution->save_wait_ns < TRY_MAX_NS ? 2 * execution->save_wait_ns : TRY_MAX_NS;
	return true;
}

static void settle(struct execution *execution, const struct brig_error *error)
{
	if (error && save_later(execution, error)) {
		return;
	}
	if (error) {
		role_log_often(ROLE_ERROR, "ledger.ended", error->message, "id=%s why=%s",
			       execution->id, error->message);
		unrecorded(execution);
	} else if (execution->state != EXECUTION_SAVING) {
		role_log_often(
			ROLE_NOTICE, "ledger.ended-late", "", "id=%s after_ms=%llu", execution->id,
			(unsigned long long)((clock_now_ns() - execution->save_since_ns) / MS));
	}
	finish(execution);
}

/* The ledger has answered. */
static void saved(void *user, const struct brig_error *error, const char *data, size_t size)
{
	struct execution *execution = user;

	(void)data;
	(void)size;
	record_ledger_answer(execution->front, error);
	if (error && record_unbegun(execution, error)) {
		struct brig_error failure = *error;

		/* It ran: the ledger must have both. */
		execution->begin_again = true;
		failure.code = BRIG_E_SYSTEM;
		settle(execution, &failure);
		return;
	}
	settle(execution, error);
}

void execution_save(struct execution *execution)
{
	bool recorded = execution_recorded(execution);

	execution_enter(execution, EXECUTION_SAVING);
	loop_timer_clear(&execution->timer);
	if (execution_failed(execution)) {
		record_failure(execution);
	}
	if (!recorded) {
		finish(execution);
	} else {
		try_again(execution);
	}
}

void execution_save_now(struct execution *execution)
{
	if (execution->save_since_ns && execution->timer.place) {
		(void)loop_timer_set(execution->front->loop, &execution->timer, 0);
	}
}

void record_ledger_answer(struct front *front, const struct brig_error *error)
{
	if (!error) {
		front->ledger_failed_ns = 0;
	} else if (error->code == BRIG_E_SYSTEM) {
		front->ledger_failed_ns = clock_now_ns();
	}
}

int record_room(struct front *front, struct problem *problem)
{
	uint64_t now = clock_now_ns();
	bool failing = front->ledger_failed_ns && now - front->ledger_failed_ns < LEDGER_PAUSE_NS;

	if (!failing && front->unsaved < UNSAVED_MAX) {
		/* One is let through from time to time, to see whether it can be recorded again. */
		front->ledger_failed_ns = front->ledger_failed_ns ? now : 0;
		return 0;
	}
	problem_set(problem, PROBLEM_LEDGER_UNAVAILABLE, "new runs could not be recorded");
	problem_remedy(problem, "the operator must make room on the disk of the ledger");
	problem->retry_s = 2;
	return -ENOSPC;
}
