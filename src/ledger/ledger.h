/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's side of the ledger: requests, their results, and the audit chain. The ledger itself
 * is a role of its own with SQLite in it (ledger_role.h). Calls are answered by callbacks on the
 * loop's thread; an answer means that the data is in the database. Answers arrive in order, except
 * those about long results, which others overtake.
 */
#ifndef BRIG_LEDGER_LEDGER_H
#define BRIG_LEDGER_LEDGER_H

#include <brig/brig.h>

#include "base/outcome.h"
#include "loop/loop.h"

struct ledger;

/*
 * `gone`: the role has died. The state of the calls under way is unknown, so these, and any that
 * are made now, are never answered: the caller ends as well, and reads the ledger when it starts
 * again.
 */
int ledger_new(struct loop *loop, int socket, void (*gone)(void *user, const char *why), void *user,
	       struct ledger **ret);
void ledger_free(struct ledger *ledger);

/* Answers. `data` is JSON unless stated otherwise, valid during the call only. */
typedef void ledger_done(void *user, const struct brig_error *error, const char *data, size_t size);

struct ledger_execution {
	const char *id; /* ULID */
	const char *tenant;
	const char *caller;  /* name of the token, or "uid:1000" */
	const char *session; /* or NULL */
	const char *language;
	const char *policy;
	const char
		*code_sha256; /* the code itself is never kept, except in `request` until it ends */
	/*
	 * So that a queued execution can be run after a crash; opaque here. NULL: it cannot, so a
	 * crash makes it "lost".
	 */
	const struct block *request;
	bool queued; /* acknowledged before it runs; else it runs now */
	/*
	 * For a request that may be repeated: the caller's key, and a digest of the whole request.
	 */
	const char *key; /* or NULL */
	const char *digest;
};

/*
 * -> {} when it is new. If the key is known: {"id":"...","same":true|false}: the execution with
 * this key, and whether the request is the same; then nothing is recorded. `done` may be NULL.
 */
int ledger_begin(struct ledger *ledger, const struct ledger_execution *execution, ledger_done *done,
		 void *user);
/* 0, or the error that it would have now: -EINVAL for a text in it, -ENOBUFS for a full queue. */
int ledger_begin_check(struct ledger *ledger, const struct ledger_execution *execution);
/* A queued execution runs now. From here on a crash makes it "lost"; it is never run twice. */
int ledger_started(struct ledger *ledger, const char *id, ledger_done *done, void *user);
/* `result`: the result object; status, verdict and usage are read from it for the audit chain. */
int ledger_ended(struct ledger *ledger, const char *id, const char *result, size_t size,
		 ledger_done *done, void *user);
/* The same for a block that is an outcome and its JSON: nothing is copied. */
int ledger_ended_block(struct ledger *ledger, const char *id, const struct block *result,
		       ledger_done *done, void *user);
/*
 * During a callback: the block that contains its data, so that it can be kept. Owned by the caller;
 * NULL: no memory.
 */
struct block *ledger_answer_keep(struct ledger *ledger);
/*
 * -> a struct outcome, whose magic is 0 when there is no result, its offsets those in the result;
 * behind it {"id","status":"queued|running|<status of a result>","created_at","started_at",
 * "ended_at","language","policy","session","expires_at","result":{...}|null}; ENOENT: not found for
 * this tenant
 */
int ledger_get(struct ledger *ledger, const char *tenant, const char *id, ledger_done *done,
	       void *user);
/* -> {"executions":[as above without result],"next":id|null}, newest first. */
int ledger_list(struct ledger *ledger, const char *tenant, const char *before, unsigned limit,
		ledger_done *done, void *user);
/*
 * -> {"pending":[{"id","tenant","caller",...,"request_base64"}...]}: after a start, executions that
 * were acknowledged and never begun. At most 1000; call again for more.
 */
int ledger_pending(struct ledger *ledger, ledger_done *done, void *user);
/* Cancels some of those instead -> {"dropped":N}; 0: none is left. */
int ledger_drop(struct ledger *ledger, ledger_done *done, void *user);

struct ledger_session {
	const char *id; /* ULID */
	const char *tenant;
	const char *caller;
	const char *language, *policy; /* or NULL */
	uint64_t idle_ms;
};

/*
 * The client gets the id of a session after this was answered. A session without an end when the
 * ledger starts is lost, and is reported so. Ended sessions are kept as long as executions, at most
 * 1000 of a tenant.
 */
int ledger_session_opened(struct ledger *ledger, const struct ledger_session *session,
			  ledger_done *done, void *user);
/* ENOENT: it is unknown, or has already ended. */
int ledger_session_ended(struct ledger *ledger, const char *tenant, const char *id,
			 const char *reason, uint64_t runs, ledger_done *done, void *user);
/*
 * -> the session object of engine.h, with state "open" or "gone"; then expires_at is the time of
 * its end. ENOENT: not found for this tenant.
 */
int ledger_session_get(struct ledger *ledger, const char *tenant, const char *id, ledger_done *done,
		       void *user);
/* -> {"sessions":[those that are gone],"next":id|null}, newest first. */
int ledger_session_list(struct ledger *ledger, const char *tenant, const char *before,
			unsigned limit, ledger_done *done, void *user);

/*
 * Records the total processor time that a caller has used on a day since the epoch. There is no
 * answer: it is committed before the answer to any later call.
 */
int ledger_used(struct ledger *ledger, const char *caller, uint32_t day, uint64_t cpu_ns);
/* -> {"used":[{"caller","cpu_ns"}...]} of that day; other days are deleted. */
int ledger_usage(struct ledger *ledger, uint32_t day, ledger_done *done, void *user);

/* An entry of the audit chain: kind is "session.close", "auth.refused", ...; facts are JSON. */
int ledger_audit(struct ledger *ledger, const char *kind, const char *tenant, const char *facts,
		 ledger_done *done, void *user);
/* -> {"entries":N,"head":"sha256...","checkpoint":N,"bytes":N,"executions":N} */
int ledger_stats(struct ledger *ledger, ledger_done *done, void *user);
#endif
