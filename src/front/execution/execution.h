/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run from the question to the answer: recorded, waiting for its turn, running, recorded again.
 * Whoever wants to know of it is a listener; there may be none (asynchronous), one, or many.
 *
 * It lives as long as it is under way. After its end the ledger alone remembers it; that is why
 * places in its output are counted in bytes: they mean the same in memory and in the ledger.
 */
#ifndef BRIG_FRONT_EXECUTION_EXECUTION_H
#define BRIG_FRONT_EXECUTION_EXECUTION_H

#include "base/buf.h"
#include "base/sha256.h"
#include "front/access/admission.h"
#include "front/execution/output_log.h"
#include "front/execution/run_result.h"
#include "front/request/execution_request.h"

struct front;
struct execution;

struct execution_listener {
	void (*output)(void *user); /* there is more; or NULL */
	/* It is at its end: execution_result() tells. The listener is not on it any more. */
	void (*ended)(void *user, struct execution *execution);
	void *user;
	/* the execution's own */
	struct execution *execution;
	struct execution_listener *next, **link;
};

struct submission {
	const struct caller *caller;
	struct execution_request *execution_request; /* taken over, also on failure */
	/* Acknowledged before it runs: it goes on without listeners, and after a crash. */
	bool queued;
	bool forced; /* known to the ledger from an earlier life, as `id` */
	const char *id;
	bool stream;      /* listeners want output as it comes */
	bool resumable;   /* who leaves may come back for a while */
	const char *key;  /* of the caller, so that a repeated request is the same one; or NULL */
	const char *path; /* what was asked, for the digest behind a key */
	const void *body;
	size_t body_size;
	/* Of a body that was too long to be held: itself, if it is queued; its hash, with a key. */
	struct block *text;
	char text_sha256[SHA256_HEX_SIZE];
	/*
	 * Called once, later, for orders with `queued` or a key: recorded. `twin`: there was one
	 * with that key already, and this one is gone; `same`: the same was asked then.
	 */
	void (*begun)(void *user, const struct problem *problem, const char *twin, bool same);
	void *user;
};

/* 0, or refused with the problem. */
int execution_new(struct front *front, const struct submission *submission, struct execution **ret,
		  struct problem *problem);
/*
 * Off it goes; call once, after the first listener is on. It may have ended, and be gone, when this
 * returns.
 */
void execution_submit(struct execution *execution);
/* NULL: none of this tenant (LEDGER_ANY_TENANT: of any) is under way. */
struct execution *execution_find(struct front *front, const char *tenant, const char *id);
const char *execution_id(const struct execution *execution);
const char *execution_tenant(const struct execution *execution);
void execution_listen(struct execution *execution, struct execution_listener *listener);
/* Nobody hears `listener` any more; when it was the last, a run that was for it alone ends. */
void execution_unlisten(struct execution_listener *listener);
/* The listener cannot take more for now: the program is made to wait. */
void execution_pause(struct execution *execution, bool paused);
void execution_cancel(struct execution *execution);

/* What it has written so far: the execution's, unless it is referenced. */
struct output_log *execution_output(const struct execution *execution);
/* After the end: the result; or NULL, and then the problem says why there is none. */
const struct run_result *execution_result(const struct execution *execution,
					  const struct problem **ret_problem);
/* Whoever asked for these may not ask any more: they are cancelled. Returns how many. */
size_t executions_revoke(struct front *front);
/* The next of all, of whatever tenant. */
struct execution *execution_next(const struct execution *execution);
/* It has begun, or somebody waits for it: it is not one that a later life can begin with. */
bool execution_unfinished(const struct execution *execution);
/* No more turns: what somebody waits for is refused, what is queued stays in the ledger. */
void executions_close(struct front *front);
/* When the front goes: nobody is told any more. */
void executions_drop(struct front *front);
#endif
