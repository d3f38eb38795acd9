/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a session, and of its channel: the allowed changes. */
#include "base/invariant.h"
#include "lib/session/session.h"

static const uint32_t session_edges[SESSION_STATES] = {
	[SESSION_OPENING] = STATE_BIT(SESSION_IDLE) | STATE_BIT(SESSION_GONE),
	[SESSION_IDLE] = STATE_BIT(SESSION_BUSY) | STATE_BIT(SESSION_GONE),
	/* IDLE: there was no memory for the run's result. */
	[SESSION_BUSY] = STATE_BIT(SESSION_INTERRUPTED) | STATE_BIT(SESSION_COLLECTING) |
			 STATE_BIT(SESSION_IDLE) | STATE_BIT(SESSION_GONE),
	[SESSION_INTERRUPTED] =
		STATE_BIT(SESSION_COLLECTING) | STATE_BIT(SESSION_IDLE) | STATE_BIT(SESSION_GONE),
	/* Its cell is not stepped meanwhile, and so its end is noticed afterwards. */
	[SESSION_COLLECTING] = STATE_BIT(SESSION_IDLE),
	[SESSION_GONE] = 0,
};

void session_enter(struct brig_session *session, enum session_state state)
{
	invariant(state_allows(session_edges, session->state, state));
	session->state = state;
}

static const enum brig_session_state shown[SESSION_STATES] = {
	[SESSION_OPENING] = BRIG_SESSION_OPENING, [SESSION_IDLE] = BRIG_SESSION_IDLE,
	[SESSION_BUSY] = BRIG_SESSION_BUSY,       [SESSION_INTERRUPTED] = BRIG_SESSION_BUSY,
	[SESSION_COLLECTING] = BRIG_SESSION_BUSY, [SESSION_GONE] = BRIG_SESSION_GONE,
};

enum brig_session_state brig_session_state(const struct brig_session *session)
{
	return shown[session->state];
}

static const uint32_t channel_edges[CHANNEL_STATES] = {
	[CHANNEL_OPENING] = STATE_BIT(CHANNEL_IDLE),
	[CHANNEL_IDLE] = STATE_BIT(CHANNEL_AWAITING),
	[CHANNEL_AWAITING] = STATE_BIT(CHANNEL_IDLE),
};

void channel_enter(struct channel *channel, enum channel_state state)
{
	invariant(state_allows(channel_edges, channel->state, state));
	channel->state = state;
}
