/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that a client controls and that has a bound, but for what struct mcp_options says. */
#ifndef BRIG_MCP_MCP_LIMITS_H
#define BRIG_MCP_MCP_LIMITS_H

/* Nesting of a message. */
#define MCP_DEPTH_MAX 64
/* Values in a message: each takes some hundred bytes of memory, however short it was. */
#define MCP_VALUES_MAX 65536
/* Messages in a batch (up to 2025-03-26). */
#define MCP_BATCH_MAX 64
/* Characters of a request's id, and of a progress token. */
#define MCP_ID_MAX 256
/* Resources that one client may watch. */
#define MCP_WATCHED_MAX 64
#define MCP_URI_MAX     2048
/* Bytes of a requestState, sealed. */
#define MCP_STATE_MAX 65536
/* Bytes that a slow client may leave waiting before it misses progress and log messages. */
#define MCP_BACKLOG_LOSSY 262144
/* And before a stdio client's requests are not read any more. */
#define MCP_BACKLOG_PAUSE 1048576
#endif
