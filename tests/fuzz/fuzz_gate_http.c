/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of requests: what is passed on is for the host, has one length, and reads the same. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gate/chunks.h"
#include "gate/http_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many lines begin with this. */
static unsigned count(const char *head, const char *field)
{
	unsigned found = 0;

	for (const char *at = head; (at = strstr(at, "\r\n")); at += 2) {
		found += strncasecmp(at + 2, field, strlen(field)) == 0;
	}
	return found;
}

/* A body is as long as it is, however it comes. */
static void measure(const char *data, size_t size)
{
	struct chunks whole = { 0 }, parts = { 0 };
	long all = chunks_take(&whole, data, size);
	long first = chunks_take(&parts, data, size / 2);
	long second = first < 0 ? first : chunks_take(&parts, data + first, size - (size_t)first);

	if (all > (long)size || (all >= 0) != (second >= 0) ||
	    (all >= 0 && (first + second != all || parts.state != whole.state))) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct http_extra extra = { "X-Key", "secret" };
	struct http_expect expect = { .name = "a.test",
				      .port = 80,
				      .scheme = "http://",
				      .extras = &extra,
				      .extras_count = 1 };
	struct http_head head, again;
	struct buf out = { 0 }, twice = { 0 };

	measure((const char *)data, size);
	if (http_head_rewrite((const char *)data, size, &expect, &head, &out) == 0) {
		if (head.size > size || strlen(out.data) != out.size ||
		    count(out.data, "host:") != 1 || count(out.data, "x-key:") != 1 ||
		    count(out.data, "content-length:") + count(out.data, "transfer-encoding:") >
			    1 ||
		    count(out.data, "connection: close") != 1) {
			abort();
		}
		int r = http_head_rewrite(out.data, out.size, &expect, &again, &twice);
		if (r < 0 || again.size != out.size || again.body != head.body ||
		    again.chunked != head.chunked || twice.size != out.size) {
			abort();
		}
	}
	buf_done(&out);
	buf_done(&twice);
	return 0;
}
