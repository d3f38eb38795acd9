/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input files of a run in a session. Their number, sum and names are checked when the run is asked
 * for; they are written a slice at a time before it begins, because others wait meanwhile.
 */
#ifndef BRIG_LIB_SESSION_SESSION_INPUTS_H
#define BRIG_LIB_SESSION_SESSION_INPUTS_H

#include <brig/brig.h>

struct session_inputs;

/* NULL is returned with 0 when there are none. */
int session_inputs_new(const struct brig_session *session, const struct brig_request *request,
		       struct session_inputs **ret, struct brig_error *err);
/* A slice. 1: all of them are there; 0: there is more to write; -errno. */
int session_inputs_step(struct session_inputs *inputs, struct brig_session *session,
			struct brig_error *err);
/* What is half written goes. */
void session_inputs_free(struct session_inputs *inputs);
#endif
