/* SPDX-License-Identifier: Apache-2.0 */
/* The time for returned files, of an agent that belongs to the program: it wants a longer run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent_link/agent_link.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define SECOND 1000000000ull
#define MIB    (1ull << 20)

/* --- the rule --------------------------------------------------------------------------------- */

static const struct brig_limits large = { .wall_ns = 3600 * SECOND,
					  .disk_bytes = 1000000 * MIB,
					  .disk_inodes = 1000 };

/* The bytes of the disk, the time of the program, and a minute: the least of them counts. */
static void test_most(void **state)
{
	struct brig_limits limits = large;

	(void)state;
	assert_int_equal(return_time_most(&limits, RETURN_RATE), RETURN_PERIOD_NS + RETURN_MOST_NS);
	limits.wall_ns = 10 * SECOND;
	assert_int_equal(return_time_most(&limits, RETURN_RATE), RETURN_PERIOD_NS + 10 * SECOND);
	limits.disk_bytes = 4 * RETURN_RATE;
	assert_int_equal(return_time_most(&limits, RETURN_RATE), RETURN_PERIOD_NS + 6 * SECOND);
	limits.disk_inodes = 1000000;
	assert_int_equal(return_time_most(&limits, RETURN_RATE), RETURN_PERIOD_NS + 10 * SECOND);
	limits = (struct brig_limits){ .wall_ns = UINT64_MAX,
				       .disk_bytes = UINT64_MAX,
				       .disk_inodes = UINT64_MAX };
	assert_int_equal(return_time_most(&limits, RETURN_RATE), RETURN_PERIOD_NS + RETURN_MOST_NS);
}

/* How long an agent lasts that sends `each` bytes in every 100 ms, after `first`. */
static uint64_t lasts(const struct brig_limits *limits, uint64_t first, uint64_t each)
{
	const uint64_t begin = 77 * SECOND;
	struct return_time time;
	uint64_t now = begin, received = first;

	return_time_begin(&time, limits, RETURN_RATE, begin);
	for (; return_time_next(&time, received, now) > 0; now += SECOND / 10) {
		received += each;
		assert_true(now - begin < 1000 * SECOND);
	}
	return now - begin;
}

static void test_progress(void **state)
{
	(void)state;
	/* Nothing, a drip, and less than the rate: one period. */
	assert_int_equal(lasts(&large, 0, 0), RETURN_PERIOD_NS);
	assert_int_equal(lasts(&large, 0, 1), RETURN_PERIOD_NS);
	assert_int_equal(lasts(&large, 0, RETURN_RATE / 11), RETURN_PERIOD_NS);
	/* As many bytes as it likes at first buy one more. */
	assert_int_equal(lasts(&large, 100000 * MIB, 1), 2 * RETURN_PERIOD_NS);
	/* The rate all the time: to the end, and not further. */
	assert_int_equal(lasts(&large, 0, RETURN_RATE / 10 + 1), RETURN_PERIOD_NS + RETURN_MOST_NS);
}

/* --- a liar ----------------------------------------------------------------------------------- */

static void send_frame(int fd, enum frame_kind kind, const void *data, uint32_t size)
{
	unsigned char head[FRAME_HEAD_BYTES];

	frame_put_head(head, kind, size);
	if (write(fd, head, sizeof(head)) != sizeof(head) ||
	    (size && write(fd, data, size) != (ssize_t)size)) {
		_exit(1);
	}
}

/* Reports the end of a program at once, and then a file of which a byte comes now and then. */
static _Noreturn void lie(int fd)
{
	unsigned char number[32] = { 0 };

	frame_put_u32(number, FRAME_VERSION);
	send_frame(fd, FRAME_READY, number, 4);
	unsigned char buffer[65536];
	for (bool started = false; !started;) {
		ssize_t n = read(fd, buffer, sizeof(buffer));
		/* START is the last frame that comes by itself: its head ends what was read. */
		started = n >= 8 && buffer[n - 8] == FRAME_START;
	}
	send_frame(fd, FRAME_STARTED, NULL, 0);
	frame_put_exit(number, &(struct frame_exit){ .code = CLD_EXITED });
	send_frame(fd, FRAME_EXITED, number, FRAME_EXIT_BYTES);
	frame_put_u32(number, 0644);
	frame_put_u64(number + 4, 4096);
	number[12] = 'f';
	send_frame(fd, FRAME_OUT_FILE, number, 13);
	for (uint64_t at = 0;; at++) {
		frame_put_u64(number, at);
		send_frame(fd, FRAME_OUT_DATA, number, 9);
		usleep(20000);
	}
}

