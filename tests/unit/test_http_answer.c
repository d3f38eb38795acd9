/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of responses: any input results in one head. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "http/message/answer.h"

static void test_add(void **state)
{
	static const struct {
		const char *name, *value;
		int r;
	} cases[] = {
		{ "X-A", "1", 0 },
		{ "X-B", "", 0 },
		{ "Location", "/a b\tc", 0 },
		{ "X-C", "caf\xc3\xa9", 0 },
		{ "X-A", "1\r\nX-B: 2", -EINVAL },
		{ "X-A", "1\n", -EINVAL },
		{ "X-A", "1\r", -EINVAL },
		{ "X-A", "\x7f", -EINVAL },
		{ "X-A", "\x1b[2J", -EINVAL },
		{ "", "1", -EINVAL },
		{ "X A", "1", -EINVAL },
		{ "X-A:", "1", -EINVAL },
		{ "X-A\r\nX-B", "1", -EINVAL },
		{ "X-\xc3\xa9", "1", -EINVAL },
		{ NULL, "1", -EINVAL },
		{ "X-A", NULL, -EINVAL },
		{ "content-length", "5", -EINVAL },
		{ "Transfer-Encoding", "chunked", -EINVAL },
		{ "CONNECTION", "close", -EINVAL },
		{ "Content-Type", "a/b", -EINVAL },
		{ "Date", "now", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf headers = { 0 };
		assert_int_equal(answer_add(&headers, cases[i].name, cases[i].value), cases[i].r);
		assert_int_equal(headers.size > 0, cases[i].r == 0);
		buf_done(&headers);
	}
}

static void test_add_limit(void **state)
{
	struct buf headers = { 0 };
	char value[1001];
	int r = 0;
	unsigned added = 0;

	(void)state;
	memset(value, 'a', 1000);
	value[1000] = '\0';
	while (added < 100 && (r = answer_add(&headers, "X-A", value)) == 0) {
		added++;
	}
	assert_int_equal(r, -E2BIG);
	assert_int_equal(added, ANSWER_HEADERS_MAX / 1007);
	buf_done(&headers);
}

/* The head without its date, which is the second line. */
static void check_head(const struct answer_form *form, const struct buf *headers, const char *first,
		       const char *rest)
{
	struct buf out = { 0 };

	answer_head(&out, form, headers);
	assert_false(out.failed);
	assert_memory_equal(out.data, first, strlen(first));
	assert_memory_equal(out.data + strlen(first), "Date: ", 6);
	assert_string_equal(strstr(out.data, " GMT\r\n") + 6, rest);
	buf_done(&out);
}

static void test_head(void **state)
{
	struct buf headers = { 0 };

	(void)state;
	assert_int_equal(answer_add(&headers, "X-A", "1"), 0);
	check_head(&(struct answer_form){ .status = 200, .content_type = "a/b", .length = 5 },
		   &headers, "HTTP/1.1 200 OK\r\n",
		   "Content-Type: a/b\r\nContent-Length: 5\r\nX-A: 1\r\n\r\n");
	check_head(&(struct answer_form){ .status = 404, .close = true, .say_keep_alive = true },
		   NULL, "HTTP/1.1 404 Not Found\r\n",
		   "Content-Length: 0\r\nConnection: close\r\n\r\n");
	check_head(&(struct answer_form){ .status = 200, .end = ANSWER_CHUNKED }, NULL,
		   "HTTP/1.1 200 OK\r\n", "Transfer-Encoding: chunked\r\n\r\n");
	check_head(&(struct answer_form){ .status = 204, .length = 5, .say_keep_alive = true },
		   NULL, "HTTP/1.1 204 No Content\r\n", "Connection: keep-alive\r\n\r\n");
	check_head(&(struct answer_form){ .status = 299,
					  .end = ANSWER_CLOSE,
					  .close = true,
					  .content_type = "a/b\r\nX-Evil: 1" },
		   NULL, "HTTP/1.1 299 Unknown\r\n", "Connection: close\r\n\r\n");
	buf_done(&headers);
}

static void test_date(void **state)
{
	char date[32];

	(void)state;
	answer_date(784111777, date);
	assert_string_equal(date, "Sun, 06 Nov 1994 08:49:37 GMT");
	answer_date(0, date);
	assert_string_equal(date, "Thu, 01 Jan 1970 00:00:00 GMT");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_add_limit),
		cmocka_unit_test(test_head),
		cmocka_unit_test(test_date),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
