/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a stream of events (SSE) of a service. */
#ifndef BRIG_CLI_SERVICE_EVENT_READER_H
#define BRIG_CLI_SERVICE_EVENT_READER_H

#include <jansson.h>

#include "base/bytes/buf.h"

struct event_reader {
	/* 0: continue; 1: enough; or -errno. `text` is the event's data as received. */
	int (*take)(void *user, const char *name, json_t *data, const char *text);
	void *user;
	struct buf text; /* of the current event */
};

/* Has the type of client_request.take: `user` is the reader. */
int event_reader_take(void *reader, const char *data, size_t size);
void event_reader_done(struct event_reader *reader);

/* The bytes of an `output` event; *ret_fd is 1 or 2. -EPROTO: it has none. */
int event_output(json_t *data, struct buf *ret, int *ret_fd);
#endif
