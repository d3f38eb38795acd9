/* SPDX-License-Identifier: Apache-2.0 */
/* A cell without a network: the verdict of a program that tried to reach a host says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "run/network_advice.h"
#include "run/streams/stream.h"

struct row {
	struct brig_result result;
	const char *words;
	bool told;
	const char *host;
};

static const struct row rows[] = {
	{ { .status = BRIG_FAILED },
	  "socket.gaierror: [Errno -2] Name or service not known\n",
	  true,
	  NULL },
	{ { .status = BRIG_FAILED },
	  "dial tcp 192.0.2.1:80: connect: network is unreachable",
	  true,
	  NULL },
	{ { .status = BRIG_FAILED }, "ValueError: 1", false, NULL },
	{ { .status = BRIG_FAILED }, "", false, NULL },
	{ { .status = BRIG_FAILED }, "", true, "example.org" },
	{ { .status = BRIG_OK }, "", false, "example.org" },
	/* it handled the error, or another reason is the better one */
	{ { .status = BRIG_OK }, "Name or service not known", false, NULL },
	{ { .status = BRIG_TIMEOUT }, "Name or service not known", false, NULL },
	{ { .status = BRIG_FAILED, .denied = true }, "Name or service not known", false, NULL },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct brig_result result = rows[i].result;
		network_advice(rows[i].host, rows[i].words, &result);
		assert_int_equal(strstr(result.remedy, "no network") != NULL, rows[i].told);
		assert_int_equal(result.operator_remedy[0] != '\0', rows[i].told);
	}
}

static void put(struct stream *stream, int to, const char *text, size_t size)
{
	assert_int_equal(write(to, text, size), (ssize_t)size);
	assert_int_equal(stream_pump(stream), 1);
}

/* The end of the output, in any pieces, and nothing beyond the limit. */
static void test_tail(void **state)
{
	struct stream stream = { .fd = -1, .limit = 3000 };
	char many[2000];
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	stream.fd = ends[0];
	put(&stream, ends[1], "first ", 6);
	put(&stream, ends[1], "second", 6);
	assert_string_equal(stream.tail, "first second");
	memset(many, 'x', sizeof(many));
	put(&stream, ends[1], many, sizeof(many));
	put(&stream, ends[1], "end", 3);
	assert_int_equal(stream.tail_size, STREAM_TAIL_BYTES);
	assert_string_equal(stream.tail + STREAM_TAIL_BYTES - 4, "xend");
	put(&stream, ends[1], many, sizeof(many));
	put(&stream, ends[1], "beyond", 6);
	assert_null(strstr(stream.tail, "beyond"));
	stream_start_over(&stream);
	assert_string_equal(stream.tail, "");
	close(ends[1]);
	stream_done(&stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_tail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
