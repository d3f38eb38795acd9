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
	RUN_EVENT_CELL, /* the first of the provider's */
	RUN_EVENTS = RUN_EVENT_CELL + 12,
};

/* --- for providers ---------------------------------------------------------------------------- */

/* The only ways to change run->state and run->life: run_state.c has the allowed changes. */
void run_enter(struct run *run, enum run_state state);
void run_enter_life(struct run *run, enum cell_life life);
/* The cell has ended; this may be called more than once. */
void run_cell_gone(struct run *run);

/* Adds a descriptor to the run's set; the provider's events start at RUN_EVENT_CELL. */
int run_listen(struct run *run, int fd, unsigned event, uint32_t events);
/* One pipe; `ours` non-blocking. */
int run_pipe(int *ours, int *theirs, bool we_read);
/* Makes the memory file for a value. */
int run_make_value(int *ret);
/*
 * The program ended with this code and status of the kernel's; cpu_ns is that of all processes that
 * were waited for.
 */
void run_take_end(struct run *run, int code, int status, uint64_t cpu_ns);
/* The processor time of a cell without a group since it was made. */
void run_take_cpu(struct run *run, uint64_t cpu_ns);
/* The most that one process of the cell has had, for a cell whose memory no group counts. */
void run_take_memory(struct run *run, uint64_t peak_bytes);
/* The last check, before systemd removes the scope, which it does as soon as that is empty. */
void run_look_last(struct run *run);
/*
 * The program and all of its processes have ended, but the cell goes on for its files: no limit
 * applies any more, and the cell has this long to end.
 */
void run_program_over(struct run *run, uint64_t patience_ns);
/* The program has begun: asks it to end if it already has to. */
void run_begun(struct run *run);
/* From here on a cell that was made ahead waits for its assignment. */
int run_held(struct run *run);
/* Records an event, and ends a run that has too many; the second leaves that to run_end_over(). */
void run_note(struct run *run, const struct event *event);
void run_note_only(struct run *run, const struct event *event);
void run_end_over(struct run *run);
/* How long the last process of a cell may take to end after the kill. */
#define RUN_KILL_PATIENCE_NS 10000000000ull

/* --- within run ------------------------------------------------------------------------------- */

/* The grace period: run_grace.c. True: it has begun, and the program must not be killed yet. */
bool run_grace_begin(struct run *run, enum ending why);
/* A check in that period. False: there is none. */
bool run_grace_look(struct run *run, uint64_t now, enum ending due);
/* The id of these options, or a new one. */
int run_take_id(struct run *run, const struct run_options *options);
/* Sets the limits and receivers of the streams from the options. */
void run_take_output_options(struct run *run);
/* Makes the program's descriptor 3, if it has one: a memory file, or a session's channel. */
int run_give_value(struct run *run, const struct run_options *options);
/* Fills in all but files and changes. */
int run_fill_result(struct run *run);
/* All processes are dead: fills in the result, except for the files, which are collected next. */
int run_finish(struct run *run, struct brig_error *err);
/* Collects some files. 1: all are collected, and the run is done; 0: call again; -errno. */
int run_collect(struct run *run, struct brig_error *err);
/* The end of the run; `r` is its result, or -errno. */
int run_done(struct run *run, int r);
/* Collects for a slice of time; the loop wakes up if there is more. Returns as run_collect(). */
int run_collect_some(struct run *run);

/* A cell that was made ahead gets its run: events recorded before count as at its start. */
void run_note_start(struct run *run);
void run_note_unnamed(struct run *run, enum brig_event_kind kind, uint64_t count);
/* At its end: records the limits that it reached. */
void run_note_limits(struct run *run);

/* The cell's gate: run_gate.c. Without one these do nothing. */
int run_gate_listen(struct run *run);
int run_on_gate(struct run *run);
/*
 * The cell has ended: has the gate reported everything? Requests that, and waits for half a second
 * at most.
 */
bool run_gate_over(struct run *run);
void run_gate_fill(struct run *run);
/* Advice for a program that failed because a host was refused. */
void run_gate_remedy(struct brig_result *result);
void run_gate_done(struct run *run);
#endif
