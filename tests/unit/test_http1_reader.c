/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of HTTP/1: requests in any pieces, and refused ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "http1_fixture.h"

#define HOST    "Host: a\r\n"
#define CHUNKED "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"

static const struct http1_rules request_rules = {
	.kind = HTTP1_REQUEST,
	.head_bytes = 200,
	.fields = 4,
};
static const struct http1_rules extra_rules = {
	.kind = HTTP1_REQUEST,
	.head_bytes = 200,
	.fields = 4,
	.extra_bytes = 20,
};
static const struct http1_rules raw_rules = {
	.kind = HTTP1_REQUEST,
	.head_bytes = 200,
	.fields = 4,
	.raw_target = true,
};
static void check_field(const struct fixture *f, size_t *at, const char *name, const char *value)
{
	struct http1_field field;

	assert_true(http1_next_field(f->head.data, at, &field));
	assert_int_equal(field.name.size, strlen(name));
	assert_memory_equal(field.name.at, name, strlen(name));
	assert_int_equal(field.value.size, strlen(value));
	assert_memory_equal(field.value.at, value, strlen(value));
}

static void check_pieces(const struct fixture *f)
{
	const struct http1_reader *reader = &f->reader;
	size_t at = reader->fields_at;
	struct http1_field field;

	assert_int_equal(reader->state, HTTP1_DONE);
	assert_int_equal(f->lines, 1);
	assert_int_equal(reader->line.method_size, 4);
	assert_int_equal(reader->line.target_size, 4);
	assert_memory_equal(f->head.data + reader->line.target_at, "/a?b", 4);
	check_field(f, &at, "Host", "a");
	check_field(f, &at, "X", "b \t c");
	check_field(f, &at, "Y", "");
	check_field(f, &at, "transfer-encoding", "Chunked");
	assert_false(http1_next_field(f->head.data, &at, &field));
	assert_int_equal(f->body.size, 13);
	assert_string_equal(f->body.data, "abc0123456789");
	assert_true(reader->framing.keep_alive);
}

static void test_pieces(void **state)
{
	static const char text[] = "POST /a?b HTTP/1.1\r\n" HOST "X: \t b \t c \r\nY: \r\n"
				   "transfer-encoding:Chunked\r\n\r\n"
				   "3\r\nabc\r\n0A\r\n0123456789\r\n00\r\n\r\nGET /";

	(void)state;
	for (size_t piece = 1; piece <= sizeof(text); piece++) {
		struct fixture f;
		begin(&f, &request_rules);
		assert_int_equal(feed(&f, text, piece), strlen(text) - strlen("GET /"));
		check_pieces(&f);
		end(&f);
	}
}

static void test_refused_heads(void **state)
{
	static const struct {
		const char *text;
		enum http1_error error;
	} cases[] = {
		{ "\r\nGET", HTTP1_BAD_METHOD },
		{ " GET", HTTP1_BAD_LINE },
		{ "G(T", HTTP1_BAD_METHOD },
		{ "GET\r", HTTP1_BAD_LINE },
		{ "GET  /", HTTP1_BAD_LINE },
		{ "GET /\r", HTTP1_BAD_LINE },
		{ "GET /\t", HTTP1_BAD_LINE_BYTE },
		{ "GET /\xc3\xa9", HTTP1_BAD_LINE_BYTE },
		{ "GET / HTTP/1.1\n", HTTP1_BARE_LF },
		{ "GET / HTTP/1.1 ", HTTP1_BAD_LINE },
		{ "GET / HTTP/1.10", HTTP1_BAD_VERSION },
		{ "GET / http/1.1\r\n", HTTP1_BAD_VERSION },
		{ "GET / HTTP/1.x\r\n", HTTP1_BAD_VERSION },
		{ "GET / \r\n", HTTP1_BAD_VERSION },
		{ "GET / HTTP/2.0\r\n", HTTP1_OTHER_VERSION },
		{ "GET / HTTP/1.2\r\n", HTTP1_OTHER_VERSION },
		{ "GET / HTTP/1.1\rX", HTTP1_BARE_CR },
		{ "GET / HTTP/1.1\r\n X", HTTP1_FOLDED },
		{ "GET / HTTP/1.1\r\n" HOST "\t", HTTP1_FOLDED },
		{ "GET / HTTP/1.1\r\n:", HTTP1_BAD_NAME },
		{ "GET / HTTP/1.1\r\nX\r", HTTP1_BAD_NAME },
		{ "GET / HTTP/1.1\r\nX :", HTTP1_SPACE_BEFORE_COLON },
		{ "GET / HTTP/1.1\r\nX: \x01", HTTP1_BAD_VALUE },
		{ "GET / HTTP/1.1\r\nX: \x7f", HTTP1_BAD_VALUE },
		{ "GET / HTTP/1.1\r\nX: a\n", HTTP1_BARE_LF },
		{ "GET / HTTP/1.1\r\nX: a\rb", HTTP1_BARE_CR },
		{ "GET / HTTP/1.1\r\n" HOST "\n", HTTP1_BARE_LF },
		{ "GET / HTTP/1.1\r\n" HOST "\rX", HTTP1_BARE_CR },
		{ "GET / HTTP/1.1\r\nA:\r\nB:\r\nC:\r\nD:\r\nE:\r\n", HTTP1_MANY_FIELDS },
		{ "GET / HTTP/1.1\r\n\r\n", HTTP1_NO_HOST },
		{ "GET / HTTP/1.1\r\n" HOST HOST "\r\n", HTTP1_REPEATED },
		{ "GET / HTTP/1.0\r\n" HOST HOST "\r\n", HTTP1_REPEATED },
		{ "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", HTTP1_BAD_HOST },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: +1\r\n\r\n", HTTP1_BAD_LENGTH },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n", HTTP1_BAD_LENGTH },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 1, 1\r\n\r\n", HTTP1_BAD_LENGTH },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 1234567890123456789\r\n\r\n",
		  HTTP1_BAD_LENGTH },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nCONTENT-length: 1\r\n\r\n",
		  HTTP1_REPEATED },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 21\r\n\r\n", HTTP1_LARGE_BODY },
		{ "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n",
		  HTTP1_BAD_ENCODING },
		{ "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding:\r\n\r\n", HTTP1_BAD_ENCODING },
		{ "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP1_OLD_ENCODING },
		{ "GET / HTTP/1.1\r\n" HOST
		  "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n",
		  HTTP1_LENGTH_AND_ENCODING },
		{ "GET / HTTP/1.1\r\n" HOST "Expect: x\r\nExpect: x\r\n\r\n", HTTP1_REPEATED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_error(&request_rules, cases[i].text, cases[i].error);
	}
}

