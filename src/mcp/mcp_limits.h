/* SPDX-License-Identifier: Apache-2.0 */
/* Limits on everything that a client controls, except those in struct mcp_options. */
#ifndef BRIG_MCP_MCP_LIMITS_H
#define BRIG_MCP_MCP_LIMITS_H

/* Nesting of a message. */
#define MCP_DEPTH_MAX 64
/* Values in a message: each takes some hundred bytes of memory, however short its text is. */
#define MCP_VALUES_MAX 65536
/* Messages in a batch (up to 2025-03-26). */
#define MCP_BATCH_MAX 64
/* Batches of a session (HTTP) that have messages to take. By stdio what comes behind one waits. */
#define MCP_BATCHES_MAX 4
/* Bytes of a batch's answers; and of those that wait in all batches of a tenant. */
#define MCP_BATCH_BYTES_MAX        4194304
#define MCP_TENANT_BATCH_BYTES_MAX 33554432
/* Characters of a request's id, and of a progress token. */
#define MCP_ID_MAX 256
/* Resources that one client may watch. */
#define MCP_WATCHED_MAX 64
#define MCP_URI_MAX     2048
/* Bytes of a requestState, sealed. */
#define MCP_STATE_MAX 65536
/* Bytes of a prompt's argument, which is repeated in the answer. */
#define MCP_PROMPT_ARGUMENT_MAX 65536
/* Bytes of an unknown version that are repeated in the error. */
#define MCP_VERSION_SHOWN 64
/*
 * Bytes of a request (HTTP) whose client may leave and come back: while it is away, no exchange is
 * there that the body counts for.
 */
#define MCP_AWAY_BODY_MAX 262144
/* Bytes that a slow client may leave waiting before it misses progress and log messages. */
#define MCP_BACKLOG_LOSSY 262144
/* Unread bytes above which requests of a stdio client are not read any more. */
#define MCP_BACKLOG_PAUSE 1048576
#endif
