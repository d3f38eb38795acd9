/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run from request to answer: recorded, waiting for its turn, running, recorded again.
 * Listeners are notified of its output and its end; there may be none (asynchronous), one, or many.
 *
 * The object exists while the run is in progress. After its end only the ledger has it. That is why
 * positions in its output are counted in bytes: they mean the same in memory and in the ledger.
 */
#ifndef BRIG_FRONT_EXECUTION_EXECUTION_H
#define BRIG_FRONT_EXECUTION_EXECUTION_H

#include "base/bytes/buf.h"
#include "base/bytes/sha256.h"
#include "front/access/admission.h"
#include "front/execution/output_log.h"
#include "front/execution/run_result.h"
#include "front/request/execution_request.h"

struct front;
struct execution;

struct execution_listener {
	void (*output)(void *user); /* there is more output; or NULL */
	/*
	 * The execution has ended: see execution_result(). The listener has been removed from it.
	 */
	void (*ended)(void *user, struct execution *execution);
	void *user;
	/* private to the execution */
	struct execution *execution;
	struct execution_listener *next, **link;
};

struct submission {
	const struct caller *caller;
	struct execution_request *execution_request; /* owned by execution_new(), also on failure */
	/* Acknowledged before it runs: it goes on without listeners, and after a crash. */
	bool queued;
	bool forced; /* the ledger has it from before a restart, as `id` */
	const char *id;
	bool stream;    /* listeners want output as it comes */
	bool resumable; /* a reader that leaves may come back for a while */
	/* the caller's idempotency key: a repeated request is the same one; or NULL */
	const char *key;
	const char *path; /* of the request, for the digest stored with the key */
	const void *body;
	size_t body_size;
	/*
	 * For a body that was too long to be held: the body itself, if it is queued; its hash, with
	 * a key.
	 */
	struct block *text;
	char text_sha256[SHA256_HEX_SIZE];
	/*
	 * Called once, later, for submissions with `queued` or a key, when they are recorded.
	 * `existing_id`: an execution with that key exists already, and this one is gone; `same`:
	 * their requests are equal.
	 */
	void (*begun)(void *user, const struct problem *problem, const char *existing_id,
		      bool same);
	void *user;
};

/* 0, or refused, with the problem. */
int execution_new(struct front *front, const struct submission *submission, struct execution **ret,
		  struct problem *problem);
/*
 * Submits it; call once, after the first listener was added. The execution may have ended, and be
 * freed, when this returns.
 */
void execution_submit(struct execution *execution);
/* NULL: no such execution of this tenant (LEDGER_ANY_TENANT: of any) is in progress. */
struct execution *execution_find(struct front *front, const char *tenant, const char *id);
const char *execution_id(const struct execution *execution);
const char *execution_tenant(const struct execution *execution);
void execution_listen(struct execution *execution, struct execution_listener *listener);
/* Removes the listener. When it was the last one, a run that was only for it ends. */
void execution_unlisten(struct execution_listener *listener);
/* The listener cannot take more for now: the program has to wait. */
void execution_pause(struct execution *execution, bool paused);
void execution_cancel(struct execution *execution);

/* Its output so far; it is freed with the execution unless a reference is taken. */
struct output_log *execution_output(const struct execution *execution);
/* After the end: the result; or NULL, and then the problem has the reason. */
const struct run_result *execution_result(const struct execution *execution,
					  const struct problem **ret_problem);
/* Cancels executions whose caller is not allowed any more. Returns their number. */
size_t executions_revoke(struct front *front);
/* The next one in the list of all tenants' executions. */
struct execution *execution_next(const struct execution *execution);
/* It has started, or a client waits for it: it cannot be left in the queue for the next start. */
bool execution_unfinished(const struct execution *execution);
/*
 * Nothing starts any more: runs with a waiting client are refused, queued ones stay in the ledger.
 */
void executions_close(struct front *front);
/* Frees all executions when the front ends, without notifying listeners. */
void executions_drop(struct front *front);
#endif
