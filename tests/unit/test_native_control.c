/* SPDX-License-Identifier: Apache-2.0 */
/* A flood of records from a compromised init of a cell: most of it is never read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "native/native_internal.h"

#define FLOOD 40u

struct words {
	struct run *run;
	struct native_cell *native;
	int theirs;
	int any; /* descriptors that are sent along */
};

static int set_up(void **state)
{
	struct words *words = calloc(1, sizeof(*words));
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	words->run = calloc(1, sizeof(*words->run));
	words->native = calloc(1, sizeof(*words->native));
	words->run->cell = words->native;
	words->run->provider = &native_provider;
	words->native->cell.control = ends[0];
	words->theirs = ends[1];
	words->any = open("/dev/null", O_RDONLY | O_CLOEXEC);
	words->native->wire = WIRE_RUNNING;
	words->run->state = RUN_ENDING; /* there is nothing to kill */
	words->run->epoll = epoll_create1(EPOLL_CLOEXEC);
	assert_int_equal(native_listen(words->run, ends[0], NATIVE_EVENT_CONTROL, EPOLLIN), 0);
	*state = words;
	return 0;
}

static int tear_down(void **state)
{
	struct words *words = *state;

	close_fd(&words->native->cell.control);
	close_fd(&words->run->epoll);
	close_fd(&words->theirs);
	close_fd(&words->any);
	free(words->native);
	free(words->run);
	free(words);
	return 0;
}

static void say(const struct words *words, enum wire_kind kind)
{
	struct wire_record record = { .kind = kind, .value = CLD_EXITED, .status = 7 };

	assert_int_equal(
		wire_send(words->theirs, &record, &words->any, kind == WIRE_PROGRAM ? 1 : 0), 0);
}

static void flood(const struct words *words)
{
	for (unsigned i = 0; i < FLOOD; i++) {
		say(words, WIRE_PROGRAM);
	}
	say(words, WIRE_EXITED);
}

/* The bytes that are still in the socket. */
static unsigned count_unread(const struct words *words)
{
	struct wire_record record;
	int fds[WIRE_FDS_MAX];
	unsigned count, unread = 0;

	while (wire_receive(words->native->cell.control, &record, fds, &count) == 1) {
		unread++;
		for (unsigned i = 0; i < count; i++) {
			close(fds[i]);
		}
	}
	return unread;
}

static void test_nobody_asked(void **state)
{
	struct words *words = *state;

	flood(words);
	native_last_messages(words->run);
	assert_false(words->run->facts.exited);
	assert_int_equal(count_unread(words), FLOOD);
}

static void test_asked_once(void **state)
{
	struct words *words = *state;

	words->native->request = REQUEST_SENT;
	flood(words);
	native_last_messages(words->run);
	assert_int_equal(count_unread(words), FLOOD - 1);
}

/* The answer comes too late, and takes nothing from the records behind it. */
static void test_a_late_answer(void **state)
{
	struct words *words = *state;

	words->native->request = REQUEST_SENT;
	say(words, WIRE_PROGRAM);
	say(words, WIRE_EXITED);
	native_last_messages(words->run);
	assert_true(words->run->facts.exited);
	assert_int_equal(words->run->facts.end_status, 7);
	assert_int_equal(count_unread(words), 0);
}

/* The same while the cell lives: the channel is not read any more. */
static void test_while_it_lives(void **state)
{
	struct words *words = *state;
	struct epoll_event event;

	flood(words);
	assert_int_equal(native_on_control(words->run), 0);
	assert_int_equal(epoll_wait(words->run->epoll, &event, 1, 0), 0);
	assert_int_equal(count_unread(words), FLOOD);
}

/* Where there is no program to notify, an end takes effect at once. */
static void test_no_time_of_grace(void **state)
{
	static const struct {
		enum run_state state;
		enum wire_state wire;
		enum cell_kind kind;
	} cases[] = {
		{ RUN_RUNNING, WIRE_ENDED, CELL_COLD },
		{ RUN_ASSIGNED, WIRE_ENDED, CELL_HELD },
		{ RUN_SETTING_UP, WIRE_HAVE_HANDLES, CELL_HELD },
		{ RUN_SETTING_UP, WIRE_RUNNING, CELL_STARTED },
		{ RUN_HELD, WIRE_WAITING, CELL_HELD },
		{ RUN_RESTING, WIRE_ENDED, CELL_DRIVEN },
	};
	struct words *words = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct spec spec = { .limits.grace_ns = 1000000000u, .kind = cases[i].kind };
		words->run->options.spec = &spec;
		words->run->state = cases[i].state;
		words->native->wire = cases[i].wire;
		assert_false(run_grace_begin(words->run, ENDING_CANCELLED));
		assert_int_equal(words->run->grace_end_ns, 0);
	}
}

/* A round of a session ends before the answer is read: that is no breach, and costs no signal. */
static void test_an_answer_for_the_round_before(void **state)
{
	struct words *words = *state;

	words->run->state = RUN_RUNNING;
	words->native->request = REQUEST_SENT;
	native_provider.next_round(words->run);
	say(words, WIRE_PROGRAM);
	assert_int_equal(native_on_control(words->run), 0);
	assert_int_equal(words->run->state, RUN_RUNNING);
	assert_int_equal(words->run->facts.ending, ENDING_NONE);
	/* The next round can ask again, and the answer is used. */
	assert_int_equal(words->native->request, REQUEST_NONE);
	assert_int_equal(native_ask_to_end(words->run), 0);
	assert_int_equal(words->native->request, REQUEST_SENT);
}

/* A cell that is not made ahead does not wait: its limits would not be watched. */
static void test_held_out_of_place(void **state)
{
	struct words *words = *state;
	struct spec spec = { 0 };

	words->run->options.spec = words->run->watch.spec = &spec;
	words->run->state = RUN_SETTING_UP;
	words->run->timer = words->native->cell.pidfd = -1;
	words->native->wire = WIRE_HAVE_LISTENER;
	say(words, WIRE_HELD);
	assert_int_equal(native_on_control(words->run), 0);
	assert_int_equal(words->run->state, RUN_ENDING);
	assert_int_equal(words->run->facts.ending, ENDING_PROTOCOL);
}

/* A session's interpreter was ready before its start was reported: its cell still rests. */
static void test_started_at_rest(void **state)
{
	struct words *words = *state;

	words->run->state = RUN_RESTING;
	words->native->wire = WIRE_HAVE_LISTENER;
	say(words, WIRE_STARTED);
	assert_int_equal(native_on_control(words->run), 0);
	assert_int_equal(words->run->state, RUN_RESTING);
	assert_int_equal(words->native->wire, WIRE_RUNNING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nobody_asked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_asked_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_late_answer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_while_it_lives, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_time_of_grace, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_answer_for_the_round_before, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_held_out_of_place, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_started_at_rest, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
