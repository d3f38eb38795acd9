/* SPDX-License-Identifier: Apache-2.0 */
/* The watchdog: which work ends a cell, and which does not. A child process stands for the cell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/sys.h"
#include "run/watchdog/watchdog.h"

#define MS_NS       1000000ull
#define PATIENCE_NS (WATCHDOG_PATIENCE_MS * MS_NS)
#define LONG_NS     (4 * PATIENCE_NS)
#define BOUND_MS    20000 /* on a busy machine */

/* A cell of one process. Its death closes the pipe, by which the thread that waits wakes up. */
struct cell {
	pid_t pid;
	int pidfd;
	int pipe[2];
	struct watchdog_account account;
};

static struct watchdog *dog; /* of the test */

static int make_cell(void **state)
{
	struct cell *cell = calloc(1, sizeof(*cell));

	dog = watchdog_new();
	assert_non_null(dog);
	assert_int_equal(pipe(cell->pipe), 0);
	cell->pid = fork();
	if (cell->pid == 0) {
		close(cell->pipe[0]);
		for (;;) {
			pause();
		}
	}
	close_fd(&cell->pipe[1]);
	cell->pidfd = sys_pidfd_open(cell->pid, 0);
	assert_true(cell->pidfd >= 0);
	*state = cell;
	return 0;
}

static int drop_cell(void **state)
{
	struct cell *cell = *state;

	kill(cell->pid, SIGKILL);
	waitpid(cell->pid, NULL, 0);
	close(cell->pidfd);
	close(cell->pipe[0]);
	free(cell);
	watchdog_free(TAKE_PTR(dog));
	return 0;
}

static struct watchdog_section section_of(struct cell *cell)
{
	return (struct watchdog_section){ .account = &cell->account, .pidfd = cell->pidfd };
}

static bool is_dead(const struct cell *cell)
{
	struct pollfd end = { .fd = cell->pidfd, .events = POLLIN };

	return poll(&end, 1, 0) == 1;
}

static void wait_ns(uint64_t ns)
{
	struct timespec time = { .tv_sec = (time_t)(ns / 1000000000u),
				 .tv_nsec = (long)(ns % 1000000000u) };

	while (nanosleep(&time, &time) < 0 && errno == EINTR) {
	}
}

static void work_ns(uint64_t ns)
{
	uint64_t end_ns = clock_now_ns() + ns;

	while (clock_now_ns() < end_ns) {
	}
}

/* Until the cell is killed, or the test has failed. */
static bool wait_for_end(const struct cell *cell)
{
	struct pollfd end = { .fd = cell->pipe[0], .events = POLLIN };

	return poll(&end, 1, BOUND_MS) == 1;
}

static void test_blocked(void **state)
{
	struct cell *cell = *state;
	struct watchdog_section section = section_of(cell);
	uint64_t start_ns = clock_now_ns();

	watchdog_enter(dog, &section);
	assert_true(wait_for_end(cell));
	assert_true(watchdog_leave(&section));
	assert_true(clock_now_ns() - start_ns >= PATIENCE_NS);
	/* It is told of each section from then on. */
	watchdog_enter(dog, &section);
	assert_true(watchdog_leave(&section));
}

static void test_busy(void **state)
{
	struct cell *cell = *state;
	struct watchdog_section section = section_of(cell);

	watchdog_enter(dog, &section);
	work_ns(LONG_NS);
	assert_false(watchdog_leave(&section));
	assert_false(is_dead(cell));
}

static void test_left_in_time(void **state)
{
	struct cell *cell = *state;
	struct watchdog_section section = section_of(cell);

	watchdog_enter(dog, &section);
	wait_ns(PATIENCE_NS / 3);
	assert_false(watchdog_leave(&section));
	wait_ns(LONG_NS);
	assert_false(is_dead(cell));
}

