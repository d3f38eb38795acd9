/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listener of a cell whose filter reports calls, for every provider that shares the host's
 * kernel: the descriptor in the run's set, the calls as events of the run, and their part of the
 * result. The calls themselves are answered by denials.c.
 */
#ifndef BRIG_NATIVE_CALLS_CALL_LISTENER_H
#define BRIG_NATIVE_CALLS_CALL_LISTENER_H

#include "native/calls/denials.h"
#include "run/run_internal.h"

struct call_listener {
	struct run *run; /* borrowed */
	unsigned event;  /* in the run's set */
	struct denials denials;
	bool execed; /* the exec that starts the program was received */
	bool paused; /* too many answers: calls wait until run->cell_alarm_ns */
};

/* Without a descriptor yet. `event` is the provider's own number of it. */
void call_listener_init(struct call_listener *calls, struct run *run, unsigned event);
/* run->options are new. */
void call_listener_take_options(struct call_listener *calls);
/* Adds the descriptor to the run's set, if there is one. */
int call_listener_add(struct call_listener *calls);
/* After denials_receive(), with its result. 0 or -errno. */
int call_listener_settle(struct call_listener *calls, bool open);
/* The pause is over, and the listener is read again. */
int call_listener_resume(struct call_listener *calls);
/* The next round of a session: its counts start from zero. */
void call_listener_next_round(struct call_listener *calls);
/* The part of the result. */
void call_listener_report(const struct call_listener *calls);
#endif
