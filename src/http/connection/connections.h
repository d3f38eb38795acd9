/* SPDX-License-Identifier: Apache-2.0 */
/* All connections of a server: accepting, ending, and evicting them. */
#ifndef BRIG_HTTP_CONNECTIONS_H
#define BRIG_HTTP_CONNECTIONS_H

#include "http/connection/connection.h"

/* Takes the socket over, also when it fails. */
void connections_accept(struct http_server *server, int fd);
/*
 * Ends the least important connection: the longest idle one, else the one with the slowest head.
 * False: there is none, or it is too new to have had a chance.
 */
bool connections_evict(struct http_server *server);
/* Moves it to the end of a queue, from the one that it was in; NULL: to none. */
void connections_queue(struct http_connection *c, struct connection_queue *queue);
/* Ends it now: its exchange is abandoned, its memory freed. */
void connection_end(struct http_connection *c);
#endif
