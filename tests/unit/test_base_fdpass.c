/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors over a socket: all arrive, and none stays open unnoticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/fdpass.h"

struct pair {
	int here, there;
	int files[FDPASS_MAX + 1]; /* descriptors to send */
};

static int set_up(void **state)
{
	static struct pair pair;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	pair = (struct pair){ .here = ends[0], .there = ends[1] };
	for (size_t i = 0; i < FDPASS_MAX + 1; i++) {
		pair.files[i] = STDIN_FILENO;
	}
	*state = &pair;
	return 0;
}

static int tear_down(void **state)
{
	struct pair *pair = *state;

	close(pair->here);
	close(pair->there);
	return 0;
}

/* The lowest free descriptor: it is the same again when nothing was left open. */
static int lowest(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

static ssize_t send_text(const struct pair *pair, size_t count)
{
	struct iovec part = { (char[]){ "text" }, 4 };

	return fdpass_send(pair->here, &part, 1, pair->files, count, MSG_DONTWAIT);
}

static size_t receive(const struct pair *pair, int *fds, size_t room)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * FDPASS_MAX)];
		struct cmsghdr align;
	} control;
	char text[8];
	struct iovec part = { text, sizeof(text) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };

	assert_int_equal(recvmsg(pair->there, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT), 4);
	return fdpass_take(&message, fds, room);
}

static void test_none(void **state)
{
	int fd = -1;

	assert_int_equal(send_text(*state, 0), 4);
	assert_int_equal(receive(*state, &fd, 1), 0);
	assert_int_equal(fd, -1);
}

static void test_as_many_as_may_be(void **state)
{
	int fds[FDPASS_MAX], before = lowest();
	struct stat sent, came;

	assert_int_equal(send_text(*state, FDPASS_MAX), 4);
	assert_int_equal(receive(*state, fds, FDPASS_MAX), FDPASS_MAX);
	assert_int_equal(fstat(STDIN_FILENO, &sent), 0);
	for (size_t i = 0; i < FDPASS_MAX; i++) {
		assert_int_equal(fstat(fds[i], &came), 0);
		assert_int_equal(came.st_ino, sent.st_ino);
		assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
		close(fds[i]);
	}
	assert_int_equal(lowest(), before);
	assert_int_equal(send_text(*state, FDPASS_MAX + 1), -EINVAL);
}

static void test_more_than_there_is_room_for(void **state)
{
	int fds[2] = { -1, -1 }, before = lowest();

	assert_int_equal(send_text(*state, 5), 4);
	assert_int_equal(receive(*state, fds, 1), 5);
	assert_int_equal(fds[0], before);
	assert_int_equal(fds[1], -1);
	close(fds[0]);
	assert_int_equal(lowest(), before);
}

static void test_nobody_there(void **state)
{
	struct pair *pair = *state;

	close(pair->there);
	assert_int_equal(send_text(pair, 1), -EPIPE); /* and no signal */
	pair->there = -1;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_none),
		TEST(test_as_many_as_may_be),
		TEST(test_more_than_there_is_room_for),
		TEST(test_nobody_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