struct cell {
	struct run run;
	struct spec spec;
	struct agent_link link;
	struct brig_result result;
	int input;
	pid_t liar;
	bool killed;
};
static struct cell *current;

static void kill_cell(struct run *run)
{
	if (!agent_link_finishing(&current->link, run)) {
		current->killed = true;
	}
}

static int always_ready(struct run *run)
{
	(void)run;
	return 1;
}

static const struct provider test_provider = { .name = "test", .kill = kill_cell };

static void open_cell(struct cell *cell)
{
	static const char *const argv[] = { "x", NULL };
	const struct agent_options options = { .returns = true };
	int ends[2];

	cell->spec = (struct spec){ .provider = &test_provider, .argv = argv };
	cell->spec.limits = (struct brig_limits){ .wall_ns = SECOND / 10,
						  .disk_bytes = 64 * MIB,
						  .disk_inodes = 100,
						  .file_bytes = MIB,
						  .open_files = 64 };
	cell->run = (struct run){ .provider = &test_provider,
				  .sandbox = -1,
				  .value = -1,
				  .end_fd = -1,
				  .result = &cell->result };
	cell->run.options.spec = &cell->spec;
	cell->run.watch = (struct limit_watch){
		.spec = &cell->spec, .sandbox = -1, .proc = -1, .sockets = -1
	};
	cell->run.epoll = epoll_create1(EPOLL_CLOEXEC);
	cell->run.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	assert_int_equal(run_pipe(&cell->input, &cell->run.inside[0], false), 0);
	for (int i = 0; i < 2; i++) {
		cell->run.out[i] = (struct stream){ .number = i + 1, .limit = MIB, .keep = true };
		assert_int_equal(run_pipe(&cell->run.out[i].fd, &cell->run.inside[i + 1], true), 0);
	}
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	cell->liar = fork();
	assert_true(cell->liar >= 0);
	if (cell->liar == 0) {
		lie(ends[1]);
	}
	close(ends[1]);
	assert_int_equal(
		agent_link_open(&cell->link, &cell->run, ends[0], 0, always_ready, &options), 0);
}

/* It is killed when the time of the whole is over, and its files are lost. */
static void test_liar(void **state)
{
	struct cell *cell = calloc(1, sizeof(*cell));
	uint64_t begin = clock_now_ns();

	(void)state;
	current = cell;
	open_cell(cell);
	while (!cell->killed && !cell->link.ended) {
		struct epoll_event ready[8];
		int count = epoll_wait(cell->run.epoll, ready, 8, 100);
		for (int i = 0; i < count && !cell->killed; i++) {
			assert_int_equal(agent_link_handle(&cell->link, &cell->run,
							   ready[i].data.u32 - RUN_EVENT_CELL),
					 0);
		}
		assert_true(clock_now_ns() - begin < 15 * SECOND);
	}
	assert_true(cell->killed);
	assert_true(cell->link.files.received > 10);
	assert_true(clock_now_ns() - begin >= RETURN_PERIOD_NS);
	agent_link_drain(&cell->link, &cell->run);
	assert_int_equal(cell->run.sandbox, -1);
	assert_string_equal(cell->result.files_note,
			    "the cell ended before it had returned its files");
	kill(cell->liar, SIGKILL);
	assert_int_equal(waitpid(cell->liar, NULL, 0), cell->liar);
	agent_link_close(&cell->link);
	close(cell->input);
	stream_done(&cell->run.out[0]);
	stream_done(&cell->run.out[1]);
	close_fd(&cell->run.epoll);
	close_fd(&cell->run.timer);
	free(cell->result.files_note);
	free(cell);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_most),
		cmocka_unit_test(test_progress),
		cmocka_unit_test(test_liar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
