/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a connection: which state follows which. See connection.h. */
#include "gate/connection/connection.h"

#define BIT(name) STATE_BIT(CONNECTION_##name)

static const uint32_t connection_edges[CONNECTION_STATES] = {
	[CONNECTION_INSPECTING] = BIT(RESOLVING) | BIT(CLOSING) | BIT(CUT),
	[CONNECTION_RESOLVING] = BIT(DIALLING) | BIT(CLOSING) | BIT(CUT),
	/* The next address is tried. */
	[CONNECTION_DIALLING] = BIT(DIALLING) | BIT(HANDSHAKE) | BIT(ANSWERING) | BIT(PASSING) |
				BIT(CLOSING) | BIT(CUT),
	[CONNECTION_HANDSHAKE] = BIT(PASSING) | BIT(CLOSING) | BIT(CUT),
	[CONNECTION_ANSWERING] = BIT(PASSING) | BIT(CUT),
	[CONNECTION_PASSING] = BIT(CLOSING) | BIT(CUT),
	[CONNECTION_CLOSING] = 0,
	[CONNECTION_CUT] = 0,
};

void cell_connection_enter(struct cell_connection *c, enum connection_state state)
{
	invariant(state_allows(connection_edges, c->state, state));
	c->state = state;
	/* Nothing passes without two sides, and TLS is opened on both or on none. */
	invariant(!connection_passes(c) || (c->inside >= 0 && c->outside >= 0));
	invariant(!connection_passes(c) || (c->in_end != NULL) == (c->out_end != NULL));
	invariant(c->in_end || (state != CONNECTION_HANDSHAKE && state != CONNECTION_CLOSING));
}
