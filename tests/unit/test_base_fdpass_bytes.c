/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes from a peer that sends descriptors with them, on a kernel that cannot refuse these: none is
 * closed by the receiver. The last close of this one waits until its sender reads, which is in the
 * same message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/fdpass.h"
#include "base/files/fdpass_bytes.h"
#include "old_socket.h"

#define LINGER_SECONDS 60
#define SOON_NS        15000000000ull

struct line {
	int ours, theirs;
	struct plain_socket plain;
};

static int set_up(void **state)
{
	static struct line line;
	int ends[2];

	old_socket = true;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	line = (struct line){ .ours = ends[0], .theirs = ends[1] };
	assert_int_equal(plain_socket_begin(line.ours, true, &line.plain), 0);
	assert_false(line.plain.plain);
	*state = &line;
	return 0;
}

static int tear_down(void **state)
{
	struct line *line = *state;

	if (line->theirs >= 0) {
		close(line->theirs);
	}
	plain_socket_close(&line->ours);
	return 0;
}

/* Two ends of a connection in which bytes wait. */
static void make_slow(int ret[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct linger linger = { 1, LINGER_SECONDS };
	socklen_t size = sizeof(at);
	int server = socket(AF_INET, SOCK_STREAM, 0), small = 4096;
	static char bytes[65536];

	ret[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(setsockopt(server, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	assert_int_equal(bind(server, (struct sockaddr *)&at, size), 0);
	assert_int_equal(listen(server, 1), 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)&at, &size), 0);
	assert_int_equal(connect(ret[0], (struct sockaddr *)&at, size), 0);
	ret[1] = accept(server, NULL, NULL);
	assert_true(ret[1] >= 0);
	close(server);
	while (send(ret[0], bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
	}
	assert_int_equal(setsockopt(ret[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
}

/* Only the message has them then. */
static void send_slow(const struct line *line, int flags)
{
	struct iovec part = { (char[]){ "x" }, 1 };
	int slow[2];

	make_slow(slow);
	assert_int_equal(fdpass_send(line->theirs, &part, 1, slow, 2, flags), 1);
	close(slow[0]);
	close(slow[1]);
}

static ssize_t receive(struct line *line, char text[8])
{
	memset(text, 0, 8);
	return plain_socket_receive(line->ours, &line->plain, text, 7);
}

static void assert_soon(uint64_t since_ns)
{
	assert_true(clock_now_ns() - since_ns < SOON_NS);
}

static void test_bytes(void **state)
{
	struct line *line = *state;
	char text[8];

	assert_int_equal(receive(line, text), -EAGAIN);
	assert_int_equal(write(line->theirs, "one", 3), 3);
	assert_int_equal(write(line->theirs, "two and more", 12), 12);
	assert_int_equal(receive(line, text), 7);
	assert_string_equal(text, "onetwo ");
	assert_int_equal(receive(line, text), 7);
	assert_int_equal(receive(line, text), 1);
	close(line->theirs);
	line->theirs = -1;
	assert_int_equal(receive(line, text), 0);
}

/* Bytes before them do not help. */
static void test_descriptors(void **state)
{
	struct line *line = *state;
	uint64_t before = clock_now_ns();
	char text[8];

	assert_int_equal(write(line->theirs, "a", 1), 1);
	send_slow(line, 0);
	assert_int_equal(receive(line, text), -EPROTO);
	assert_int_equal(receive(line, text), -EPROTO);
	plain_socket_close(&line->ours);
	assert_soon(before);
}

/* They were never looked at. */
static void test_close(void **state)
{
	struct line *line = *state;
	uint64_t before = clock_now_ns();
	char bytes[4096] = { 0 };

	for (int i = 0; i < 8; i++) {
		assert_int_equal(write(line->theirs, bytes, sizeof(bytes)), sizeof(bytes));
	}
	send_slow(line, 0);
	plain_socket_close(&line->ours);
	assert_int_equal(line->ours, -1);
	assert_soon(before);
}

/* A plain receiver skips an urgent byte when it looks, and drops it when it receives. */
static void test_urgent(void **state)
{
	struct line *line = *state;
	uint64_t before = clock_now_ns();
	char text[8];

	send_slow(line, MSG_OOB);
	assert_int_equal(write(line->theirs, "b", 1), 1);
	assert_int_equal(receive(line, text), -EPROTO);
	plain_socket_close(&line->ours);
	assert_soon(before);
}

/* Those that came before the kernel refuses any are found too. */
static void test_refused_late(void **state)
{
	struct line *line = *state;
	uint64_t before = clock_now_ns();
	char text[8];

	send_slow(line, 0);
	old_socket = false;
	assert_int_equal(plain_socket_begin(line->ours, false, &line->plain), 0);
	assert_false(line->plain.plain);
	assert_int_equal(receive(line, text), -EPROTO);
	plain_socket_close(&line->ours);
	assert_soon(before);
}

/* Then looking is not needed any more. */
static void test_refused(void **state)
{
	struct line *line = *state;
	char text[8];

	old_socket = false;
	assert_int_equal(write(line->theirs, "a", 1), 1);
	assert_int_equal(plain_socket_begin(line->ours, false, &line->plain), 0);
	assert_int_equal(receive(line, text), 1);
	assert_false(line->plain.plain);
	assert_int_equal(receive(line, text), -EAGAIN);
	assert_int_equal(line->plain.plain, line->plain.refuses);
	assert_int_equal(write(line->theirs, "b", 1), 1);
	assert_int_equal(receive(line, text), 1);
	assert_string_equal(text, "b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bytes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_descriptors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_close, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_urgent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused_late, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
