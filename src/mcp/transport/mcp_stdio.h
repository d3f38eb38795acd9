/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MCP over two descriptors, for a client that starts the server as a child process: one message a
 * line, nothing else. Serves both eras at once.
 */
#ifndef BRIG_MCP_MCP_STDIO_H
#define BRIG_MCP_MCP_STDIO_H

#include "mcp/mcp.h"

struct mcp_stdio;

/*
 * The descriptors remain the caller's, and may block; SIGPIPE must be ignored. `ended` is called
 * once, from the loop: the client closed its end, and calls in progress have been answered, or
 * cancelled after a moment. mcp_stdio_free() may be called from there.
 */
int mcp_stdio_new(struct mcp_server *server, int in, int out, const char *tenant,
		  void (*ended)(void *user), void *user, struct mcp_stdio **ret);
void mcp_stdio_free(struct mcp_stdio *stdio);
#endif
