/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP API of the service: who may ask, what was asked, when it runs, what is answered. It has
 * no files, starts no processes and knows no secrets but hashes of tokens; code is run by an engine
 * and remembered by a ledger, both in other processes.
 *
 * docs/api.md is for those who call it, /openapi.json for their programs.
 */
#ifndef BRIG_FRONT_FRONT_H
#define BRIG_FRONT_FRONT_H

#include <brig/brig.h>
#include <sys/types.h>

#include "engine/engine.h"
#include "front/access/admission.h"
#include "http/http.h"
#include "ledger/ledger.h"
#include "ledger/ledger_messages.h"
#include "loop/loop.h"

struct front;

/* A stream's run ends so long after its reader has left, where nothing else is said. */
#define FRONT_RESUME_NS UINT64_C(5000000000)

struct front_options {
	struct engine *engine; /* both stay the caller's */
	struct ledger *ledger;
	const int *sockets; /* that listen; they stay the caller's */
	size_t sockets_count;
	const struct http_transport *tcp; /* stays the caller's; NULL: TCP is in clear */
	struct http_limits http;
	struct admission_limits admission;
	const char *tokens; /* what is in the file of tokens; NULL: there are none */
	size_t tokens_size;
	const uid_t *uids; /* who may use the unix socket besides root */
	size_t uids_count;
	const uid_t *consent_uids; /* of them, who may bring a person's consent */
	size_t consent_uids_count;
	const char *const *hosts; /* names by which TCP may be asked besides the loopback's */
	size_t hosts_count;
	const char *const *origins; /* of web pages that may ask */
	size_t origins_count;
	uid_t owner; /* the service's own user: an operator, as root is */
	/* What was queued in an earlier life is not begun before an operator says so... */
	bool hold_queue;
	void (*queue_released)(void *user); /* ...and then this is told; or NULL */
	void *queue_user;
	/* A stream's run ends so long after its reader has left, if none comes back (5 s). */
	uint64_t resume_ns;
};

/* Sets those of http and admission, and the time to resume, that are 0. */
void front_options_complete(struct front_options *options, unsigned processors);
/* All options are copied. */
int front_new(struct loop *loop, const struct front_options *options, struct front **ret,
	      struct brig_error *error);
/*
 * Other tokens from now on; on failure the old ones stay. What was asked with one that is no more
 * is cancelled, and its requests are answered 401. The text stays the caller's.
 */
int front_tokens(struct front *front, const char *text, size_t size, struct brig_error *error);
/* Nothing new comes in; `done` when all that runs has been answered. What waits stays queued. */
void front_drain(struct front *front, void (*done)(void *user), void *user);
void front_free(struct front *front);
#endif
