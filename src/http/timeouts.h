/* SPDX-License-Identifier: Apache-2.0 */
/* When a connection has waited long enough. */
#ifndef BRIG_HTTP_TIMEOUTS_H
#define BRIG_HTTP_TIMEOUTS_H

#include <stddef.h>

struct http_connection;

/* The connection is in another state. */
void timeouts_enter(struct http_connection *c);
/* Bytes of the body came. */
void timeouts_came(struct http_connection *c, size_t size);
/* The kernel took bytes of the answer (0 is fine: there is more to be taken). */
void timeouts_taken(struct http_connection *c, size_t size);
#endif
