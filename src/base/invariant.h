/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assertions that stay on in every build, and tables of the changes that a state allows.
 *
 * An invariant is a claim about brig's own code: no input, peer, tenant, program, or failure of the
 * host can make it false. A process in which one is false does not know what it does any more, and
 * ends before it does harm. Everything that others can cause is an error of their request instead.
 *
 *	static const uint32_t door_edges[] = {
 *		[DOOR_OPEN] = STATE_BIT(DOOR_CLOSED),
 *		[DOOR_CLOSED] = STATE_BIT(DOOR_OPEN) | STATE_BIT(DOOR_LOCKED),
 *		[DOOR_LOCKED] = 0,
 *	};
 *
 *	static void door_enter(struct door *door, enum door_state state)
 *	{
 *		invariant(state_allows(door_edges, door->state, state));
 *		door->state = state;
 *	}
 */
#ifndef BRIG_BASE_INVARIANT_H
#define BRIG_BASE_INVARIANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((cold, noreturn, unused)) static void invariant_failed(const char *file, int line,
								     const char *text)
{
	/* Not stdio's buffers: the heap may be what is wrong. */
	dprintf(2, "%s:%d: invariant is false: %s\n", file, line, text);
	abort();
}

#define invariant(condition)                                                                       \
	((condition) ? (void)0 : invariant_failed(__FILE__, __LINE__, #condition))

/* The states of one life are numbered from 0; a table has a set of next ones for each of them. */
#define STATE_BIT(state) (UINT32_C(1) << (state))

static inline bool state_in_table(const uint32_t *edges, size_t count, unsigned from, unsigned to)
{
	return from < count && to < count && to < 32 && (edges[from] & STATE_BIT(to)) != 0;
}

/* May a life go from one state to the other? `edges` is the array itself. */
#define state_allows(edges, from, to)                                                              \
	state_in_table(edges, sizeof(edges) / sizeof((edges)[0]), from, to)
#endif
