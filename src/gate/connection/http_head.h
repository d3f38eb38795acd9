/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of an HTTP/1 request: checks that it is for the host that the connection was made for.
 * The head is rewritten with credentials and "Connection: close", because a second request would
 * not be inspected. Also finds where the body ends. The bytes are parsed by http1. Pure.
 */
#ifndef BRIG_GATE_HTTP_HEAD_H
#define BRIG_GATE_HTTP_HEAD_H

#include <stdint.h>

#include "base/bytes/buf.h"
#include "http1/http1.h"
#include "net/name.h"

#define HTTP_HEAD_MAX 32768

/* No chunk extensions and no trailers, which servers and proxies have read differently. */
extern const struct http1_rules http_head_rules;

struct http_extra {
	const char *header, *value; /* replaces a header of this name from the program */
};

struct http_expect {
	const char *name; /* of the host, in its normal form */
	uint16_t port;
	const char *scheme; /* "http://", or "https://" where TLS was opened */
	const struct http_extra *extras;
	size_t extras_count;
};

/*
 * `data`: all bytes so far; the reader continues where it was. 0: `out` has the new head, and the
 * reader is at the body; -EAGAIN: more must come; -EBADMSG: not a valid request; -EPERM: it is for
 * another host; -ENOMEM.
 */
int http_head_rewrite(struct http1_reader *reader, const char *data, size_t size,
		      const struct http_expect *expect, struct buf *out);
/* How many of these bytes belong to the body; or -EBADMSG. */
long http_body_take(struct http1_reader *reader, const char *data, size_t size);
#endif