/* Work for no cell, such as a callback, may take its time, wherever it is nested. */
static void test_outside(void **state)
{
	struct cell *cell = *state;
	struct watchdog_section section = section_of(cell), outside = { 0 };

	watchdog_enter(dog, &section);
	watchdog_enter(dog, &outside);
	wait_ns(LONG_NS);
	assert_false(watchdog_leave(&outside));
	assert_false(watchdog_leave(&section));
	assert_false(is_dead(cell));
}

static void test_nested(void **state)
{
	struct cell *cell = *state;
	struct watchdog_account other = { 0 };
	struct watchdog_section section = section_of(cell);
	struct watchdog_section outer = { .account = &other, .pidfd = -1 };

	watchdog_enter(dog, &outer);
	watchdog_enter(dog, &section);
	assert_true(wait_for_end(cell));
	assert_true(watchdog_leave(&section));
	assert_false(watchdog_leave(&outer));
}

/* None of them is too long, but together they leave no time for others. */
static void test_many_short(void **state)
{
	struct cell *cell = *state;
	struct watchdog_section section = section_of(cell);
	bool killed = false;

	for (int i = 0; i < 100 && !killed; i++) {
		watchdog_enter(dog, &section);
		wait_ns(PATIENCE_NS / 2);
		killed = watchdog_leave(&section);
	}
	assert_true(killed);
	assert_true(wait_for_end(cell));
}

static void test_forgiven(void **state)
{
	struct cell *cell = *state;
	struct watchdog_section section = section_of(cell);

	for (int i = 0; i < 4; i++) {
		watchdog_enter(dog, &section);
		wait_ns(PATIENCE_NS / 3);
		assert_false(watchdog_leave(&section));
		wait_ns(PATIENCE_NS * 2 / 3);
	}
	assert_false(is_dead(cell));
}

/* The thread sleeps when there is nothing to do. */
static void test_again(void **state)
{
	struct cell *cell = *state;
	struct watchdog_section section = section_of(cell);

	watchdog_enter(dog, &section);
	assert_false(watchdog_leave(&section));
	wait_ns(2000 * MS_NS);
	watchdog_enter(dog, &section);
	assert_false(watchdog_leave(&section));
	watchdog_enter(dog, &section);
	assert_true(wait_for_end(cell));
	assert_true(watchdog_leave(&section));
}

/* A child that the host program forks has a watchdog of its own. */
static void test_fork(void **state)
{
	struct cell *cell = *state;
	struct watchdog_section outer = section_of(cell), inner = section_of(cell);
	int status = 0;

	watchdog_enter(dog, &outer);
	pid_t pid = fork();
	if (pid == 0) {
		watchdog_enter(dog, &inner);
		bool ended = wait_for_end(cell);
		bool killed = watchdog_leave(&inner) && watchdog_leave(&outer);
		_exit(ended && killed ? 0 : 1);
	}
	assert_false(watchdog_leave(&outer));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_true(wait_for_end(cell));
}

static void *block(void *user)
{
	struct cell *cell = user;
	struct watchdog_section section = section_of(cell);

	watchdog_enter(dog, &section);
	bool ended = wait_for_end(cell);
	return ended && watchdog_leave(&section) ? cell : NULL;
}

/* Each thread is judged by itself. */
static void test_threads(void **state)
{
	struct cell *cell = *state;
	struct watchdog_account other = { 0 };
	struct watchdog_section section = { .account = &other, .pidfd = -1 };
	pthread_t thread;
	void *same = NULL;

	watchdog_enter(dog, &section);
	assert_int_equal(pthread_create(&thread, NULL, block, cell), 0);
	work_ns(2 * PATIENCE_NS);
	assert_false(watchdog_leave(&section));
	pthread_join(thread, &same);
	assert_ptr_equal(same, cell);
}

#define CELL_TEST(test) cmocka_unit_test_setup_teardown(test, make_cell, drop_cell)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CELL_TEST(test_blocked),  CELL_TEST(test_busy),   CELL_TEST(test_left_in_time),
		CELL_TEST(test_outside),  CELL_TEST(test_nested), CELL_TEST(test_many_short),
		CELL_TEST(test_forgiven), CELL_TEST(test_again),  CELL_TEST(test_fork),
		CELL_TEST(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
