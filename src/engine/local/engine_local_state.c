/* SPDX-License-Identifier: Apache-2.0 */
/* The lives of calls and of sessions in the engine: which state follows which. */
#include "engine/local/engine_local.h"

#define CALL(name)    STATE_BIT(CALL_##name)
#define SESSION(name) STATE_BIT(LOCAL_SESSION_##name)

static const uint32_t call_edges[CALL_STATES] = {
	[CALL_NEW] = CALL(WAITING) | CALL(RUNNING) | CALL(WORKING) | CALL(ANSWERED),
	[CALL_WAITING] = CALL(RUNNING) | CALL(FAILED),
	[CALL_RUNNING] = CALL(WRITING) | CALL(FAILED),
	[CALL_WRITING] = CALL(ANSWERED) | CALL(FAILED),
	[CALL_WORKING] = CALL(ANSWERED) | CALL(FAILED),
	/* There was no memory for the answer. */
	[CALL_ANSWERED] = CALL(FAILED),
	[CALL_FAILED] = 0,
};

void local_call_enter(struct engine_run *run, enum local_call_state state)
{
	invariant(state_allows(call_edges, run->state, state));
	invariant(run->run || state != CALL_RUNNING);
	invariant(!run->run || state != CALL_WRITING);
	run->state = state;
}

static const uint32_t session_edges[LOCAL_SESSION_STATES] = {
	[LOCAL_SESSION_OPENING] = SESSION(IDLE) | SESSION(ENDED),
	[LOCAL_SESSION_IDLE] = SESSION(BUSY) | SESSION(ENDED),
	[LOCAL_SESSION_BUSY] = SESSION(IDLE) | SESSION(ENDED),
	[LOCAL_SESSION_ENDED] = 0,
};

void local_session_enter(struct local_session *session, enum local_session_state state)
{
	invariant(state_allows(session_edges, session->state, state));
	/* The call that opened it has been told, or is about to be told. */
	invariant(!session->opener);
	invariant(session->current ? state != LOCAL_SESSION_IDLE : state != LOCAL_SESSION_BUSY);
	session->state = state;
}