static void test_refused_chunks(void **state)
{
	static const struct {
		const char *text;
		enum http1_error error;
	} cases[] = {
		{ CHUNKED "\r\n", HTTP1_BAD_CHUNK },
		{ CHUNKED "+1", HTTP1_BAD_CHUNK },
		{ CHUNKED "0x1", HTTP1_BAD_CHUNK_SIZE_END },
		{ CHUNKED "1 \r", HTTP1_BAD_CHUNK_SIZE_END },
		{ CHUNKED "1\n", HTTP1_BAD_CHUNK_SIZE_END },
		{ CHUNKED "1\rX", HTTP1_BAD_CHUNK_SIZE_END },
		{ CHUNKED "1;a\r\n", HTTP1_BAD_CHUNK_SIZE_END },
		{ CHUNKED "000000001", HTTP1_LONG_CHUNK_SIZE },
		{ CHUNKED "15\r\n", HTTP1_LARGE_BODY },
		{ CHUNKED "10\r\n0123456789abcdef\r\n5\r\n", HTTP1_LARGE_BODY },
		{ CHUNKED "1\r\nab", HTTP1_LONG_CHUNK },
		{ CHUNKED "1\r\na\rb", HTTP1_BAD_CHUNK_END },
		{ CHUNKED "0\r\nA: b", HTTP1_BAD_TRAILER },
		{ CHUNKED "0\r\n\n", HTTP1_BAD_TRAILER },
		{ CHUNKED "0\r\n\rX", HTTP1_BAD_LAST_CHUNK },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_error(&request_rules, cases[i].text, cases[i].error);
	}
}

static void test_extra(void **state)
{
	static const char *const good[] = {
		CHUNKED "1;a\r\nx\r\n0\r\n\r\n",
		CHUNKED "1;a;b=c\r\nx\r\n0\r\n\r\n",
		CHUNKED "1;a=\"b; c\"\r\nx\r\n0\r\n\r\n",
		CHUNKED "1\r\nx\r\n0;a\r\nA: b\r\nC:\r\n\r\n",
	};
	static const struct {
		const char *text;
		enum http1_error error;
	} bad[] = {
		{ CHUNKED "1;\r\n", HTTP1_BAD_EXTENSION },
		{ CHUNKED "1; a\r\n", HTTP1_BAD_EXTENSION },
		{ CHUNKED "1;a=\r\n", HTTP1_BAD_EXTENSION },
		{ CHUNKED "1;a=\"b\r\n", HTTP1_BAD_EXTENSION },
		{ CHUNKED "1;a\n", HTTP1_BAD_EXTENSION },
		{ CHUNKED "1;aaaaaaaaaaaaaaaaaaaaa\r\n", HTTP1_LARGE_EXTRA },
		{ CHUNKED "1;aaaaaaa\r\nx\r\n1;aaaaaaaa\r\nx\r\n0\r\nA: bcdef\r\n",
		  HTTP1_LARGE_EXTRA },
		{ CHUNKED "0\r\nA : b\r\n", HTTP1_BAD_TRAILER },
		{ CHUNKED "0\r\nA: b\n", HTTP1_BAD_TRAILER },
		{ CHUNKED "0\r\n A: b", HTTP1_BAD_TRAILER },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct fixture f;
		begin(&f, &extra_rules);
		assert_int_equal(feed(&f, good[i], 1), strlen(good[i]));
		assert_int_equal(f.reader.state, HTTP1_DONE);
		assert_string_equal(f.body.data, "x");
		end(&f);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		check_error(&extra_rules, bad[i].text, bad[i].error);
	}
}

