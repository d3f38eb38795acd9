/*
 * The head of an HTTP/1 request: is it for the host that the connection was made for, and can it be
 * read in one way only? Written again with what the gate adds: credentials, and the end of the
 * connection after this request, because the next one would not be looked at. Pure.
 */
#ifndef BRIG_GATE_HTTP_HEAD_H
#define BRIG_GATE_HTTP_HEAD_H

#include <stdint.h>

#include "base/buf.h"
#include "net/name.h"

#define HTTP_HEAD_MAX 32768

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

struct http_head {
	size_t size;   /* of the head that was read */
	uint64_t body; /* bytes behind it that belong to it... */
	bool chunked;  /* ...or as many as its chunks have */
};

/*
 * 0: `out` has the new head; -EAGAIN: it goes on; -EBADMSG: it is no such request; -EPERM: it is
 * for another host; -ENOMEM.
 */
int http_head_rewrite(const char *data, size_t size, const struct http_expect *expect,
		      struct http_head *ret, struct buf *out);
#endif
