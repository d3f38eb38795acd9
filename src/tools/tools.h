/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig's own tools for MCP: run code, sessions, their files. What a tool is called and how its
 * arguments look is data (data/tools); what it does is one function each (tools_table.c).
 */
#ifndef BRIG_TOOLS_TOOLS_H
#define BRIG_TOOLS_TOOLS_H

#include "engine/engine.h"
#include "mcp/mcp.h"

struct tools;

struct tools_options {
	const char *policy; /* of every run; NULL: "default" */
	bool consent;       /* a person has agreed to runs where the policy asks for it */
	bool consent_asked; /* a call may say so: the engine knows who may */
	/* May that caller hand on the consent of a person whom its client asks? NULL: none may. */
	bool (*may_consent)(void *user, const char *caller);
	void *user; /* of it */
};

/* The engine stays the caller's, and must stay as long. */
int tools_new(struct loop *loop, struct engine *engine, const struct tools_options *options,
	      struct tools **ret, struct brig_error *error);
/* For mcp_server_new(). */
const struct mcp_provider *tools_provider(const struct tools *tools);
/* After the MCP server is gone. */
void tools_free(struct tools *tools);
#endif
