/* SPDX-License-Identifier: Apache-2.0 */
/* Timeouts of a connection. */
#ifndef BRIG_HTTP_TIMEOUTS_H
#define BRIG_HTTP_TIMEOUTS_H

#include <stddef.h>

struct http_connection;

/* The connection has entered another state. */
void timeouts_enter(struct http_connection *c);
/* Bytes of the body have arrived. */
void timeouts_came(struct http_connection *c, size_t size);
/* The kernel took bytes of the answer (0 is fine: there is more to send). */
void timeouts_taken(struct http_connection *c, size_t size);
#endif
