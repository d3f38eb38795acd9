/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of HTTP/1: responses, how their bodies end, and refused ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "http1_fixture.h"

#define ANSWER "HTTP/1.1 200 OK\r\n"

static const struct http1_rules response_rules = {
	.kind = HTTP1_RESPONSE,
	.head_bytes = 200,
	.fields = 4,
	.extra_bytes = 20,
};

/* How much is left behind the message, and how it ends. */
static void test_responses(void **state)
{
	static const struct {
		const char *text, *body;
		size_t left;
		bool to_head, keep_alive, until_close;
	} cases[] = {
		{ ANSWER "Content-Length: 2\r\n\r\nhiX", "hi", 1, false, true, false },
		{ ANSWER "Content-Length: 0\r\n\r\nX", "", 1, false, true, false },
		{ ANSWER "Content-Length: 2\r\n\r\nX", "", 1, true, true, false },
		{ ANSWER "\r\nhi", "hi", 0, false, false, true },
		{ ANSWER "\r\nX", "", 1, true, true, false },
		{ ANSWER "Transfer-Encoding: chunked\r\n\r\n2;a\r\nhi\r\n0\r\nA: b\r\n\r\nX", "hi",
		  1, false, true, false },
		{ "HTTP/1.1 204 \r\n\r\nX", "", 1, false, true, false },
		{ "HTTP/1.1 204\r\nContent-Length: 0\r\n\r\nX", "", 1, false, true, false },
		{ "HTTP/1.1 304 \xff\r\nContent-Length: 9\r\n\r\nX", "", 1, false, true, false },
		{ "HTTP/1.1 100 Continue\r\n\r\nX", "", 1, false, true, false },
		{ "HTTP/1.0 599 a  b\r\nHost: a b\r\nExpect: x\r\n\r\n", "", 0, false, false,
		  true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f;
		begin(&f, &response_rules);
		f.reader.answers_head = cases[i].to_head;
		assert_int_equal(feed(&f, cases[i].text, 4), strlen(cases[i].text) - cases[i].left);
		assert_int_equal(http1_is_until_close(&f.reader), cases[i].until_close);
		assert_int_equal(f.reader.state,
				 cases[i].until_close ? HTTP1_UNTIL_CLOSE : HTTP1_DONE);
		assert_int_equal(http1_close(&f.reader), HTTP1_END);
		assert_int_equal(f.reader.framing.keep_alive, cases[i].keep_alive);
		assert_string_equal(f.body.data ? f.body.data : "", cases[i].body);
		end(&f);
	}
}

static void test_refused_responses(void **state)
{
	static const struct {
		const char *text;
		enum http1_error error;
	} cases[] = {
		{ "HTTP/1.1\r\n", HTTP1_BAD_VERSION },
		{ "HTTP/1.12 ", HTTP1_BAD_VERSION },
		{ "ICY/1.1 200\r\n", HTTP1_BAD_VERSION },
		{ "HTTP/3.0 200\r\n", HTTP1_OTHER_VERSION },
		{ "HTTP/1.1  200\r\n", HTTP1_BAD_STATUS },
		{ "HTTP/1.1 2000", HTTP1_BAD_STATUS },
		{ "HTTP/1.1 20 OK\r\n", HTTP1_BAD_STATUS },
		{ "HTTP/1.1 099 OK\r\n", HTTP1_BAD_STATUS },
		{ "HTTP/1.1 600 OK\r\n", HTTP1_BAD_STATUS },
		{ "HTTP/1.1 2x0", HTTP1_BAD_STATUS },
		{ "HTTP/1.1 200 O\x01", HTTP1_BAD_LINE_BYTE },
		{ "HTTP/1.1 200 OK\n", HTTP1_BARE_LF },
		{ "HTTP/1.1 204 No\r\nContent-Length: 1\r\n\r\n", HTTP1_BODY_NOT_ALLOWED },
		{ "HTTP/1.1 100 No\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP1_BODY_NOT_ALLOWED },
		{ ANSWER "\r\n012345678901234567890", HTTP1_LARGE_BODY },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_error(&response_rules, cases[i].text, cases[i].error);
	}
}

static void test_cut_off(void **state)
{
	static const char text[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
				   "2\r\nhi\r\n0\r\nA: b\r\n\r\n";

	(void)state;
	for (size_t size = 0; size < strlen(text); size++) {
		struct fixture f;
		begin(&f, &response_rules);
		assert_int_equal(feed_piece(&f, text, size), 0);
		assert_int_equal(http1_close(&f.reader), HTTP1_WRONG);
		assert_int_equal(f.reader.error, HTTP1_CUT_OFF);
		end(&f);
	}
}

static void test_interim(void **state)
{
	static const struct {
		unsigned status;
		bool interim;
	} cases[] = { { 100, true }, { 101, false }, { 103, true }, { 199, true }, { 200, false } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http1_reader reader = { .line.status = cases[i].status };
		assert_int_equal(http1_is_interim(&reader), cases[i].interim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_responses),
		cmocka_unit_test(test_refused_responses),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_interim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
