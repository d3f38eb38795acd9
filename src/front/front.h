/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP API of the service: authentication, requests, the queue, answers. It opens no files,
 * starts no processes and knows no secrets except hashes of tokens; code is run by an engine and
 * recorded by a ledger, both in other processes.
 *
 * docs/api.md is for people who call it, /openapi.json for their programs.
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

/* Default: a stream's run ends this long after its reader has left. */
#define FRONT_RESUME_NS UINT64_C(5000000000)

struct front_options {
	struct engine *engine; /* both remain the caller's */
	struct ledger *ledger;
	const int *sockets; /* that listen; they remain the caller's */
	size_t sockets_count;
	const struct http_transport *tcp; /* remains the caller's; NULL: TCP is not encrypted */
	struct http_limits http;
	struct admission_limits admission;
	const char *tokens; /* the contents of the file of tokens; NULL: there are none */
	size_t tokens_size;
	const uid_t *uids; /* users that may use the unix socket, besides root */
	size_t uids_count;
	const uid_t *consent_uids; /* those of them that may pass on a person's consent */
	size_t consent_uids_count;
	const char *const *hosts; /* host names allowed over TCP, besides the loopback's */
	size_t hosts_count;
	const char *const *origins; /* of web pages that may send requests */
	size_t origins_count;
	uid_t owner; /* the service's own user: an operator, as root is */
	/*
	 * Executions that were queued before a restart do not start before an operator releases
	 * them...
	 */
	bool hold_queue;
	void (*queue_released)(void *user); /* ...and then this is called; or NULL */
	void *queue_user;
	/* A stream's run ends this long after its reader has left, unless one comes back (5 s). */
	uint64_t resume_ns;
};

/* Sets defaults for http, admission, and the time to resume, where they are 0. */
void front_options_complete(struct front_options *options, unsigned processors);
/* All options are copied. */
int front_new(struct loop *loop, const struct front_options *options, struct front **ret,
	      struct brig_error *error);
/*
 * Replaces the tokens; on failure the old ones stay. Executions of tokens that are gone are
 * cancelled, and their requests are answered with 401. The text remains the caller's.
 */
int front_tokens(struct front *front, const char *text, size_t size, struct brig_error *error);
/*
 * No new requests are accepted; `done` is called when everything that runs has been answered.
 * Waiting executions stay queued.
 */
void front_drain(struct front *front, void (*done)(void *user), void *user);
void front_free(struct front *front);
#endif
