/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that make up a run. */
#ifndef BRIG_RUN_RUN_INTERNAL_H
#define BRIG_RUN_RUN_INTERNAL_H

#include "run/run.h"

enum run_event {
	RUN_EVENT_TIMER,
	RUN_EVENT_CONTROL,
	RUN_EVENT_STDOUT,
	RUN_EVENT_STDERR,
	RUN_EVENT_STDIN,
	RUN_EVENT_INIT,
	RUN_EVENT_DENIAL,
	RUN_EVENT_GROUP,
	RUN_EVENT_ASSIGNMENT,
	RUN_EVENT_DRIVER,
	RUN_EVENT_GATE,
	RUN_EVENTS,
};

int run_listen(struct run *run, int fd, enum run_event event, uint32_t events);
/* One pipe; `ours` non-blocking. */
int run_pipe(int *ours, int *theirs, bool we_read);
/* SIGKILL to all of the cell. */
void run_kill(struct run *run);
/* A time of grace: run_grace.c. True: it has one, and is not to be killed yet. */
bool run_grace_begin(struct run *run, enum ending why);
/* The program has begun: one that has to end already is told so. */
void run_grace_begun(struct run *run);
/* brig-init has said which process the program is. False: it was not asked. */
bool run_grace_tell(struct run *run, int pidfd);
/* The same, when there is nobody left to tell. */
bool run_grace_answered(struct run *run);
/* A look within that time. False: it is none. */
bool run_grace_look(struct run *run, uint64_t now, enum ending due);
/* brig-init has told how the program ended. */
void run_take_end(struct run *run, const struct wire_record *record);
/* Memory for a value. */
int run_make_value(int *ret);
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
/* Something has come from brig-init: run_control.c. 1: the cell has ended. */
int run_on_control(struct run *run);
/* Something has come from the listener: run_done.c. 1: the cell has ended, or is parked. */
int run_on_denial(struct run *run);
/* The time is over in which the listener was not listened to. */
int run_listen_again(struct run *run);
/* The result of a parked cell is taken. */
void run_kill_parked(struct run *run);
/* What brig-init said is still in the socket when its death is already known by other ways. */
void run_hear_last_words(struct run *run);

/* A cell whose interpreter was started ahead: run_driver.c. Without one these do nothing. */
int run_driver_make(struct run *run);
void run_driver_launched(struct run *run); /* the cell has its ends of the pipes */
int run_driver_assign(struct run *run, const struct spec *spec);
int run_on_driver(struct run *run);
int run_on_assignment(struct run *run);
void run_driver_last_words(struct run *run);
void run_driver_done(struct run *run);

/* Events, and the end of a run that has too many: run_events.c. */
void run_note_begin(struct run *run); /* hears of calls from here on */
/* A cell that was there before gets its run: what is noted already was before its time. */
void run_note_start(struct run *run);
/* A threshold was crossed while something waited. */
void run_end_over(struct run *run);
void run_note(struct run *run, const struct event *event);
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

/* A program that has no network, and asked for names: run_names.c. */
void run_names_note(struct run *run);
/* The first of them; NULL: there is none. */
const char *run_names_first(const struct brig_result *result);

/* What it means that a step failed, with the repair where one is known. */
int run_setup_error(const struct run *run, const struct step *step, int errnum,
		    struct brig_error *err);
#endif
