/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of `brig policy learn`: one that is watched, and one under the learned policy. */
#ifndef BRIG_CLI_POLICY_POLICY_LEARN_H
#define BRIG_CLI_POLICY_POLICY_LEARN_H

#include <brig/brig.h>

#include "cli/run/run_options.h"
#include "lib/learn/learn.h"

struct learn_args {
	struct run_args run; /* first: its rows fill it */
	const char *file, *extend, *input;
	bool no_verify;
};

struct learn_session {
	const struct learn_args *args;
	struct run_request request;
	struct buf input;        /* standard input of every run */
	struct policy *under;    /* owned */
	struct policy *extended; /* owned; NULL: none */
	struct learn learn;
	struct brig_result *result; /* owned: of the watched run */
	struct buf text;            /* the proposal */
	bool verified;              /* `again` is valid: */
	struct brig_result *again;  /* owned: the run under the proposal */
	struct brig_error refusal;  /* why there is none; code 0: there is one */
};

int learn_session_run(struct learn_session *session, struct brig_error *err);
/* Runs it again under the proposal. Errors are stored in the session. */
void learn_session_verify(struct learn_session *session);
/* Did both end the same way? */
bool learn_session_same(const struct learn_session *session);
void learn_session_done(struct learn_session *session);
#endif
