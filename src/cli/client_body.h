/* SPDX-License-Identifier: Apache-2.0 */
/* The body of an HTTP answer, out of its framing. Private to client. */
#ifndef BRIG_CLI_CLIENT_BODY_H
#define BRIG_CLI_CLIENT_BODY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct client_body {
	int (*take)(void *user, const char *data, size_t size);
	void *user;
	bool chunked, counted;
	uint64_t left;   /* of the body, or of this chunk */
	struct buf line; /* a chunk's size, as far as it is here */
	enum { CHUNK_SIZE = 0, CHUNK_DATA, CHUNK_NEWLINE, CHUNK_LAST, CHUNK_END } place;
};

/* 0, what `take` said if not 0, or -EPROTO. */
int client_body_take(struct client_body *body, const char *data, size_t size);
/* No more will come; and: it may end here. */
bool client_body_ended(const struct client_body *body);
bool client_body_complete(const struct client_body *body);
#endif
