/* SPDX-License-Identifier: Apache-2.0 */
/* The channel from a cell's init: anything but a record in its place ends the run (V6). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "native/calls/done_call.h"
#include "native/messages/wire.h"

struct channel {
	int ours;
	int theirs;
	int any; /* descriptors that are sent along */
	unsigned fds_before;
};

static unsigned open_fds(void)
{
	unsigned count = 0;
	DIR *dir = opendir("/proc/self/fd");

	assert_non_null(dir);
	while (readdir(dir)) {
		count++;
	}
	closedir(dir);
	return count;
}

static int make_channel(void **state)
{
	struct channel *channel = calloc(1, sizeof(*channel));
	int ends[2];

	if (!channel || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		free(channel);
		return -1;
	}
	int any = open("/dev/null", O_RDONLY | O_CLOEXEC);
	*channel = (struct channel){ ends[0], ends[1], any, open_fds() };
	*state = channel;
	return 0;
}

static int drop_channel(void **state)
{
	struct channel *channel = *state;

	close_fd(&channel->ours);
	close_fd(&channel->theirs);
	close_fd(&channel->any);
	free(channel);
	return 0;
}

/* Packets that a compromised cell might send: any bytes, any number of fds. */
static void send_raw(const struct channel *channel, const void *data, size_t size, unsigned fds)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * 64)];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)data, size };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fds) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * fds);
		struct cmsghdr *head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int) * fds);
		for (unsigned i = 0; i < fds; i++) {
			memcpy(CMSG_DATA(head) + sizeof(int) * i, &channel->any, sizeof(int));
		}
	}
	assert_int_equal(sendmsg(channel->theirs, &message, MSG_NOSIGNAL), size);
}

static void test_round_trip(void **state)
{
	struct channel *channel = *state;
	struct wire_record sent = { WIRE_EXITED, 7, -8, 9, 0 }, got;
	int pair[WIRE_FDS_MAX + 1] = { channel->any, channel->any }, fds[WIRE_FDS_MAX];
	unsigned count = 77;

	for (unsigned fds_sent = 0; fds_sent <= WIRE_FDS_MAX; fds_sent++) {
		assert_int_equal(wire_send(channel->theirs, &sent, pair, fds_sent), 0);
		assert_int_equal(wire_receive(channel->ours, &got, fds, &count), 1);
		assert_int_equal(count, fds_sent);
		assert_memory_equal(&sent, &got, sizeof(sent));
		for (unsigned i = 0; i < count; i++) {
			assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
			close(fds[i]);
		}
	}
	assert_int_equal(wire_send(channel->theirs, &sent, pair, WIRE_FDS_MAX + 1), -EINVAL);
	assert_int_equal(open_fds(), channel->fds_before);
}

static void test_nothing_there(void **state)
{
	struct channel *channel = *state;
	struct wire_record record;
	int fds[WIRE_FDS_MAX];
	unsigned count;

	assert_int_equal(wire_receive(channel->ours, &record, fds, &count), -EAGAIN);
	close_fd(&channel->theirs);
	assert_int_equal(wire_receive(channel->ours, &record, fds, &count), 0);
	assert_int_equal(count, 0);
}

/* The peer dies with a message of ours unread: that is its end, not an error. */
static void test_peer_gone_unread(void **state)
{
	struct channel *channel = *state;
	struct wire_record record = { .kind = WIRE_RELEASE };
	int fds[WIRE_FDS_MAX];
	unsigned count;

	assert_int_equal(wire_send(channel->ours, &record, NULL, 0), 0);
	close_fd(&channel->theirs);
	int r = wire_receive(channel->ours, &record, fds, &count);
	assert_int_equal(r, 0);
	assert_true(wire_send(channel->ours, &record, NULL, 0) < 0); /* and no SIGPIPE */
}

static void test_wrong_sizes(void **state)
{
	struct channel *channel = *state;
	static const size_t sizes[] = { 1,
					4,
					sizeof(struct wire_record) - 1,
					sizeof(struct wire_record) + 1,
					2 * sizeof(struct wire_record),
					65536 };
	static char bytes[65536];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (unsigned fds_sent = 0; fds_sent < 4; fds_sent++) {
			struct wire_record record;
			int fds[WIRE_FDS_MAX];
			unsigned count;
			send_raw(channel, bytes, sizes[i], fds_sent);
			assert_int_equal(wire_receive(channel->ours, &record, fds, &count),
					 -EPROTO);
			assert_int_equal(count, 0);
			assert_int_equal(open_fds(), channel->fds_before);
		}
	}
}

/* More fds than there is room for: the kernel drops some, and the rest must not stay open. */
static void test_too_many_fds(void **state)
{
	struct channel *channel = *state;
	struct wire_record record = { .kind = WIRE_HANDLES };
	static const unsigned numbers[] = { WIRE_FDS_MAX + 1, 16, 64 };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		int fds[WIRE_FDS_MAX];
		unsigned count;
		send_raw(channel, &record, sizeof(record), numbers[i]);
		assert_int_equal(wire_receive(channel->ours, &record, fds, &count), -EPROTO);
		assert_int_equal(count, 0);
		assert_int_equal(open_fds(), channel->fds_before);
	}
}

