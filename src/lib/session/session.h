/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: a cell in which an interpreter stays. See brig.h and docs/sessions.md.
 *
 * Theory of operation. The cell is like any other, built by the same plan; its program is a driver
 * of ours (data/drivers/session.*), which has a socket to us as descriptor 3 and runs what comes
 * from there. The code of a run shares the driver's process and can do with it what it likes: so
 * nothing that the driver says is believed beyond "this run has ended with this status and value".
 *
 * A session is stepped by its own descriptor or by that of its run; both do the same. A run ends
 * by the driver's answer, or with the cell. Limits of a run are reached softly: the code is
 * interrupted by SIGINT, and only if it does not answer within SESSION_GRACE_NS the cell is killed.
 */
#ifndef BRIG_LIB_SESSION_SESSION_H
#define BRIG_LIB_SESSION_SESSION_H

#include "lib/prepare/phase.h"
#include "lib/session/session_channel.h"
#include "lib/session/session_inputs.h"
#include "lib/warm/warm.h"
#include "run/run.h"

#define SESSION_GRACE_NS 1000000000ull
/* How long an interpreter may take to start. */
#define SESSION_PATIENCE_NS 30000000000ull
/* How often an idle cell is looked at. */
#define SESSION_LOOK_NS 5000000000ull
/* More is better handed in as a file. */
#define SESSION_STDIN_BYTES_MAX (32u << 20)
#define SESSION_CODE_BYTES_MAX  (16u << 20)

struct session_run;

struct brig_session {
	struct brig_context *context; /* borrowed */
	unsigned uses;                /* its handle, and that of a run */
	enum brig_session_state state;
	char reason[200];        /* why it is gone, or is about to be */
	struct brig_error error; /* when it could not be opened */
	int epoll, timer;        /* owned; its cell's too, once that is there */
	uint64_t look_ns;        /* when there is something to look at; 0: never */

	struct prepared prepared;
	struct phase phase;
	struct warm_pool *pool; /* used; NULL: started cold */
	struct warm_cell *cell; /* owned: identity of a cell that was made ahead */
	struct run_session link;
	int inside; /* owned until the driver is there: its end of the channel */
	struct channel channel;
	bool writing; /* there is more to write to it */
	int driver;   /* owned: pidfd of the driver; -1: not known */

	struct brig_limits asked;  /* by the request that opened it */
	struct brig_limits most;   /* and what it may have had unasked */
	struct brig_limits limits; /* of the latest run; the spec has what is watched now */
	struct session_run
		*current;        /* borrowed: under way, or waiting for the driver; NULL: none */
	enum ending interrupted; /* why the run was interrupted */
	bool cancelled;          /* before it has begun */
	uint64_t lost_cpu_ns;    /* of results that nobody was there to take */
	bool collecting;         /* a run has ended, and its files are being collected... */
	/* ...what the driver said of it; the value is the channel's. */
	struct channel_answer answer;
};

/* One run, as its handle sees it. */
struct session_run {
	struct brig_session *session; /* used */
	struct brig_request request;  /* until it is sent; then of no meaning */
	struct buf code, input;
	struct strlist args, globs;
	struct session_inputs *inputs; /* owned: to be written before it begins; NULL: all are */
	bool paused;                   /* before it began */
	struct brig_error error;       /* why it could not begin */
	struct brig_limits limits;
	struct brig_result *result; /* owned: it has ended */
	int ended;                  /* owned: an eventfd, readable then */
	int end;                    /* 1: ended; -errno: failed; 0: under way */
};

/* The handle's side of a run; struct brig_run wraps it. session_run_start.c, session_run.c */
int session_run_start(struct brig_session *session, const struct brig_request *request,
		      struct session_run **ret, struct brig_error *err);
int session_run_step(struct session_run *run, struct brig_error *err);
void session_run_cancel(struct session_run *run);
void session_run_pause(struct session_run *run, bool paused);
void session_run_free(struct session_run *run);

/* The driver waits, and so does a run: tells it, or sees to the run's files first. */
void session_begin_run(struct brig_session *session);
/* A slice of these files; then the run begins, or fails. */
void session_put_inputs(struct brig_session *session);
/* The driver has answered; or the cell has ended, and `result` is what came of it. */
void session_finish_run(struct brig_session *session, const struct channel_answer *answer);
/* Goes on with the files of a run that has ended: nothing else happens to its cell meanwhile. */
void session_collect(struct brig_session *session);
void session_lose_run(struct brig_session *session, struct brig_result *result, int r);
/* Processor time that is in no run's result: of opening it, and between runs. It only grows. */
uint64_t session_idle_cpu_ns(const struct brig_session *session);
/* Goes on writing to the driver. */
void session_pump(struct brig_session *session);
/* What a limit of a run means for the cell. */
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
/* The cell listens in the session's own set from here on. On failure it must end. */
int session_cell_attach(struct brig_session *session);
/* It has ended: nothing more is heard of it. */
void session_cell_detach(struct brig_session *session);
/* Language, runtime and policy of a result. */
void session_describe(const struct brig_session *session, struct brig_result *result);
/* When to look next: soon, or with 0 never. Only while its cell is there. */
void session_arm(struct brig_session *session, uint64_t in_ns);
#endif
