/* SPDX-License-Identifier: Apache-2.0 */
/* The reader: bytes in any pieces, one request at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "http/http_limits.h"
#include "http/message/request_reader.h"

#define HOST "Host: a\r\n"

struct fixture {
	struct http_limits limits;
	struct body_pool pool;
	struct http_reader reader;
};

static void begin(struct fixture *f)
{
	limits_complete(&f->limits);
	f->pool = (struct body_pool){ .limit = f->limits.bodies_bytes };
	reader_init(&f->reader, &f->limits, &f->pool);
}

static void end(struct fixture *f)
{
	reader_done(&f->reader);
	assert_int_equal(f->pool.used, 0);
}

/* Feeds up to the end of the request or to an error; returns how much was consumed. */
static size_t feed(struct fixture *f, const char *text, size_t piece)
{
	size_t size = strlen(text), at = 0;

	while (at < size) {
		size_t part = size - at < piece ? size - at : piece;
		at += reader_feed(&f->reader, text + at, part);
		if (f->reader.state == READER_HEAD_DONE) {
			reader_go_on(&f->reader, f->limits.body_bytes, "http.body_bytes");
		}
		if (f->reader.state >= READER_DONE) {
			break;
		}
	}
	return at;
}

static void test_pieces(void **state)
{
	static const char text[] =
		"POST /a%20b?c HTTP/1.1\r\n" HOST "Accept: 1\r\nX:y\r\naccept:\t 2 \r\n"
		"Transfer-Encoding: chunked\r\n\r\n"
		"3\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\n"
		"GET / HTTP/1.1\r\n";

	(void)state;
	for (size_t piece = 1; piece <= sizeof(text); piece++) {
		struct fixture f = { 0 };
		begin(&f);
		assert_int_equal(feed(&f, text, piece),
				 strlen(text) - strlen("GET / HTTP/1.1\r\n"));
		assert_int_equal(f.reader.state, READER_DONE);
		assert_string_equal(f.reader.method, "POST");
		assert_string_equal(f.reader.target, "/a%20b?c");
		assert_string_equal(f.reader.path, "/a b");
		assert_string_equal(f.reader.target + f.reader.query_at, "c");
		assert_int_equal(f.reader.headers.count, 4);
		assert_string_equal(f.reader.headers.list[1].name, "Accept");
		assert_string_equal(f.reader.headers.list[1].value, "1, 2");
		assert_string_equal(f.reader.headers.list[2].value, "y");
		assert_int_equal(f.reader.body.size, 13);
		assert_string_equal(f.reader.body.data, "abc0123456789");
		assert_true(f.reader.http1.framing.keep_alive);
		end(&f);
	}
}

static void test_length(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	begin(&f);
	feed(&f, "PUT / HTTP/1.0\r\nContent-Length: 0005\r\n\r\nhe", 100);
	assert_int_equal(f.reader.state, READER_BODY);
	assert_int_equal(reader_wants(&f.reader, 100), 3);
	assert_int_equal(reader_wants(&f.reader, 2), 2);
	assert_int_equal(reader_feed(&f.reader, "lloX", 4), 3);
	assert_int_equal(f.reader.state, READER_DONE);
	assert_int_equal(f.reader.http1.line.minor, 0);
	assert_false(f.reader.http1.framing.keep_alive);
	assert_string_equal(f.reader.body.data, "hello");
	assert_int_equal(f.reader.body.capacity, 6);
	end(&f);
}

static void check_refused(const struct http_limits *limits, const char *text, int status)
{
	for (size_t piece = 1; piece <= strlen(text); piece += piece == 1 ? strlen(text) - 1 : 1) {
		struct fixture f = { .limits = *limits };
		begin(&f);
		feed(&f, text, piece);
		assert_int_equal(f.reader.state, READER_REFUSED);
		assert_int_equal(f.reader.status, status);
		assert_non_null(f.reader.why);
		end(&f);
	}
}

static void test_refused(void **state)
{
	static const struct http_limits limits = { .head_bytes = 200,
						   .headers = 3,
						   .body_bytes = 8 };
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		{ "\r\nGET / HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET / HTTP/1.1\n" HOST "\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "X: a\rb\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "X : a\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST " X: a\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST HOST "\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "X: \xc0\x80\r\n\r\n", 400 },
		{ "GET / HTTP/2.0\r\n", 505 },
		{ "FOO / HTTP/1.1\r\n", 501 },
		{ "CONNECT a:1 HTTP/1.1\r\n", 405 },
		{ "GET / HTTP/1.1\r\nA:1\r\nB:1\r\nC:1\r\nD:1\r\n", 431 },
		{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\n", 413 },
		{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400 },
		{ "PUT / HTTP/1.1\r\n" HOST "Transfer-Encoding: x\r\n\r\n", 400 },
		{ "PUT / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n9\r\n", 413 },
		{ "PUT / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n8;a", 400 },
		{ "PUT / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\nA: b", 400 },
		{ "PUT / HTTP/1.1\r\n" HOST "Expect: x\r\n\r\n", 417 },
	};
	char long_text[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_refused(&limits, cases[i].text, cases[i].status);
	}
	memset(long_text, 'a', sizeof(long_text));
	long_text[sizeof(long_text) - 1] = '\0';
	check_refused(&limits, long_text, 414);
	memcpy(long_text, "GET / HTTP/1.1\r\n", 16);
	check_refused(&limits, long_text, 431);
}

static void test_pool(void **state)
{
	struct fixture f = { .limits = { .bodies_bytes = 10000 } };
	char text[9000];

	(void)state;
	begin(&f);
	feed(&f, "PUT / HTTP/1.1\r\n" HOST "Content-Length: 20000\r\n\r\na", 100);
	assert_int_equal(f.pool.used, 4096);
	memset(text, 'a', sizeof(text));
	reader_feed(&f.reader, text, 5000);
	assert_int_equal(f.pool.used, 8192);
	reader_feed(&f.reader, text, 5000);
	assert_int_equal(f.reader.state, READER_REFUSED);
	assert_int_equal(f.reader.status, 503);
	assert_int_equal(f.pool.used, 8192);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