/* An empty packet with fds is not the end of the file, and the fds are closed. */
static void test_empty_with_fds(void **state)
{
	struct channel *channel = *state;
	struct wire_record record;
	int fds[WIRE_FDS_MAX];
	unsigned count;

	send_raw(channel, "", 0, 2);
	assert_int_equal(wire_receive(channel->ours, &record, fds, &count), -EPROTO);
	assert_int_equal(open_fds(), channel->fds_before);
}

static void test_order(void **state)
{
	static const struct {
		uint32_t kind;
		unsigned fds;
	} right[] = {
		{ WIRE_HANDLES, 3 }, { WIRE_LISTENER, 1 }, { WIRE_STARTED, 0 }, { WIRE_EXITED, 0 }
	};
	enum wire_state at = WIRE_SETTING_UP;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
		struct wire_record record = { .kind = right[i].kind };
		assert_int_equal(wire_check(&at, &record, right[i].fds), 0);
	}
	assert_int_equal(at, WIRE_ENDED);
}

/* Every kind in every state with every number of fds: exactly the listed ones pass. */
static void test_every_combination(void **state)
{
	static const struct {
		enum wire_state from;
		uint32_t kind;
		unsigned fds;
	} allowed[] = {
		{ WIRE_SETTING_UP, WIRE_HANDLES, 4 },    { WIRE_SETTING_UP, WIRE_HANDLES, 3 },
		{ WIRE_SETTING_UP, WIRE_FAILED, 0 },     { WIRE_SETTING_UP, WIRE_STARTED, 0 },
		{ WIRE_HAVE_HANDLES, WIRE_FAILED, 0 },   { WIRE_HAVE_HANDLES, WIRE_LISTENER, 1 },
		{ WIRE_HAVE_HANDLES, WIRE_STARTED, 0 },  { WIRE_HAVE_LISTENER, WIRE_FAILED, 0 },
		{ WIRE_HAVE_LISTENER, WIRE_STARTED, 0 }, { WIRE_HAVE_HANDLES, WIRE_HELD, 0 },
		{ WIRE_HAVE_LISTENER, WIRE_HELD, 0 },    { WIRE_WAITING, WIRE_FAILED, 0 },
		{ WIRE_WAITING, WIRE_STARTED, 0 },       { WIRE_RUNNING, WIRE_EXITED, 0 },
		{ WIRE_RUNNING, WIRE_PROGRAM, 1 },
	};
	static const uint32_t kinds[] = {
		0,           WIRE_RELEASE,     WIRE_GROUP,      WIRE_HANDLES,
		WIRE_FAILED, WIRE_LISTENER,    WIRE_HELD,       WIRE_STARTED,
		WIRE_EXITED, WIRE_GET_PROGRAM, WIRE_PROGRAM,    WIRE_WARM,
		WIRE_CLONE,  WIRE_CLONED,      WIRE_CLONED + 1, 0x7fffffff,
		0x80000000,  UINT32_MAX
	};
	unsigned passed = 0;

	(void)state;
	for (int from = WIRE_SETTING_UP; from <= WIRE_ENDED + 1; from++) {
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
			for (unsigned fds = 0; fds < 5; fds++) {
				enum wire_state at = (enum wire_state)from;
				struct wire_record record = { .kind = kinds[k] };
				bool right = false;
				for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
					right |= allowed[i].from == at &&
						 allowed[i].kind == kinds[k] &&
						 allowed[i].fds == fds;
				}
				int r = wire_check(&at, &record, fds);
				assert_int_equal(r, right ? 0 : -EPROTO);
				/* A refused record changes no state. */
				assert_true(right || (int)at == from);
				passed += right;
			}
		}
	}
	assert_int_equal(passed, ARRAY_SIZE(allowed));
}

/* The program's report of its own end: any status, but only one that it could end with. */
static void test_done(void **state)
{
	static const struct {
		uint64_t args[3];
		bool is;
		int status;
	} cases[] = {
		{ { 0, DONE_CALL_MAGIC, 0 }, true, 0 },
		{ { 0, DONE_CALL_MAGIC, 259 }, true, 3 },
		{ { 0, DONE_CALL_MAGIC, UINT64_MAX }, true, 255 },
		{ { 1, DONE_CALL_MAGIC, 0 }, false, 0 },
		{ { 0, DONE_CALL_MAGIC & UINT32_MAX, 0 }, false, 0 },
		{ { 0, 0, 0 }, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t args[6] = { cases[i].args[0], cases[i].args[1], cases[i].args[2] };
		int status = -1;
		assert_int_equal(done_call_is(args, &status), cases[i].is);
		assert_true(!cases[i].is || status == cases[i].status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, make_channel, drop_channel),
		cmocka_unit_test_setup_teardown(test_nothing_there, make_channel, drop_channel),
		cmocka_unit_test_setup_teardown(test_peer_gone_unread, make_channel, drop_channel),
		cmocka_unit_test_setup_teardown(test_wrong_sizes, make_channel, drop_channel),
		cmocka_unit_test_setup_teardown(test_too_many_fds, make_channel, drop_channel),
		cmocka_unit_test_setup_teardown(test_empty_with_fds, make_channel, drop_channel),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_every_combination),
		cmocka_unit_test(test_done),
	};

	return cmocka_run_group_tests_name("core_wire", tests, NULL, NULL);
}
