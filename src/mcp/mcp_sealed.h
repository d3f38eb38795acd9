/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requestState: what a tool wants to know again when the client repeats its request. The client
 * carries it and may not change it, give it to others, keep it for long or send it with another
 * request.
 */
#ifndef BRIG_MCP_MCP_SEALED_H
#define BRIG_MCP_MCP_SEALED_H

#include <jansson.h>
#include <stdint.h>

#define MCP_SEAL_KEY 32

/* What a state is good for. */
struct mcp_seal {
	const uint8_t *key; /* MCP_SEAL_KEY bytes */
	const char *tenant;
	const char *method;
	const char *name;        /* of the tool, prompt or resource */
	const json_t *arguments; /* or NULL */
	uint64_t now_s;          /* CLOCK_REALTIME: a key may outlive a process */
};

/* To be free()d; NULL without memory. */
char *mcp_seal(const struct mcp_seal *seal, const char *state, uint64_t good_s);
/* The state, to be free()d; NULL: not ours, not for this, or too old. */
char *mcp_unseal(const struct mcp_seal *seal, const char *sealed);
#endif
