/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's side of the ledger: what was asked, what became of it, and the audit chain. The
 * ledger itself is a role of its own with SQLite in it (ledger_role.h). Calls are answered by
 * callbacks on the loop's thread; an answer means that it is in the database. They come in order,
 * but for those about long results, which others overtake.
 */
#ifndef BRIG_LEDGER_LEDGER_H
#define BRIG_LEDGER_LEDGER_H

#include <brig/brig.h>

#include "base/outcome.h"
#include "loop/loop.h"

struct ledger;

/*
 * `gone`: the role has died. Nobody knows what became of the calls under way, so these, and any
 * that are made now, are never answered: whoever asked ends as well, and looks when it starts.
 */
int ledger_new(struct loop *loop, int socket, void (*gone)(void *user, const char *why), void *user,
	       struct ledger **ret);
void ledger_free(struct ledger *ledger);

/* Answers. `data` is JSON unless said otherwise, good for the call only. */
typedef void ledger_done(void *user, const struct brig_error *error, const char *data, size_t size);

struct ledger_execution {
	const char *id; /* ULID */
	const char *tenant;
	const char *caller;  /* name of the token, or "uid:1000" */
	const char *session; /* or NULL */
	const char *language;
	const char *policy;
	const char
		*code_sha256; /* the code itself is never kept, but for `request` until it ends */
	/* So that a queued one can be run after a crash; opaque here. NULL: cannot be, so a crash
	 * makes it "lost". */
	const struct block *request;
	bool queued; /* acknowledged before it runs; else it runs now */
	/* Of a request that may be repeated: the caller's key, a digest of all that was asked. */
	const char *key; /* or NULL */
	const char *digest;
};

/*
 * -> {} when it is new. With a key that is known: {"id":"...","same":true|false}: the execution
 * that has it, and whether the same was asked; then nothing is recorded. `done` may be NULL.
 */
int ledger_begin(struct ledger *ledger, const struct ledger_execution *execution, ledger_done *done,
		 void *user);
/* A queued one runs now. From here on a crash makes it "lost", never run twice. */
int ledger_started(struct ledger *ledger, const char *id, ledger_done *done, void *user);
/* `result`: the result object; status, verdict and usage are read from it for the audit chain. */
int ledger_ended(struct ledger *ledger, const char *id, const char *result, size_t size,
		 ledger_done *done, void *user);
/* The same for a block that is an outcome and its JSON: nothing of it is copied. */
int ledger_ended_block(struct ledger *ledger, const char *id, const struct block *result,
		       ledger_done *done, void *user);
/*
 * Within a callback: the block that its data is in, so that it can be kept. The caller's; NULL: no
 * memory.
 */
struct block *ledger_answer_keep(struct ledger *ledger);
/* -> a struct outcome, whose magic is 0 when there is no result, its places those in the result;
 * behind it {"id","status":"queued|running|<status of a result>","created_at","started_at","ended_at",
 *     "language","policy","session","expires_at","result":{...}|null}; ENOENT: none of this tenant */
int ledger_get(struct ledger *ledger, const char *tenant, const char *id, ledger_done *done,
	       void *user);
/* -> {"executions":[as above without result],"next":id|null}, newest first. */
int ledger_list(struct ledger *ledger, const char *tenant, const char *before, unsigned limit,
		ledger_done *done, void *user);
/* -> {"pending":[{"id","tenant","caller",...,"request_base64"}...]}: after a start, what was
 * acknowledged and never begun. At most 1000; again for more. */
int ledger_pending(struct ledger *ledger, ledger_done *done, void *user);
/* Some of the same end as cancelled, instead -> {"dropped":N}; 0: none is left. */
int ledger_drop(struct ledger *ledger, ledger_done *done, void *user);

struct ledger_session {
	const char *id; /* ULID */
	const char *tenant;
	const char *caller;
	const char *language, *policy; /* or NULL */
	uint64_t idle_ms;
};

/*
 * A session is told to whoever opened it when this is answered. One that has no end when the
 * ledger starts is lost, and says so. What has ended is kept as long as executions are, at most
 * 1000 of a tenant.
 */
int ledger_session_opened(struct ledger *ledger, const struct ledger_session *session,
			  ledger_done *done, void *user);
/* ENOENT: it is not known, or has ended before. */
int ledger_session_ended(struct ledger *ledger, const char *tenant, const char *id,
			 const char *reason, uint64_t runs, ledger_done *done, void *user);
/*
 * -> the session object of engine.h, with state "open" or "gone"; expires_at is then when it ended.
 * ENOENT: none of this tenant.
 */
int ledger_session_get(struct ledger *ledger, const char *tenant, const char *id, ledger_done *done,
		       void *user);
/* -> {"sessions":[those that are gone],"next":id|null}, newest first. */
int ledger_session_list(struct ledger *ledger, const char *tenant, const char *before,
			unsigned limit, ledger_done *done, void *user);

/*
 * Processor time that a caller has used on a day since the epoch, all of it together. Nobody is
 * told that it is recorded: what is recorded after it is told later.
 */
int ledger_used(struct ledger *ledger, const char *caller, uint32_t day, uint64_t cpu_ns);
/* -> {"used":[{"caller","cpu_ns"}...]} of that day; what was used on others is forgotten. */
int ledger_usage(struct ledger *ledger, uint32_t day, ledger_done *done, void *user);

/* A line for the audit chain: kind is "session.close", "auth.refused", ...; facts are JSON. */
int ledger_audit(struct ledger *ledger, const char *kind, const char *tenant, const char *facts,
		 ledger_done *done, void *user);
/* -> {"entries":N,"head":"sha256...","checkpoint":N,"bytes":N,"executions":N} */
int ledger_stats(struct ledger *ledger, ledger_done *done, void *user);
#endif
