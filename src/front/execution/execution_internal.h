/* SPDX-License-Identifier: Apache-2.0 */
/* What an execution holds. Private to execution*.c. */
#ifndef BRIG_FRONT_EXECUTION_EXECUTION_INTERNAL_H
#define BRIG_FRONT_EXECUTION_EXECUTION_INTERNAL_H

#include "base/sha256.h"
#include "front/front_internal.h"

enum execution_state {
	EXECUTION_RECORDING, /* the ledger is told of it */
	EXECUTION_WAITING,   /* for its turn */
	EXECUTION_STARTING,  /* the ledger is told that it starts */
	EXECUTION_RUNNING,
	EXECUTION_SAVING, /* the ledger is told how it ended */
	EXECUTION_ENDED,
};

struct execution {
	struct front *front;
	struct execution *next, *previous;
	enum execution_state state;
	char id[27];
	char tenant[TOKEN_NAME_MAX + 1];
	char caller[TOKEN_NAME_MAX + 1];
	char code_sha256[SHA256_HEX_SIZE];
	char digest[SHA256_HEX_SIZE];
	char *key;             /* owned; or NULL */
	struct block *request; /* a reference: so that it can be asked again after a crash */
	size_t request_size;
	struct execution_request *execution_request; /* owned until it runs */
	struct execution_listener
		*body_listener; /* whose exchange the bytes of the ask are counted with; or NULL */
	size_t body_size;       /* these bytes; 0: they are counted otherwise, as those in queue */
	size_t body_kept;       /* the asker has left: these are counted for the execution */
	bool queued, recorded, stream, attached_stream, cancelled, failed, paused;
	bool unrecorded; /* listeners are told that it ran, but not how it ended */
	struct ticket ticket;
	struct engine_run *run;
	struct loop_timer timer;
	uint64_t patience_ns, started_ns;
	struct execution_listener *listeners;
	size_t listener_count;
	struct execution_listener
		*tell_next;     /* in a round of telling them: who is to be told next */
	bool tell_again;        /* there is more output than when that round began */
	struct loop_timer tell; /* there is something that they have not been told of */
	uint64_t tell_ns;       /* no new round before */
	void (*begun)(void *user, const struct problem *problem, const char *twin, bool same);
	void *user;

	struct output_log *output; /* a reference */

	uint64_t save_since_ns,
		save_wait_ns; /* the ledger has no room for it; 0: it has not failed */

	/* What the ledger keeps: a result, or a failure's record. */
	struct run_result result;
	struct buf failure;
	struct problem problem; /* of a failure */
	struct problem excuse;  /* while `unrecorded` */
};

void execution_free(struct execution *execution);
/*
 * What was acknowledged stays in memory until its turn: so much of a tenant's, and of all. 0, or
 * refused with the problem.
 */
int execution_bound_queued(struct front *front, const struct submission *submission,
			   struct problem *problem);
/* The asker has left and the ask stays: its bytes count as before. */
void execution_keep_body(struct execution *execution);
/* The ask is not wanted any more, and counts no more. */
void execution_drop_request(struct execution *execution);
/* There is more output: its listeners are told soon, once for all that comes until then. */
void execution_tell_output(struct execution *execution);
/* It is at its end: some listeners are told now, the others soon; then execution_told(). */
void execution_tell_end(struct execution *execution);
void execution_told(struct execution *execution);
/* It hears nothing any more. */
void listener_unlink(struct execution_listener *listener);
/* It did not run, or not to its end: execution->problem says why. */
void execution_fail(struct execution *execution);
/* What happened is recorded, then told; the execution is gone afterwards, now or later. */
void execution_save(struct execution *execution);
/* There is no time to wait for room: one more try, if it waits for one. */
void execution_save_now(struct execution *execution);
/* Of one that is freed: nobody tries to record it any more. */
void unsaved_forget(struct execution *execution);
#endif
