/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that make up a run. */
#ifndef BRIG_RUN_RUN_INTERNAL_H
#define BRIG_RUN_RUN_INTERNAL_H

#include "run/run.h"

enum run_event {
	RUN_EVENT_TIMER,
	RUN_EVENT_STDOUT,
	RUN_EVENT_STDERR,
	RUN_EVENT_STDIN,
	RUN_EVENT_GROUP,
	RUN_EVENT_GATE,
	RUN_EVENT_CELL, /* the first of the provider's own */
	RUN_EVENTS = RUN_EVENT_CELL + 8,
};

/* --- for providers ---------------------------------------------------------------------------- */

/* Adds a descriptor to the run's set; the provider's own from RUN_EVENT_CELL on. */
int run_listen(struct run *run, int fd, unsigned event, uint32_t events);
/* One pipe; `ours` non-blocking. */
int run_pipe(int *ours, int *theirs, bool we_read);
/* Memory for a value. */
int run_make_value(int *ret);
/* The program ended, by the kernel's code and status; cpu_ns is of all that was waited for. */
void run_take_end(struct run *run, int code, int status, uint64_t cpu_ns);
/* A cell without a group has used so much processor time since it was made. */
void run_take_cpu(struct run *run, uint64_t cpu_ns);
/* The last look inside, before systemd removes a scope, which it does as soon as it is empty. */
void run_look_last(struct run *run);
/* The program has begun: one that has to end already is asked to. */
void run_begun(struct run *run);
/* A cell that is made ahead waits for its assignment from here on. */
int run_held(struct run *run);
/* Notes an event, and ends a run that has too many; the second leaves that to run_end_over(). */
void run_note(struct run *run, const struct event *event);
void run_note_only(struct run *run, const struct event *event);
void run_end_over(struct run *run);
/* How long the last process of a cell may take from the kill to its end. */
#define RUN_KILL_PATIENCE_NS 10000000000ull

/* --- within run ------------------------------------------------------------------------------- */

/* A time of grace: run_grace.c. True: it has one, and is not to be killed yet. */
bool run_grace_begin(struct run *run, enum ending why);
/* A look within that time. False: it is none. */
bool run_grace_look(struct run *run, uint64_t now, enum ending due);
/* Limits and receivers of the streams, as the options have them. */
void run_take_output_options(struct run *run);
/* What the program finds as descriptor 3, if anything: such memory, or a session's channel. */
int run_give_value(struct run *run, const struct run_options *options);
/* All but files and changes. */
int run_fill_result(struct run *run);
/* Everything is dead: fills in the result, but for what is collected then. */
int run_finish(struct run *run, struct brig_error *err);
/* Some of the files. 1: all are there, and the run is done; 0: to be called again; -errno. */
int run_collect(struct run *run, struct brig_error *err);
/* That was all of it, or could not be: `r` is what became of it. */
int run_done(struct run *run, int r);
/* A slice of what there is to collect; the loop wakes up if there is more. As run_collect(). */
int run_collect_some(struct run *run);

/* A cell that was there before gets its run: what is noted already was before its time. */
void run_note_start(struct run *run);
void run_note_unnamed(struct run *run, enum brig_event_kind kind, uint64_t count);
/* At its end: limits that were in its way. */
void run_note_limits(struct run *run);

/* The cell's gate: run_gate.c. Without one these do nothing. */
int run_gate_listen(struct run *run);
int run_on_gate(struct run *run);
/* The cell has ended: has the gate told all? Asks for it, and then not more than half a second. */
bool run_gate_over(struct run *run);
void run_gate_fill(struct run *run);
/* What a program could do about a host that it was refused, if that is why it failed. */
void run_gate_remedy(struct brig_result *result);
void run_gate_done(struct run *run);
#endif
