/* SPDX-License-Identifier: Apache-2.0 */
/* One request and its answer, internal to the server. */
#ifndef BRIG_HTTP_EXCHANGE_H
#define BRIG_HTTP_EXCHANGE_H

#include "http/connection/connection.h"
#include "http/message/request_reader.h"

/* Its life: exchange_enter() is the only function that changes it. */
enum exchange_state {
	EXCHANGE_READING,   /* the request is not complete; the server owns it */
	EXCHANGE_GIVEN,     /* the handler owns it */
	EXCHANGE_STREAMING, /* the handler has begun to answer it in parts */
	EXCHANGE_ENDED,     /* it was answered, or cut */
	EXCHANGE_STATES
};

struct exchange {
	struct http_exchange shown;
	struct http_connection
		*connection; /* NULL: the client has left, or the answer is complete */
	struct http_reader reader;
	struct buf headers; /* of the answer */
	enum exchange_state state;
	bool in_callback; /* the function that called back frees it */
	bool chunked;     /* of the stream */
};

/* NULL: out of memory. */
struct exchange *exchange_new(struct http_connection *c);
void exchange_free(struct exchange *x);
void exchange_enter(struct exchange *x, enum exchange_state state);
/* The client of the request has left; frees it, unless a handler still has to answer it. */
void exchange_abandon(struct exchange *x);

/*
 * The head is complete: calls `admit`. Afterwards the reader is in another state, or the exchange
 * has ended.
 */
void exchange_admit(struct exchange *x);
/* The request is complete: calls the handler. */
void exchange_handle(struct exchange *x);
/* No body may follow the answer's head. */
bool exchange_is_head(const struct exchange *x);
#endif
