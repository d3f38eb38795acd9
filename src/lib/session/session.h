/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: a cell in which an interpreter stays. See brig.h and docs/sessions.md.
 *
 * Theory of operation. The cell is like any other, built by the same plan; its program is a driver
 * of ours (data/drivers/session.*), which has a socket to us as descriptor 3 and runs the code that
 * it receives there. The code of a run shares the driver's process and controls it: so the only
 * accepted message is "this run has ended with this status and value".
 *
 * A session is stepped by its own descriptor or by that of its run; both do the same. A run ends
 * with the driver's answer, or with the cell. If a run reaches a limit, its code is interrupted by
 * SIGINT; the cell is killed only if the driver does not answer within SESSION_GRACE_NS, or
 * the longer time of its provider.
 */
#ifndef BRIG_LIB_SESSION_SESSION_H
#define BRIG_LIB_SESSION_SESSION_H

#include "lib/prepare/phase.h"
#include "lib/session/session_channel.h"
#include "lib/session/session_inputs.h"
#include "lib/warm/warm.h"
#include "run/run.h"

#define SESSION_GRACE_NS 1000000000ull
/* The time that an interpreter may take to start. */
#define SESSION_START_NS 30000000000ull
/* The interval of the checks of an idle cell. */
#define SESSION_CHECK_NS 5000000000ull
/* Longer input has to be sent as a file. */
#define SESSION_STDIN_BYTES_MAX (32u << 20)
#define SESSION_CODE_BYTES_MAX  (16u << 20)

struct session_run;

enum session_state {
	SESSION_OPENING, /* the driver has not reported that it is ready */
	SESSION_IDLE,
	SESSION_BUSY,        /* the driver has a run */
	SESSION_INTERRUPTED, /* the same, and was asked to interrupt it */
	SESSION_COLLECTING,  /* a run has ended, and its files are being collected */
	SESSION_GONE,
	SESSION_STATES,
};

struct brig_session {
	struct brig_context *context; /* borrowed */
	char id[27];                  /* of a cell that is made for it */
	unsigned uses;                /* its handle, and that of a run */
	enum session_state state;     /* changed by session_enter() */
	char reason[200];             /* why it has ended, or is ending */
	struct brig_error error;      /* when it could not be opened */
	int epoll, timer;             /* owned; also used for its cell, once that is ready */
	uint64_t check_ns;            /* when the cell is checked next; 0: never */

	struct prepared prepared;
	struct phase phase;
	struct warm_pool *pool; /* used; NULL: started cold */
	struct warm_cell *cell; /* owned: identity of a cell that was made ahead */
	struct run_session link;
	int inside; /* owned until the driver is ready: its end of the channel */
	struct channel channel;
	bool writing; /* there are bytes to write to the channel */
	int driver;   /* owned: pidfd of the driver; -1: not known */

	struct brig_limits asked;    /* by the request that opened it */
	struct brig_limits most;     /* the maximum of that request's caller */
	struct brig_limits limits;   /* of the latest run; the spec has the limits that apply now */
	struct session_run *current; /* borrowed: running, or waiting for the driver; NULL: none */
	enum ending interrupted;     /* why the run was interrupted; NONE: it was not */
	uint64_t lost_cpu_ns;        /* of runs whose handle was freed before their end */
	/* COLLECTING: the driver's answer for that run; the value is in the channel. */
	struct channel_answer answer;
};

/* One run: the object behind its handle. */
struct session_run {
	struct brig_session *session; /* used */
	struct brig_request request;  /* valid until it is sent; its id for as long as the run */
	struct buf code, input;
	struct strlist args, globs;
	struct session_inputs *inputs; /* owned: not written yet; NULL: all are written */
	bool paused;                   /* paused before it began */
	bool cancelled;                /* the same: it will not begin */
	struct brig_error error;       /* why it could not begin */
	struct brig_limits limits;
	struct brig_result *result; /* owned: set when it has ended */
	int ended;                  /* owned: an eventfd, readable when it has ended */
	int end;                    /* 1: ended; -errno: failed; 0: not yet */
};

/* The only way to change its state: session_state.c has the allowed changes. */
void session_enter(struct brig_session *session, enum session_state state);
/* Does the driver have a run that can be interrupted? */
static inline bool session_has_run(const struct brig_session *session)
{
	return session->state == SESSION_BUSY || session->state == SESSION_INTERRUPTED;
}
/* The same, or its files are being collected. */
static inline bool session_is_busy(const struct brig_session *session)
{
	return session_has_run(session) || session->state == SESSION_COLLECTING;
}

/* The handle's side of a run; struct brig_run wraps it. session_run_start.c, session_run.c */
int session_run_start(struct brig_session *session, const struct brig_request *request,
		      struct session_run **ret, struct brig_error *err);
int session_run_step(struct session_run *run, struct brig_error *err);
void session_run_cancel(struct session_run *run);
void session_run_pause(struct session_run *run, bool paused);
void session_run_free(struct session_run *run);

/* If driver and run are ready: sends the run, or begins to write its input files first. */
void session_begin_run(struct brig_session *session);
/* Writes a slice of the input files; after the last one the run begins, or fails. */
void session_put_inputs(struct brig_session *session);
/* The driver has answered. */
void session_finish_run(struct brig_session *session, const struct channel_answer *answer);
/* Continues to collect the files of a run that has ended; its cell does nothing else meanwhile. */
void session_collect(struct brig_session *session);
/* The cell has ended, and the run with it; `result` is the cell's, or NULL with an error `r`. */
void session_lose_run(struct brig_session *session, struct brig_result *result, int r);
/* Processor time that is in no run's result: of the opening, and between runs. It only grows. */
uint64_t session_idle_cpu_ns(const struct brig_session *session);
/* Continues to write to the driver. */
void session_pump(struct brig_session *session);
/* A limit of a run was reached: how the cell has to end, or ENDING_NONE: not yet. */
enum ending session_due(void *user, enum ending why);
/* SIGINT to the driver and all of its process group. */
void session_interrupt(struct brig_session *session, enum ending why);

/* The signal alone. */
void session_signal(const struct brig_session *session);

void session_use(struct brig_session *session);
void session_unuse(struct brig_session *session);
/* The cell, cold or from a pool: session_cell.c */
int session_cell_start(struct brig_session *session, const struct brig_request *request,
		       struct brig_error *err);
/* 1: the cell has ended; 0; -errno with the reason in session->error. */
int session_cell_step(struct brig_session *session);
void session_cell_done(struct brig_session *session);
/* From here on the cell's descriptors are in the session's own set. On failure it must end. */
int session_cell_attach(struct brig_session *session);
/* The cell has ended: its descriptors are removed from the set. */
void session_cell_detach(struct brig_session *session);
/* Sets language, runtime and policy of a result. */
void session_describe(const struct brig_session *session, struct brig_result *result);
/* Sets the next check in so many ns; 0: never. Only while its cell exists. */
void session_arm(struct brig_session *session, uint64_t in_ns);
#endif
