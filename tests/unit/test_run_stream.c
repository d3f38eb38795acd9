/* SPDX-License-Identifier: Apache-2.0 */
/* Output streams: all bytes in their order, whatever the sizes of the pieces, and the turns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/write_all.h"
#include "run/streams/stream.h"

static int make_stream(struct stream *stream)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	*stream = (struct stream){ .fd = ends[0], .number = 1, .limit = 1u << 30, .keep = true };
	return ends[1];
}

static void fill(char *data, size_t size, unsigned seed)
{
	for (size_t i = 0; i < size; i++) {
		data[i] = (char)((i * 31 + seed) % 251);
	}
}

static void test_pieces_of_all_sizes(void **state)
{
	static const size_t sizes[] = { 1, 2047, 2048, 2049, 4096, 65535, 65536 };
	char data[65536];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct stream stream;
		int writer = make_stream(&stream);

		assert_int_equal(stream_pump(&stream), 1); /* nothing yet */
		for (unsigned round = 0; round < 3; round++) {
			fill(data, sizes[i], round);
			assert_int_equal(write_all(writer, data, sizes[i]), 0);
			assert_int_equal(stream_pump(&stream), 1);
			assert_int_equal(stream.kept.size, (round + 1) * sizes[i]);
			assert_memory_equal(stream.kept.data + round * sizes[i], data, sizes[i]);
		}
		assert_int_equal(stream.seen, 3 * sizes[i]);
		assert_int_equal(stream_pump(&stream), 1);
		assert_int_equal(write_all(writer, data, sizes[i]), 0);
		close(writer);
		while (stream_pump(&stream) == 1) {
		}
		assert_int_equal(stream.kept.size, 4 * sizes[i]);
		assert_int_equal(stream_pump(&stream), 0);
		stream_done(&stream);
	}
}

/* A datagram is a write of its own, so the pieces stay apart. */
static void test_a_turn_is_bounded(void **state)
{
	struct stream stream = { .number = 1, .limit = 1u << 30, .keep = true };
	int pair[2];
	unsigned pumps = 0;

	(void)state;
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	stream.fd = pair[0];
	unsigned sent = 0;
	while (send(pair[1], "x", 1, 0) == 1) {
		sent++;
	}
	assert_true(sent > 64);
	while (stream.seen < sent) {
		uint64_t before = stream.seen;

		assert_int_equal(stream_pump(&stream), 1);
		assert_true(stream.seen > before && stream.seen - before <= 64);
		pumps++;
	}
	assert_true(pumps > 1);
	close(pair[1]);
	stream_done(&stream);
}

static void test_bytes_beyond_the_limit(void **state)
{
	char data[10000];
	struct stream stream;
	int writer = make_stream(&stream);

	(void)state;
	stream.limit = 5000;
	fill(data, sizeof(data), 7);
	assert_int_equal(write_all(writer, data, sizeof(data)), 0);
	assert_int_equal(stream_pump(&stream), 1);
	assert_int_equal(stream.kept.size, 5000);
	assert_memory_equal(stream.kept.data, data, 5000);
	assert_int_equal(stream.seen, sizeof(data));
	assert_true(stream_truncated(&stream));
	close(writer);
	stream_done(&stream);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces_of_all_sizes),
		cmocka_unit_test(test_a_turn_is_bounded),
		cmocka_unit_test(test_bytes_beyond_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
