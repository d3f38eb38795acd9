/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of a tool: the last are kept, and a program that floods them keeps nobody busy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "holder/held.h"

struct logged {
	struct run run;
	struct held_cell held;
	struct held_kind kind;
	int theirs;
};

static int set_up(void **state)
{
	static struct logged logged;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	logged = (struct logged){ .theirs = ends[1], .kind = { .stays = true } };
	logged.held.kind = &logged.kind;
	logged.held.log = ends[0];
	logged.run.cell = &logged.held;
	logged.run.epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event want = { .events = EPOLLIN };
	assert_int_equal(epoll_ctl(logged.run.epoll, EPOLL_CTL_ADD, ends[0], &want), 0);
	*state = &logged;
	return 0;
}

static int tear_down(void **state)
{
	struct logged *logged = *state;

	close_fd(&logged->held.log);
	close_fd(&logged->theirs);
	close_fd(&logged->run.epoll);
	return 0;
}

/* Writes as much as there is room for, and lets the warden read, again and again. */
static unsigned flood(struct logged *logged, unsigned most)
{
	struct epoll_event ready;
	char text[4096];
	unsigned turns = 0;

	memset(text, 'm', sizeof(text));
	for (; turns < most; turns++) {
		while (write(logged->theirs, text, sizeof(text)) > 0) {
		}
		if (epoll_wait(logged->run.epoll, &ready, 1, 0) == 0) {
			break;
		}
		assert_int_equal(held_handle(&logged->run, HELD_EVENT_LOG), 0);
	}
	return turns;
}

/* A tool that has to say much goes on. */
static void test_tool(void **state)
{
	struct logged *logged = *state;

	assert_int_equal(flood(logged, 2000), 2000);
	assert_in_range(logged->held.messages_size, HELD_LOG_BYTES / 2, HELD_LOG_BYTES - 1);
}

static void test_program(void **state)
{
	struct logged *logged = *state;

	logged->held.link.phase = ASSIGN_INPUT;
	assert_true(flood(logged, 2000) < 10);
	assert_int_equal(logged->held.messages_size, HELD_LOG_BYTES - 1);
	assert_false(held_hears(&logged->held));
	assert_true(logged->held.log >= 0); /* the tool is not ended by a closed pipe */
}

/* A few words of the tool's are kept, also late ones. */
static void test_late_words(void **state)
{
	struct logged *logged = *state;

	logged->held.link.phase = ASSIGN_INPUT;
	assert_int_equal(write(logged->theirs, "words", 5), 5);
	assert_int_equal(held_handle(&logged->run, HELD_EVENT_LOG), 0);
	assert_string_equal(logged->held.messages, "words");
	assert_true(held_hears(&logged->held));
}

/* Writes them `times` times, then `last`, and lets the warden read all. */
static void say(struct logged *logged, const char *words, unsigned times, const char *last)
{
	struct epoll_event ready;

	for (unsigned i = 0; i < times; i++) {
		assert_int_equal(write(logged->theirs, words, strlen(words)), strlen(words));
	}
	assert_int_equal(write(logged->theirs, last, strlen(last)), strlen(last));
	while (epoll_wait(logged->run.epoll, &ready, 1, 0) == 1) {
		assert_int_equal(held_handle(&logged->run, HELD_EVENT_LOG), 0);
	}
	assert_int_equal(logged->held.messages[logged->held.messages_size], '\0');
}

/* An error shows the line that names the cause, however much was said before. */
static void test_cause(void **state)
{
	static const struct {
		const char *words, *last, *cause;
	} cases[] = {
		{ "a\n", "the cause\n", "the cause" },
		{ "a\n", "no end", "no end" },
		{ "a\r\n", "of two bytes\r\n \n\r\n", "of two bytes" },
		{ "\r\033[KProcessing x ...", "\n<E> erofs: \tNo space left on device\n\n",
		  "<E> erofs:  No space left on device" },
		{ "a\n", "the cause\n\r\033[K50 %\r\033[K100 %", "the cause" },
		{ "\r\033[K", "100 %", "it gave no reason" },
		{ "\n", " \t\n", "it gave no reason" },
		{ "", "\033]0;title\a", "?]0;title?" },
	};
	struct logged *logged = *state;

	logged->kind.product = "image";
	logged->held.tool = "mkfs";
	logged->held.tool_status = 1 << 8;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		const char *words = cases[i / 2].words;
		struct brig_error err = { 0 };
		char message[256];

		logged->held.messages_size = 0;
		say(logged, words, i % 2 ? 5 * HELD_LOG_BYTES / 2 / (strlen(words) + 1) : 1,
		    cases[i / 2].last);
		assert_int_equal(held_build_error(&logged->held, &err), -EIO);
		snprintf(message, sizeof(message), "mkfs could not start the image: %s",
			 cases[i / 2].cause);
		assert_string_equal(err.message, message);
	}
}

int main(void)
{
#define LOGGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = { LOGGED(test_tool), LOGGED(test_program),
					    LOGGED(test_late_words), LOGGED(test_cause) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
