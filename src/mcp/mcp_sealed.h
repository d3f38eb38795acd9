/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requestState: data that a tool needs again when the client repeats its request. The client stores
 * it, but cannot change it, give it to another client, keep it for long or send it with another
 * request.
 */
#ifndef BRIG_MCP_MCP_SEALED_H
#define BRIG_MCP_MCP_SEALED_H

#include <jansson.h>
#include <stdint.h>

#define MCP_SEAL_KEY 32

/* The request that a state belongs to. */
struct mcp_seal {
	const uint8_t *key; /* MCP_SEAL_KEY bytes */
	const char *tenant;
	const char *method;
	const char *name;        /* of the tool, prompt or resource */
	const json_t *arguments; /* or NULL */
	uint64_t now_s;          /* CLOCK_REALTIME: a key may outlive a process */
};

/* The caller frees it; NULL without memory. */
char *mcp_seal(const struct mcp_seal *seal, const char *state, uint64_t good_s);
/* The state, which the caller frees; NULL: forged, for another request, or too old. */
char *mcp_unseal(const struct mcp_seal *seal, const char *sealed);
#endif
