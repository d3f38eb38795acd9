/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of a local run's supervisor: any that is invalid or out of order ends the run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "local/local.h"

#define CONTROL 0 /* the number of the control socket's event */

struct supervised {
	struct run run;
	struct local_cell local;
	struct spec spec;
	int theirs; /* the supervisor's end */
};

static int set_up(void **state)
{
	struct supervised *s = calloc(1, sizeof(*s));
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	s->theirs = ends[1];
	s->spec.limits = (struct brig_limits){ .wall_ns = UINT64_MAX / 2, .cpu_ns = UINT64_MAX };
	s->local = (struct local_cell){ .pidfd = -1, .control = ends[0] };
	s->run = (struct run){ .provider = &local_provider, .cell = &s->local, .sandbox = -1 };
	s->run.options.spec = &s->spec;
	s->run.watch =
		(struct limit_watch){ .spec = &s->spec, .sandbox = -1, .proc = -1, .sockets = -1 };
	s->run.epoll = epoll_create1(EPOLL_CLOEXEC);
	s->run.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	assert_int_equal(run_listen(&s->run, ends[0], RUN_EVENT_CELL + CONTROL, EPOLLIN), 0);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct supervised *s = *state;

	close_fd(&s->local.control);
	close_fd(&s->theirs);
	close_fd(&s->run.epoll);
	close_fd(&s->run.timer);
	free(s);
	return 0;
}

static void send_bytes(struct supervised *s, const void *data, size_t size)
{
	assert_int_equal(send(s->theirs, data, size, MSG_NOSIGNAL), size);
	assert_int_equal(local_provider.event(&s->run, CONTROL), 0);
}

static void send_message(struct supervised *s, uint32_t kind, uint32_t stage)
{
	struct local_message message = {
		.kind = kind, .stage = stage, .errnum = ENOENT, .code = CLD_EXITED, .status = 7
	};

	send_bytes(s, &message, sizeof(message));
}

static void assert_alive(const struct supervised *s)
{
	assert_true(s->run.state < RUN_ENDING);
	assert_int_equal(s->run.facts.ending, ENDING_NONE);
}

/* The run is ended, and nothing more is read from the socket. */
static void assert_ended(struct supervised *s)
{
	struct epoll_event event;
	char byte = 0;

	assert_int_equal(s->run.state, RUN_ENDING);
	assert_int_equal(s->run.facts.ending, ENDING_PROTOCOL);
	assert_int_equal(send(s->theirs, &byte, 1, MSG_NOSIGNAL), 1);
	assert_int_equal(epoll_wait(s->run.epoll, &event, 1, 0), 0);
	/* The supervisor sees the end of file, and kills all its descendants. */
	assert_int_equal(recv(s->theirs, &byte, 1, MSG_DONTWAIT), 0);
}

static void test_in_order(void **state)
{
	struct supervised *s = *state;

	send_message(s, LOCAL_STARTED, 0);
	assert_int_equal(s->local.state, LOCAL_RUNNING);
	assert_int_equal(s->run.state, RUN_RUNNING);
	send_message(s, LOCAL_EXITED, 0);
	assert_true(s->run.facts.exited);
	assert_int_equal(s->run.facts.end_code, CLD_EXITED);
	assert_int_equal(s->run.facts.end_status, 7);
	assert_alive(s);
}

static void test_failed(void **state)
{
	struct supervised *s = *state;

	send_message(s, LOCAL_FAILED, LOCAL_STAGES - 1);
	assert_true(s->run.build_failed);
	assert_int_equal(s->local.build_stage, LOCAL_STAGES - 1);
	assert_int_equal(s->local.build_errnum, ENOENT);
	assert_alive(s);
}

static void test_out_of_order(void **state)
{
	static const uint32_t cases[][3] = {
		{ LOCAL_EXITED },
		{ LOCAL_STARTED, LOCAL_STARTED },
		{ LOCAL_STARTED, LOCAL_FAILED },
		{ LOCAL_FAILED, LOCAL_STARTED },
		{ LOCAL_FAILED, LOCAL_EXITED },
		{ LOCAL_FAILED, LOCAL_FAILED },
		{ LOCAL_STARTED, LOCAL_EXITED, LOCAL_EXITED },
		{ LOCAL_STARTED, LOCAL_EXITED, LOCAL_STARTED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		void *fresh = NULL;
		set_up(&fresh);
		for (size_t j = 0; j < 3 && cases[i][j]; j++) {
			assert_alive(fresh);
			send_message(fresh, cases[i][j], 0);
		}
		assert_ended(fresh);
		tear_down(&fresh);
	}
	(void)state;
}

static void test_unknown_kinds(void **state)
{
	static const uint32_t kinds[] = { 0, LOCAL_FAILED + 1, UINT32_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		void *fresh = NULL;
		set_up(&fresh);
		send_message(fresh, kinds[i], 0);
		assert_ended(fresh);
		tear_down(&fresh);
	}
	(void)state;
}

/* Records that are too short or too long. */
static void test_sizes(void **state)
{
	struct {
		struct local_message message;
		char more;
	} record = { .message = { .kind = LOCAL_STARTED } };
	const size_t sizes[] = { 1, sizeof(uint32_t), sizeof(record.message) - 1,
				 sizeof(record.message) + 1 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		void *fresh = NULL;
		set_up(&fresh);
		send_bytes(fresh, &record, sizes[i]);
		assert_int_equal(((struct supervised *)fresh)->local.state, LOCAL_STARTING);
		assert_ended(fresh);
		tear_down(&fresh);
	}
	(void)state;
}

/* The stage is the index of a table. */
static void test_stages(void **state)
{
	static const uint32_t stages[] = { LOCAL_STAGES, LOCAL_STAGES + 1, INT32_MAX, UINT32_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(stages); i++) {
		void *fresh = NULL;
		set_up(&fresh);
		send_message(fresh, LOCAL_FAILED, stages[i]);
		assert_false(((struct supervised *)fresh)->run.build_failed);
		assert_ended(fresh);
		tear_down(&fresh);
	}
	(void)state;
}

/* The end of file is no message: the end of the process itself is what counts. */
static void test_end_of_file(void **state)
{
	struct supervised *s = *state;
	struct epoll_event event;

	close_fd(&s->theirs);
	assert_int_equal(local_provider.event(&s->run, CONTROL), 0);
	assert_alive(s);
	assert_int_equal(epoll_wait(s->run.epoll, &event, 1, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_failed, set_up, tear_down),
		cmocka_unit_test(test_out_of_order),
		cmocka_unit_test(test_unknown_kinds),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_stages),
		cmocka_unit_test_setup_teardown(test_end_of_file, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
