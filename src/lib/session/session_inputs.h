/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input files of a run in a session. Their number, sum and names are checked when the run is
 * started; they are written in slices before it begins, because other sessions wait meanwhile.
 */
#ifndef BRIG_LIB_SESSION_SESSION_INPUTS_H
#define BRIG_LIB_SESSION_SESSION_INPUTS_H

#include <brig/brig.h>

struct session_inputs;

/* NULL is returned with 0 when there are none. */
int session_inputs_new(const struct brig_session *session, const struct brig_request *request,
		       struct session_inputs **ret, struct brig_error *err);
/* Writes a slice. 1: all files are written; 0: there is more to write; -errno. */
int session_inputs_step(struct session_inputs *inputs, struct brig_session *session,
			struct brig_error *err);
/* Removes a file that is half written. */
void session_inputs_free(struct session_inputs *inputs);
#endif