/* The last byte that fits is accepted, the next one is not. */
static void test_head_limits(void **state)
{
	char line[300], head[300] = "GET / HTTP/1.1\r\n" HOST "X:";
	struct fixture f;

	(void)state;
	memset(line, 'a', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	check_error(&request_rules, line, HTTP1_LONG_LINE);
	memset(head + strlen(head), 'a', 200 - 4 - strlen(head));
	memcpy(head + 196, "\r\n\r\n", 5);
	begin(&f, &request_rules);
	assert_int_equal(feed(&f, head, 7), 200);
	assert_int_equal(f.reader.state, HTTP1_DONE);
	end(&f);
	memcpy(head + 196, "a\r\n\r\n", 6);
	check_error(&request_rules, head, HTTP1_LARGE_HEAD);
}

static void test_connection(void **state)
{
	static const struct {
		const char *text;
		bool keep_alive, upgrade;
	} cases[] = {
		{ "GET / HTTP/1.1\r\n" HOST "\r\n", true, false },
		{ "GET / HTTP/1.0\r\n\r\n", false, false },
		{ "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true, false },
		{ "GET / HTTP/1.0\r\nConnection: keep-alive,close\r\n\r\n", false, false },
		{ "GET / HTTP/1.1\r\n" HOST "Connection: , a , Close\r\n\r\n", false, false },
		{ "GET / HTTP/1.1\r\n" HOST "Connection: a\r\nConnection: close\r\n\r\n", false,
		  false },
		{ "GET / HTTP/1.1\r\n" HOST "Connection: not close\r\n\r\n", true, false },
		{ "GET / HTTP/1.1\r\n" HOST "Upgrade: x\r\n\r\n", true, false },
		{ "GET / HTTP/1.1\r\n" HOST "Upgrade: x\r\nConnection: upgrade\r\n\r\n", true,
		  true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f;
		begin(&f, &request_rules);
		feed(&f, cases[i].text, 5);
		assert_int_equal(f.reader.state, HTTP1_DONE);
		assert_int_equal(f.reader.framing.keep_alive, cases[i].keep_alive);
		assert_int_equal(f.reader.framing.upgrade, cases[i].upgrade);
		end(&f);
	}
}

static void test_expectations(void **state)
{
	static const struct {
		const char *text;
		bool to_continue, other;
	} cases[] = {
		{ "GET / HTTP/1.1\r\n" HOST "\r\n", false, false },
		{ "GET / HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\n\r\n", true, false },
		{ "GET / HTTP/1.1\r\n" HOST "Expect: 100-continue, x\r\n\r\n", false, true },
		{ "GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n", false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f;
		begin(&f, &request_rules);
		feed(&f, cases[i].text, 5);
		assert_int_equal(f.reader.state, HTTP1_DONE);
		assert_int_equal(f.reader.framing.expects_continue, cases[i].to_continue);
		assert_int_equal(f.reader.framing.expects_other, cases[i].other);
		end(&f);
	}
}

static void test_raw_target(void **state)
{
	static const char text[] = "GET /\xff\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n";
	struct fixture f;

	(void)state;
	begin(&f, &raw_rules);
	feed(&f, text, 3);
	assert_int_equal(f.reader.state, HTTP1_DONE);
	assert_int_equal(f.reader.line.target_size, 4);
	end(&f);
	check_error(&request_rules, text, HTTP1_BAD_LINE_BYTE);
}

static void test_hosts(void **state)
{
	static const char *const good[] = { "a",     "a.b-c_d~:1", "127.0.0.1:65535",
					    "[::1]", "[::1]:80",   "%2Ftmp%2fs" };
	static const char *const bad[] = { "",       ":80",    "a:",  "a:b",     "a:123456",
					   "a:1:2",  "[::1",   "[]",  "[g]",     "[",
					   "[::1]a", "[::1]:", "a/b", "a@b",     "a b",
					   "a,b",    "%2",     "%zz", "\xc3\xa9" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_true(http1_is_host(&(struct http1_text){ good[i], strlen(good[i]) }));
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_false(http1_is_host(&(struct http1_text){ bad[i], strlen(bad[i]) }));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),         cmocka_unit_test(test_refused_heads),
		cmocka_unit_test(test_refused_chunks), cmocka_unit_test(test_extra),
		cmocka_unit_test(test_head_limits),    cmocka_unit_test(test_connection),
		cmocka_unit_test(test_expectations),   cmocka_unit_test(test_raw_target),
		cmocka_unit_test(test_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
