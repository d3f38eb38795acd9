/* SPDX-License-Identifier: Apache-2.0 */
/* One request and its answer as the server's own parts see it. */
#ifndef BRIG_HTTP_EXCHANGE_H
#define BRIG_HTTP_EXCHANGE_H

#include "http/connection.h"
#include "http/reader.h"

struct exchange {
	struct http_exchange shown;
	struct http_connection
		*connection; /* NULL: the client is gone, or the answer is complete */
	struct http_reader reader;
	struct buf headers; /* of the answer */
	bool given;         /* the handler has it */
	bool in_callback;   /* whoever called back frees it */
	bool streaming;
	bool chunked; /* the stream is */
	bool ended;
};

/* NULL: out of memory. */
struct exchange *exchange_new(struct http_connection *c);
void exchange_free(struct exchange *x);
/* The request has no client any more; frees it, unless a handler still has to answer it. */
void exchange_abandon(struct exchange *x);

/* The head is complete: asks whether to go on. The reader is in another state afterwards, or the
 * exchange is over. */
void exchange_admit(struct exchange *x);
/* The request is complete. */
void exchange_handle(struct exchange *x);
/* No body may follow the answer's head. */
bool exchange_is_head(const struct exchange *x);
#endif
