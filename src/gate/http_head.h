/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of an HTTP/1 request: is it for the host that the connection was made for? Written again
 * with what the gate adds: credentials, and the end of the connection after this request, because
 * the next one would not be inspected. And where its body ends. The bytes are read by http1. Pure.
 */
#ifndef BRIG_GATE_HTTP_HEAD_H
#define BRIG_GATE_HTTP_HEAD_H

#include <stdint.h>

#include "base/buf.h"
#include "http1/http1.h"
#include "net/name.h"

#define HTTP_HEAD_MAX 32768

/* No chunk extensions and no trailers, which servers and proxies have read differently. */
extern const struct http1_rules http_head_rules;

struct http_extra {
	const char *header, *value; /* replaces what the program has sent under this name */
};

struct http_expect {
	const char *name; /* of the host, in its one spelling */
	uint16_t port;
	const char *scheme; /* "http://", or "https://" where TLS was opened */
	const struct http_extra *extras;
	size_t extras_count;
};

/*
 * `data`: all that has come; the reader goes on where it was. 0: `out` has the new head, and the
 * reader is at the body; -EAGAIN: it goes on; -EBADMSG: it is no such request; -EPERM: it is for
 * another host; -ENOMEM.
 */
int http_head_rewrite(struct http1_reader *reader, const char *data, size_t size,
		      const struct http_expect *expect, struct buf *out);
/* How many of these bytes belong to the body; or -EBADMSG. */
long http_body_take(struct http1_reader *reader, const char *data, size_t size);
#endif
