/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig's own tools for MCP: run code, sessions, their files. The names of the tools and the schemas
 * of their arguments are data (data/tools); each tool is one function (tools.c).
 */
#ifndef BRIG_TOOLS_TOOLS_H
#define BRIG_TOOLS_TOOLS_H

#include "engine/engine.h"
#include "mcp/mcp.h"

struct tools;

struct tools_options {
	const char *policy; /* of every run; NULL: "default" */
	bool consent;       /* a person has agreed to runs for which the policy requires it */
	bool consent_asked; /* a call may contain consent: the engine checks the caller's right */
	/* May that caller pass on the consent of a person whom its client asks? NULL: none may. */
	bool (*may_consent)(void *user, const char *caller);
	void *user; /* for may_consent */
};

/* The engine remains the caller's, and must outlive the tools. */
int tools_new(struct loop *loop, struct engine *engine, const struct tools_options *options,
	      struct tools **ret, struct brig_error *error);
/* For mcp_server_new(). */
const struct mcp_provider *tools_provider(const struct tools *tools);
/* Call after the MCP server has been freed. */
void tools_free(struct tools *tools);
#endif
