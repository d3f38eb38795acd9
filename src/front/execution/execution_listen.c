/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners of an execution: they are notified of its output and of its end, and keep it running.
 */
#include "base/clock.h"
#include "front/execution/execution.h"
#include "front/execution/execution_internal.h"

/*
 * A program chooses how small the parts of its output are, and its tenant how many listeners there
 * are: notifying each listener of each part costs the product. With this much time between two
 * rounds for each listener, the total is a few hundredths of the front's time.
 */
#define LISTENER_NS UINT64_C(2000)
/* So many are notified in one go; then other work has its turn. */
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

	if (execution->notify_next == listener) {
		execution->notify_next = listener->next;
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

/* Listeners read the new output themselves: a listener may leave while it is notified. */
static void notify_some(struct execution *execution)
{
	for (unsigned i = 0; execution->notify_next && i < LISTENERS_AT_ONCE; i++) {
		struct execution_listener *listener = execution->notify_next;

		execution->notify_next = listener->next;
		if (listener->output) {
			listener->output(listener->user);
		}
	}
}

static void go_on(void *user)
{
	struct execution *execution = user;

	do {
		notify_some(execution);
	} while (execution->notify_next &&
		 loop_timer_set(execution->front->loop, &execution->notify, clock_now_ns()) < 0);
	if (!execution->notify_next && execution->notify_again) {
		execution_notify_output(execution);
	}
}

static void notify(void *user)
{
	struct execution *execution = user;

	execution->notify_ns = clock_now_ns() + execution->listener_count * LISTENER_NS;
	execution->notify_again = false;
	execution->notify_next = execution->listeners;
	execution->notify.due = go_on;
	go_on(execution);
}

void execution_notify_output(struct execution *execution)
{
	if (!execution->listeners) {
		return;
	}
	if (execution->notify.place) {
		execution->notify_again = true;
		return;
	}
	execution->notify.due = notify;
	execution->notify.user = execution;
	if (loop_timer_set(execution->front->loop, &execution->notify, execution->notify_ns) < 0) {
		notify(execution);
	}
}

/* --- end ------------------------------------------------------------------------------------- */

static void notify_end(void *user)
{
	struct execution *execution = user;

	for (unsigned i = 0; execution->listeners && i < LISTENERS_AT_ONCE; i++) {
		struct execution_listener *listener = execution->listeners;

		listener_unlink(listener);
		listener->ended(listener->user, execution);
	}
	if (!execution->listeners) {
		execution_notified(execution);
	} else if (loop_timer_set(execution->front->loop, &execution->notify, clock_now_ns()) < 0) {
		notify_end(execution);
	}
}

void execution_notify_end(struct execution *execution)
{
	loop_timer_clear(&execution->notify);
	execution->notify.due = notify_end;
	execution->notify.user = execution;
	notify_end(execution);
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
	/* With a key the caller will repeat the request, and wants the answer of this very run. */
	if (execution->kind == EXECUTION_QUEUED || execution->key) {
		return;
	}
	bool over = execution_in(execution,
				 STATE_BIT(EXECUTION_SAVING) | STATE_BIT(EXECUTION_UNSAVED) |
					 STATE_BIT(EXECUTION_EXCUSED) | STATE_BIT(EXECUTION_ENDED));
	if (execution->kind == EXECUTION_RESUMABLE && !over) {
		loop_timer_set(execution->front->loop, &execution->timer,
			       clock_now_ns() + execution->front->resume_ns);
	} else {
		execution_cancel(execution);
	}
}
