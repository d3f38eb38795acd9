/* SPDX-License-Identifier: Apache-2.0 */
/* Output never blocks, and no output is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/run/output_writer.h"

#define MANY (1u << 20)

/* Adds MANY bytes to a descriptor without a reader, then reads all of it. */
static void fill_and_empty(int in, int out, enum output_writer_kind kind)
{
	static char block[MANY];
	char got[65536];
	struct output_writer writer;
	size_t sum = 0;

	memset(block, 'x', sizeof(block));
	output_writer_init(&writer, in);
	assert_int_equal(writer.kind, kind);
	output_writer_add(&writer, block, sizeof(block)); /* would hang if it could block */
	assert_true(output_writer_waits(&writer));
	while (sum < MANY) {
		ssize_t n = read(out, got, sizeof(got));
		assert_true(n > 0);
		sum += (size_t)n;
		output_writer_pump(&writer);
	}
	assert_false(output_writer_waits(&writer));
	assert_int_equal(writer.errnum, 0);
	/* The descriptor that is shared with others keeps its flags. */
	assert_int_equal(fcntl(in, F_GETFL) & O_NONBLOCK, 0);
	output_writer_done(&writer);
}

static void test_pipe(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	fill_and_empty(ends[1], ends[0], OUTPUT_WRITER_OWN);
	close(ends[0]);
	close(ends[1]);
}

static void test_socket(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	fill_and_empty(ends[1], ends[0], OUTPUT_WRITER_SOCKET);
	close(ends[0]);
	close(ends[1]);
}

static void test_no_reader(void **state)
{
	struct output_writer writer;
	sigset_t pipe_only;
	int ends[2];

	(void)state;
	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigprocmask(SIG_BLOCK, &pipe_only, NULL);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	output_writer_init(&writer, ends[1]);
	close(ends[0]);
	output_writer_add(&writer, "x", 1);
	assert_int_equal(writer.errnum, EPIPE);
	assert_false(output_writer_waits(&writer));
	output_writer_add(&writer, "y", 1);
	output_writer_done(&writer);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_socket),
		cmocka_unit_test(test_no_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
