/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of requests: a forwarded head is for the host, has one length, and parses the same. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gate/connection/http_head.h"

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

static int rewrite(struct http1_reader *reader, const char *text, size_t size,
		   const struct http_expect *expect, struct buf *out)
{
	http1_init(reader, &http_head_rules);
	return http_head_rewrite(reader, text, size, expect, out);
}

/* The length of a body does not depend on its pieces. */
static void measure(const struct http1_reader *at_body, const char *data, size_t size)
{
	struct http1_reader whole = *at_body, parts = *at_body;
	long all = http_body_take(&whole, data, size);
	long first = http_body_take(&parts, data, size / 2);
	long second =
		first < 0 ? first : http_body_take(&parts, data + first, size - (size_t)first);

	if (all > (long)size || (all >= 0) != (second >= 0) ||
	    (all >= 0 && (first + second != all || parts.state != whole.state))) {
		abort();
	}
}

/* Nor does the number of pieces of the head matter. */
static void read_pieces(const char *text, size_t size, const struct http_expect *expect, int whole)
{
	struct http1_reader reader;
	struct buf out = { 0 };
	int r = -EAGAIN;

	http1_init(&reader, &http_head_rules);
	for (size_t came = 0; r == -EAGAIN && came < size;) {
		came += (came % 7) + 1;
		came = came < size ? came : size;
		r = http_head_rewrite(&reader, text, came, expect, &out);
	}
	if (r != whole) {
		abort();
	}
	buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct http_extra extra = { "X-Key", "secret" };
	struct http_expect expect = { .name = "a.test",
				      .port = 80,
				      .scheme = "http://",
				      .extras = &extra,
				      .extras_count = 1 };
	struct http1_reader head, again;
	const char *text = (const char *)data;
	struct buf out = { 0 }, twice = { 0 };

	int whole = rewrite(&head, text, size, &expect, &out);
	read_pieces(text, size, &expect, whole);
	if (whole == 0) {
		measure(&head, text + head.head_size, size - head.head_size);
		if (head.head_size > size || strlen(out.data) != out.size ||
		    count(out.data, "host:") != 1 || count(out.data, "x-key:") != 1 ||
		    count(out.data, "content-length:") + count(out.data, "transfer-encoding:") >
			    1 ||
		    count(out.data, "connection: close") != 1) {
			abort();
		}
		int r = rewrite(&again, out.data, out.size, &expect, &twice);
		if (r < 0 || again.head_size != out.size || again.left != head.left ||
		    again.framing.chunked != head.framing.chunked || twice.size != out.size) {
			abort();
		}
	}
	buf_done(&out);
	buf_done(&twice);
	return 0;
}
