/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of an execution. Private to execution*.c. */
#ifndef BRIG_FRONT_EXECUTION_EXECUTION_INTERNAL_H
#define BRIG_FRONT_EXECUTION_EXECUTION_INTERNAL_H

#include "base/bytes/sha256.h"
#include "base/invariant.h"
#include "front/front_internal.h"

/* Its life: execution_enter() is the only function that changes it. */
enum execution_state {
	EXECUTION_NEW,
	EXECUTION_RECORDING, /* its record is sent to the ledger, which has to confirm it */
	EXECUTION_WAITING,   /* in the queue */
	EXECUTION_STARTING,  /* its start is reported to the ledger */
	EXECUTION_RUNNING,
	EXECUTION_PAUSED,  /* it runs; the program has to wait, since a listener cannot take more */
	EXECUTION_SAVING,  /* its end is reported to the ledger */
	EXECUTION_UNSAVED, /* the ledger has no room for its end, and is tried again */
	EXECUTION_EXCUSED, /* the same; listeners were notified that it ran, but not how it ended */
	EXECUTION_ENDED,
	EXECUTION_STATES
};

/* The effect of a client that leaves. */
enum execution_kind {
	EXECUTION_ATTACHED,  /* it ends with its last listener */
	EXECUTION_RESUMABLE, /* a reader that leaves may come back for a while */
	/* acknowledged before it runs: it goes on without listeners, and after a crash */
	EXECUTION_QUEUED,
};

struct execution {
	struct front *front;
	struct execution *next, *previous;
	enum execution_state state;
	enum execution_kind kind;
	bool stream;    /* listeners want output as it comes */
	bool cancelled; /* by a client, or because its caller is not allowed any more */
	char id[27];
	char tenant[TOKEN_NAME_MAX + 1];
	char caller[TOKEN_NAME_MAX + 1];
	char code_sha256[SHA256_HEX_SIZE];
	char digest[SHA256_HEX_SIZE];
	char *key;             /* owned; or NULL */
	struct block *request; /* a reference: the body, to run it again after a crash */
	size_t request_size;
	struct execution_request *execution_request; /* owned until it runs */
	/*
	 * For the record of its beginning, which the ledger may have no room for: it is sent again
	 * with that of the end.
	 */
	char begin_session[65], begin_language[65], begin_policy[161];
	bool begin_again; /* the ledger does not know it */
	struct execution_listener
		*body_listener; /* the listener whose exchange counts the body's bytes; or NULL */
	size_t body_size; /* these bytes; 0: they are counted elsewhere, such as queued ones */
	size_t body_kept; /* the client has left: these bytes are counted for the execution */
	struct ticket ticket;
	struct engine_run *run;
	struct loop_timer timer;
	uint64_t queue_deadline_ns, started_ns;
	struct execution_listener *listeners;
	size_t listener_count;
	struct execution_listener *notify_next; /* the next to be notified in this round */
	bool notify_again;        /* there is more output than when that round began */
	struct loop_timer notify; /* listeners are to be notified */
	uint64_t notify_ns;       /* no new round before this time */
	void (*begun)(void *user, const struct problem *problem, const char *existing_id,
		      bool same);
	void *user;

	struct output_log *output; /* a reference */

	uint64_t save_since_ns,
		save_wait_ns; /* the ledger has no room for it; 0: it has not failed */

	/* The record for the ledger: a result, or a failure. */
	struct run_result result;
	struct buf failure;
	struct problem problem; /* of a failure; of no kind: there is a result, or no end yet */
	struct problem excuse;  /* in EXECUTION_EXCUSED */
};

/* Is it in one of these states (STATE_BIT)? */
static inline bool execution_in(const struct execution *execution, uint32_t states)
{
	return (STATE_BIT(execution->state) & states) != 0;
}

void execution_enter(struct execution *execution, enum execution_state state);
/* The ledger has a record of it, which must get an end. */
bool execution_recorded(const struct execution *execution);
/* It did not run, or not to its end. */
static inline bool execution_failed(const struct execution *execution)
{
	return execution->problem.kind != PROBLEM_NONE;
}

void execution_free(struct execution *execution);
/*
 * Acknowledged bodies stay in memory until their turn: this bounds them for a tenant, and for all.
 * 0, or refused, with the problem.
 */
int execution_bound_queued(struct front *front, const struct submission *submission,
			   struct problem *problem);
/* The client has left and the body stays: its bytes count as before. */
void execution_keep_body(struct execution *execution);
/* The body is not needed any more, and is not counted any more. */
void execution_drop_request(struct execution *execution);
/* There is more output: listeners are notified soon, once for all that comes until then. */
void execution_notify_output(struct execution *execution);
/*
 * It has ended: some listeners are notified now, the others soon; then execution_notified() is
 * called.
 */
void execution_notify_end(struct execution *execution);
void execution_notified(struct execution *execution);
/* Removes the listener from its execution. */
void listener_unlink(struct execution_listener *listener);
/* Ends it: execution->problem has the reason. */
void execution_fail(struct execution *execution);
/* Records the end, then notifies listeners; the execution is freed afterwards, now or later. */
void execution_save(struct execution *execution);
/* There is no time left to wait for room: tries once more, if it waits for room. */
void execution_save_now(struct execution *execution);
/* Called when it is freed: its end will not be recorded any more. */
void unsaved_forget(struct execution *execution);
#endif
