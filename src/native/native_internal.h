/* SPDX-License-Identifier: Apache-2.0 */
/* A run in a native cell: the provider's own state, shared by the files native_*.c. */
#ifndef BRIG_NATIVE_NATIVE_INTERNAL_H
#define BRIG_NATIVE_NATIVE_INTERNAL_H

#include "native/calls/call_listener.h"
#include "native/cell/cell.h"
#include "native/native.h"
#include "run/run_internal.h"

/* Descriptors of a cell that the run's loop listens to. */
enum native_event {
	NATIVE_EVENT_CONTROL,
	NATIVE_EVENT_INIT,
	NATIVE_EVENT_DENIAL,
	NATIVE_EVENT_ASSIGNMENT,
	NATIVE_EVENT_DRIVER,
	NATIVE_EVENTS,
};

/* The state of the driver in a cell whose interpreter was started ahead: see native_driver.c. */
enum driver_state {
	DRIVER_NONE, /* the cell has no driver */
	DRIVER_STARTING,
	DRIVER_WAITING,
	DRIVER_ASSIGNED,
	DRIVER_DONE, /* the program has begun, or the driver failed */
	DRIVER_STATES,
};

struct native_driver {
	enum driver_state state;
	struct feed assignment; /* the bytes for the driver */
	int ready;              /* owned: its reports; -1: closed */
	int inside[2];          /* owned until the clone: the driver's ends of both */
};

/* Names that a program without a network tried to resolve: see native_names.c. */
struct native_names {
	int fd; /* owned; -1: none */
	/* lookups without room in the socket, also of earlier runs in this cell */
	uint32_t dropped;
};

/* The request to brig-init for a pidfd of the program: native_grace.c. */
enum native_request {
	REQUEST_NONE,
	REQUEST_SENT,
	REQUEST_ANSWERED, /* the program of this round got its signal, or it was too late */
	REQUEST_STATES,
};

struct native_cell {
	struct plan plan;
	struct cell cell;
	enum wire_state wire;
	int proc, sockets;  /* owned: handles into the cell; -1: none */
	int assignment, go; /* owned, of a cell made ahead: its assignment, and the start signal */
	int channel;        /* our end of a session's channel, until it is taken; -1: none */
	struct native_driver driver;
	struct native_names names;
	struct call_listener calls;
	enum native_request request;
	uint64_t *took_ns;   /* owned mapping: how long each step took; NULL: not measured */
	int build_errnum;    /* the build failed: why... */
	unsigned build_step; /* ...and in which step */
};

static inline struct native_cell *native_of(const struct run *run)
{
	return run->cell;
}

static inline int native_listen(struct run *run, int fd, enum native_event event, uint32_t events)
{
	return run_listen(run, fd, RUN_EVENT_CELL + (unsigned)event, events);
}

/* --- within native ---------------------------------------------------------------------------- */

/* A message of brig-init has arrived: native_control.c. 1: the cell has ended. */
int native_on_control(struct run *run);
/* Messages of brig-init that are still in the socket when its death is already known. */
void native_last_messages(struct run *run);
/* The first pid of the cell has ended. */
int native_on_init(struct run *run);
/* The listener is readable: native_done.c. 1: the cell has ended, or is parked. */
int native_on_denial(struct run *run);
/* The result of a parked cell was taken: kills the cell. */
void native_kill_parked(struct run *run);

/* The grace period: native_grace.c. */
/* brig-init has sent the program's pidfd, or -1. False: it was not requested. */
bool native_take_program(struct run *run, int pidfd);

void native_request_enter(struct native_cell *native, enum native_request request);

/* A cell whose interpreter was started ahead: native_driver.c. Without one these do nothing. */
int native_driver_make(struct run *run);
void native_driver_launched(struct run *run); /* the cell has its ends of the pipes */
int native_driver_assign(struct run *run, const struct spec *spec);
int native_on_driver(struct run *run);
int native_on_assignment(struct run *run);
void native_driver_last_report(struct run *run);
void native_driver_done(struct native_cell *native);
void native_driver_enter(struct native_driver *driver, enum driver_state state);

/* Records the names that a program without a network tried to resolve: native_names.c. */
void native_names_note(struct run *run);
/* The first of these names; NULL: there is none. */
const char *native_names_first(const struct brig_result *result);
/* The build failed in this step. */
void native_build_failed(struct run *run, unsigned step, int errnum);
/* The error for a failed build, with the remedy where one is known: native_error.c. */
int native_build_error(const struct step *step, int errnum, struct brig_error *err);
#endif
