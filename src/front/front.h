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
#include "front/admission.h"
#include "http/http.h"
#include "ledger/ledger.h"
#include "loop/loop.h"

struct front;

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
	const char *const *hosts; /* names by which TCP may be asked besides the loopback's */
	size_t hosts_count;
	const char *const *origins; /* of web pages that may ask */
	size_t origins_count;
	/* A stream's run ends so long after its reader has left, if none comes back (5 s). */
	uint64_t resume_ns;
};

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
