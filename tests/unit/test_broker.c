/* SPDX-License-Identifier: Apache-2.0 */
/* The broker and a compromised warden: requests that are not in the table are not executed. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "broker/broker.h"
#include "broker_client/broker_messages.h"

struct line {
	int warden, broker;
};

static struct line line_make(void)
{
	int pair[2], on = 1;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	return (struct line){ .warden = pair[0], .broker = pair[1] };
}

static void line_done(struct line *line)
{
	close(line->warden);
	close(line->broker);
}

static void say(const struct line *line, const void *data, size_t size, const int *fds,
		unsigned count)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(8 * sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = (void *)(uintptr_t)data, .iov_len = size };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	if (count) {
		header.msg_control = control.space;
		header.msg_controllen = CMSG_SPACE(count * sizeof(int));
		struct cmsghdr *cmsg = CMSG_FIRSTHDR(&header);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, count * sizeof(int));
	}
	assert_int_equal(sendmsg(line->warden, &header, 0), (ssize_t)size);
}

static unsigned open_count(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 256; fd++) {
		count += fcntl(fd, F_GETFD) >= 0;
	}
	return count;
}

static void test_a_request_is_read(void **state)
{
	struct line line = line_make();
	struct broker_message message = { .kind = BROKER_OWNED_BY_ROOT };
	struct broker_request request;

	(void)state;
	say(&line, &message, sizeof(message), &line.warden, 1);
	assert_int_equal(broker_request_read(line.broker, &request), 1);
	assert_int_equal(request.kind, BROKER_OWNED_BY_ROOT);
	assert_int_equal(request.pid, getpid()); /* the kernel's word */
	assert_true(request.fd >= 0 && fcntl(request.fd, F_GETFD) == FD_CLOEXEC);
	close(request.fd);
	assert_int_equal(broker_request_read(line.broker, &request), -EAGAIN);
	shutdown(line.warden, SHUT_RDWR);
	assert_int_equal(broker_request_read(line.broker, &request), 0);
	line_done(&line);
}

/* Packets that are not records of the table's form; and none of their descriptors stays open. */
static void test_what_is_no_request(void **state)
{
	struct line line = line_make();
	struct broker_message good = { .kind = BROKER_DEVICES };
	struct broker_message answer = { .kind = BROKER_DEVICES, .result = 1 };
	char longer[sizeof(good) + 1] = { BROKER_DEVICES };
	int two[8] = { line.warden, line.warden, line.warden, line.warden,
		       line.warden, line.warden, line.warden, line.warden };
	const struct {
		const void *data;
		size_t size;
		unsigned fds;
	} cases[] = {
		{ &good, sizeof(good) - 1, 0 }, { &good, 1, 0 },
		{ longer, sizeof(longer), 0 },  { &answer, sizeof(answer), 0 },
		{ &good, sizeof(good), 2 },     { &good, sizeof(good), 4 },
		{ &good, sizeof(good), 8 },
	};
	unsigned before = open_count();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct broker_request request;
		say(&line, cases[i].data, cases[i].size, two, cases[i].fds);
		assert_int_equal(broker_request_read(line.broker, &request), -EPROTO);
		assert_int_equal(request.fd, -1);
		assert_int_equal(open_count(), before);
	}
	line_done(&line);
}

static int ask(struct broker_state *broker, uint32_t kind, pid_t pid, int fd)
{
	struct broker_request request = { .kind = kind, .pid = pid, .fd = fd };
	int answer = -1;
	int r = broker_handle(broker, &request, &answer);

	if (answer >= 0) {
		close(answer);
	}
	return r;
}

static void test_order(void **state)
{
	struct broker_state broker = { .supervisor = getppid() };
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	/* Before the map nothing else. */
	assert_int_equal(ask(&broker, BROKER_DEVICES, getpid(), -1), -EPROTO);
	assert_int_equal(ask(&broker, BROKER_OWNED_BY_ROOT, getpid(), fd), -EPROTO);
	/* For whom: a child of the supervisor. We are, but somebody else's child is not. */
	broker.supervisor = getpid();
	assert_int_equal(ask(&broker, BROKER_MAP, getpid(), -1), -EPROTO);
	assert_int_equal(ask(&broker, BROKER_MAP, 1, -1), -EPROTO);
	assert_int_equal(ask(&broker, BROKER_MAP, -1, -1), -EPROTO);
	assert_int_equal(broker.phase, PHASE_NEW);
	/* A process that has no namespace of its own cannot be given other ids. */
	broker.supervisor = getppid();
	assert_true(ask(&broker, BROKER_MAP, getpid(), -1) < 0);
	assert_int_equal(broker.phase, PHASE_NEW);
	/* After it, no second one; descriptors where they belong. */
	broker.phase = PHASE_MAPPED;
	assert_int_equal(ask(&broker, BROKER_MAP, getpid(), -1), -EPROTO);
	assert_int_equal(ask(&broker, BROKER_DEVICES, getpid(), fd), -EPROTO);
	assert_int_equal(ask(&broker, BROKER_OWNED_BY_ROOT, getpid(), -1), -EPROTO);
	assert_int_equal(ask(&broker, 0, getpid(), -1), -EPROTO);
	assert_int_equal(ask(&broker, 4, getpid(), -1), -EPROTO);
	assert_int_equal(ask(&broker, UINT32_MAX, getpid(), fd), -EPROTO);
	close(fd);
}

static void test_whose(void **state)
{
	struct broker_state broker = { .phase = PHASE_MAPPED };
	char name[] = "/tmp/brig-broker-XXXXXX";
	int own = mkstemp(name);
	int roots = open("/", O_PATH | O_CLOEXEC);
	struct stat st;

	(void)state;
	assert_true(own >= 0 && roots >= 0);
	assert_int_equal(ask(&broker, BROKER_OWNED_BY_ROOT, getpid(), own), geteuid() == 0);
	assert_int_equal(fstat(roots, &st), 0);
	assert_int_equal(ask(&broker, BROKER_OWNED_BY_ROOT, getpid(), roots), st.st_uid == 0);
	if (geteuid() == 0) {
		assert_int_equal(fchown(own, 65534, 65534), 0);
		assert_int_equal(ask(&broker, BROKER_OWNED_BY_ROOT, getpid(), own), 0);
	}
	unlink(name);
	close(own);
	close(roots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_request_is_read),
		cmocka_unit_test(test_what_is_no_request),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_whose),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
