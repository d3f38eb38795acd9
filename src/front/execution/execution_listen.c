/* SPDX-License-Identifier: Apache-2.0 */
/* Listeners of an execution: they hear of its output and of its end, and keep it running. */
#include "base/clock.h"
#include "front/execution/execution.h"
#include "front/execution/execution_internal.h"

/*
 * A program chooses how small the parts of its output are, and its tenant how many listen: telling
 * each of them of each part is the product. With so much time between two rounds for each of them,
 * all of it together is a few hundredths of the front's time.
 */
#define LISTENER_NS UINT64_C(2000)
/* So many are told in one go: then others have their turn. */
#define LISTENERS_AT_ONCE 64u

void execution_listen(struct execution *execution, struct execution_listener *listener)
{
	listener->execution = execution;
	listener->link = &execution->listeners;
	listener->next = execution->listeners;
	if (listener->next) {
		listener->next->link = &listener->next;
	}
	execution->listeners = listener;
	execution->listener_count++;
	if (execution->body_size && !execution->body_listener && !execution->body_kept) {
		execution->body_listener = listener;
	}
}

void listener_unlink(struct execution_listener *listener)
{
	struct execution *execution = listener->execution;

	if (execution->tell_next == listener) {
		execution->tell_next = listener->next;
	}
	execution->listener_count--;
	*listener->link = listener->next;
	if (listener->next) {
		listener->next->link = listener->link;
	}
	listener->execution = NULL;
	if (execution->body_listener == listener) {
		execution_keep_body(execution);
	}
}

/* --- output ---------------------------------------------------------------------------------- */

/* They hear what is new by themselves: a listener may leave while it is told. */
static void tell_some(struct execution *execution)
{
	for (unsigned i = 0; execution->tell_next && i < LISTENERS_AT_ONCE; i++) {
		struct execution_listener *listener = execution->tell_next;

		execution->tell_next = listener->next;
		if (listener->output) {
			listener->output(listener->user);
		}
	}
}

static void go_on(void *user)
{
	struct execution *execution = user;

	do {
		tell_some(execution);
	} while (execution->tell_next &&
		 loop_timer_set(execution->front->loop, &execution->tell, clock_now_ns()) < 0);
	if (!execution->tell_next && execution->tell_again) {
		execution_tell_output(execution);
	}
}

static void tell(void *user)
{
	struct execution *execution = user;

	execution->tell_ns = clock_now_ns() + execution->listener_count * LISTENER_NS;
	execution->tell_again = false;
	execution->tell_next = execution->listeners;
	execution->tell.due = go_on;
	go_on(execution);
}

void execution_tell_output(struct execution *execution)
{
	if (!execution->listeners) {
		return;
	}
	if (execution->tell.place) {
		execution->tell_again = true;
		return;
	}
	execution->tell.due = tell;
	execution->tell.user = execution;
	if (loop_timer_set(execution->front->loop, &execution->tell, execution->tell_ns) < 0) {
		tell(execution);
	}
}

/* --- end ------------------------------------------------------------------------------------- */

static void tell_end(void *user)
{
	struct execution *execution = user;

	for (unsigned i = 0; execution->listeners && i < LISTENERS_AT_ONCE; i++) {
		struct execution_listener *listener = execution->listeners;

		listener_unlink(listener);
		listener->ended(listener->user, execution);
	}
	if (!execution->listeners) {
		execution_told(execution);
	} else if (loop_timer_set(execution->front->loop, &execution->tell, clock_now_ns()) < 0) {
		tell_end(execution);
	}
}

void execution_tell_end(struct execution *execution)
{
	loop_timer_clear(&execution->tell);
	execution->tell.due = tell_end;
	execution->tell.user = execution;
	tell_end(execution);
}

void execution_unlisten(struct execution_listener *listener)
{
	struct execution *execution = listener->execution;

	if (!execution) {
		return;
	}
	listener_unlink(listener);
	if (execution->listeners) {
		return;
	}
	execution_pause(execution, false);
	/* With a key the caller will ask again, and wants this very run's answer. */
	if (execution->queued || execution->key) {
		return;
	}
	if (execution->attached_stream && execution->state <= EXECUTION_RUNNING) {
		loop_timer_set(execution->front->loop, &execution->timer,
			       clock_now_ns() + execution->front->resume_ns);
	} else {
		execution_cancel(execution);
	}
}
