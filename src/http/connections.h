/* SPDX-License-Identifier: Apache-2.0 */
/* All connections of a server: how they come, how they go, and who gives way to another. */
#ifndef BRIG_HTTP_CONNECTIONS_H
#define BRIG_HTTP_CONNECTIONS_H

#include "http/connection.h"

/* Takes the socket over, also when it fails. */
void connections_accept(struct http_server *server, int fd);
/*
 * Ends the one that is missed least: the longest idle, else the slowest head. False: there is none,
 * or it has only just come and had no chance yet.
 */
bool connections_evict(struct http_server *server);
/* Puts it at the end of a queue, out of the one that it was in; NULL: into none. */
void connections_queue(struct http_connection *c, struct connection_queue *queue);
/* Now, and for good: its exchange is abandoned, its memory freed. */
void connection_end(struct http_connection *c);
#endif
