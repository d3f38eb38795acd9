/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig-init as a program of its own: the image that pid 1 of a template's clone becomes, with a
 * process of the test as its payload, and the test as its warden.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/memfile.h"
#include "kernel/sys.h"
#include "lib/warm/cell_init_image.h"
#include "native/cell/init_program.h"
#include "native/messages/wire.h"

#define WAIT_MS 60000 /* only a hang takes so long */
#define STEPS   9
#define STEP    "4" /* that init carries out */
#define ENDED   125

/* The warden's side. Descriptors of the other side are high: 3 to 5 are init's. */
struct side {
	int control;
	int reports; /* the payload's end */
	int life;    /* closed: the payload ends */
	int later;   /* closed: its child ends */
	pid_t init;
};

static int high(int fd)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, 64);

	close(fd);
	return moved;
}

/* Its status is 7; before that it has a child if one is wanted: 'q' ends at once, 'o' later. */
static _Noreturn void be_payload(int life, int later, char child)
{
	siginfo_t info;
	char byte;
	pid_t other = child ? fork() : -1;

	if (other == 0) {
		if (child == 'o') {
			(void)!read(later, &byte, 1);
		}
		_exit(0);
	}
	/* It has ended, and is left for init. */
	if (child == 'q') {
		waitid(P_PID, (id_t)other, &info, WEXITED | WNOWAIT);
	}
	(void)!read(life, &byte, 1);
	_exit(7);
}

static _Noreturn void be_init(int image, int control, int reports, int left,
			      const char *const *words)
{
	const char *argv[8] = { "brig-init" };
	const char *const envp[] = { NULL };
	int argc = 1;

	for (; *words; words++) {
		argv[argc++] = *words;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(control, INIT_PROGRAM_CONTROL);
	dup2(reports, INIT_PROGRAM_REPORTS);
	dup2(left, INIT_PROGRAM_LEFT);
	syscall(SYS_close_range, INIT_PROGRAM_FDS_END, ~0u, 4 /* close-on-exec */);
	syscall(SYS_close_range, 0, 2, 0);
	syscall(SYS_execveat, image, "", argv, envp, AT_EMPTY_PATH);
	_exit(99);
}

static void start(struct side *side, const char *state, char child, bool all_words)
{
	int control[2], reports[2], life[2], later[2], left[2];
	int image = memfile_make("brig-init", cell_init_image, cell_init_image_size);

	assert_true(image >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), 0);
	assert_int_equal(pipe2(reports, O_CLOEXEC), 0);
	assert_int_equal(pipe2(life, O_CLOEXEC), 0);
	assert_int_equal(pipe2(later, O_CLOEXEC), 0);
	assert_int_equal(pipe2(left, O_CLOEXEC), 0);
	for (int i = 0; i < 2; i++) {
		control[i] = high(control[i]);
		reports[i] = high(reports[i]);
		life[i] = high(life[i]);
		later[i] = high(later[i]);
		left[i] = high(left[i]);
	}
	image = high(image);
	pid_t init = fork();
	assert_true(init >= 0);
	if (init == 0) {
		char pid[16];
		close(control[0]);
		close(reports[1]);
		close(life[1]);
		close(later[1]);
		pid_t payload = fork();
		if (payload == 0) {
			close(control[1]);
			close(reports[0]);
			be_payload(life[0], later[0], child);
		}
		snprintf(pid, sizeof(pid), "%d", payload);
		const char *const words[] = { pid, "9", STEP, all_words ? state : NULL, NULL };
		be_init(image, control[1], reports[0], left[1], words);
	}
	close(control[1]);
	close(reports[0]);
	close(life[0]);
	close(later[0]);
	close(image);
	close(left[1]);
	char byte = 1;
	assert_int_equal(read(left[0], &byte, 1), 1);
	close(left[0]);
	*side = (struct side){ control[0], reports[1], life[1], later[1], init };
}

static void begin(struct side *side)
{
	start(side, "0", 0, true);
}

static void report(const struct side *side, uint32_t kind, uint32_t value, int errnum)
{
	assert_int_equal(payload_report_write(side->reports, kind, value, errnum), 0);
}

static void expect_fds(const struct side *side, struct wire_record *record, int *fds,
		       unsigned wanted)
{
	struct pollfd ready = { .fd = side->control, .events = POLLIN };
	unsigned count = 0;

	assert_int_equal(poll(&ready, 1, WAIT_MS), 1);
	assert_int_equal(wire_receive(side->control, record, fds, &count), 1);
	assert_int_equal(count, wanted);
}

static struct wire_record expect(const struct side *side, enum wire_kind kind)
{
	struct wire_record record = { 0 };
	int fds[WIRE_FDS_MAX];

	expect_fds(side, &record, fds, 0);
	assert_int_equal(record.kind, kind);
	return record;
}

static void expect_failure(const struct side *side, uint32_t step, int errnum)
{
	struct wire_record record = expect(side, WIRE_FAILED);

	assert_int_equal(record.value, step);
	assert_int_equal(record.errnum, errnum);
}

/* Its status. Then nothing is left of it and its children. */
static void expect_end(struct side *side, int wanted)
{
	int status = 0;

	assert_int_equal(waitpid(side->init, &status, 0), side->init);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), wanted);
	close_fd(&side->control);
	close_fd(&side->reports);
	close_fd(&side->life);
	close_fd(&side->later);
	/* As pid 1 its end is that of all others; here they become children of the test. */
	while (waitpid(-1, &status, 0) > 0) {
	}
}

static void hold(struct side *side)
{
	report(side, PAYLOAD_REPORT_READY, 0, 0);
	expect(side, WIRE_HELD);
}

static void run(struct side *side)
{
	hold(side);
	close_fd(&side->reports);
	expect(side, WIRE_STARTED);
}

/*
 * Waits until these are its descriptors, as bits; the last of an answer is closed after it is sent.
 * Nobody of the same user may look: it is not dumpable.
 */
static void expect_own_fds(const struct side *side, uint64_t always, int count)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd", side->init);
	for (int tries = 0; tries < WAIT_MS; tries++) {
		uint64_t bits = 0;
		DIR *dir = opendir(path);
		if (!dir) {
			assert_int_equal(errno, EACCES);
			assert_int_not_equal(geteuid(), 0);
			return;
		}
		for (struct dirent *entry; (entry = readdir(dir));) {
			if (entry->d_name[0] != '.') {
				bits |= 1ull << strtoul(entry->d_name, NULL, 10);
			}
		}
		closedir(dir);
		assert_int_equal(bits & always, always);
		if (__builtin_popcountll(bits) == count) {
			return;
		}
		usleep(1000);
	}
	fail();
}

static void test_whole_life(void **state)
{
	struct side side;
	struct wire_record record;

	(void)state;
	begin(&side);
	hold(&side);
	expect_own_fds(&side, 1 << INIT_PROGRAM_CONTROL | 1 << INIT_PROGRAM_REPORTS, 2);
	close_fd(&side.reports);
	expect(&side, WIRE_STARTED);
	close_fd(&side.life);
	record = expect(&side, WIRE_EXITED);
	assert_int_equal(record.value, CLD_EXITED | WIRE_ALONE);
	assert_int_equal(record.status, 7);
	expect_end(&side, 0);
}

/* The listener was sent by the program before this one. */
static void test_state_is_passed_on(void **state)
{
	struct side side;

	(void)state;
	start(&side, "1", 0, true);
	run(&side);
	close_fd(&side.life);
	expect(&side, WIRE_EXITED);
	expect_end(&side, 0);
}

static void test_failures_are_passed_on(void **state)
{
	struct side side;

	(void)state;
	begin(&side);
	report(&side, PAYLOAD_REPORT_FAILED, 3, ENOSPC);
	expect_failure(&side, 3, ENOSPC);
	expect_end(&side, ENDED);
	begin(&side);
	hold(&side); /* after that its last steps can fail */
	report(&side, PAYLOAD_REPORT_FAILED, 8, EFBIG);
	expect_failure(&side, 8, EFBIG);
	expect_end(&side, ENDED);
}

static void test_wrong_reports(void **state)
{
	static const struct payload_report wrong[] = {
		{ 0, 0, 0 },
		{ PAYLOAD_REPORT_FAILED, STEPS, EIO }, /* no such step */
		{ PAYLOAD_REPORT_FAILED, 1, 0 },
		{ PAYLOAD_REPORT_FAILED, 1, 4096 },
		{ PAYLOAD_REPORT_LISTENER, 5, 0 }, /* valid, but it has no descriptor of it */
		{ PAYLOAD_REPORT_READY, 1, 0 },
		{ PAYLOAD_REPORT_READY + 1, 0, 0 },
		{ UINT32_MAX, UINT32_MAX, -1 },
	};
	struct side side;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		begin(&side);
		report(&side, wrong[i].kind, wrong[i].value, wrong[i].errnum);
		expect_failure(&side, 4, EPROTO);
		expect_end(&side, ENDED);
	}
	begin(&side);
	assert_int_equal(write(side.reports, "12345", 5), 5);
	expect_failure(&side, 4, EPROTO);
	expect_end(&side, ENDED);
	begin(&side);
	hold(&side);
	report(&side, PAYLOAD_REPORT_READY, 0, 0);
	expect_failure(&side, 4, EPROTO);
	expect_end(&side, ENDED);
}

static void test_payload_gone(void **state)
{
	struct side side;

	(void)state;
	begin(&side);
	close_fd(&side.reports);
	expect_failure(&side, 4, ECHILD);
	expect_end(&side, ENDED);
	/* Once it is ready, its end is that of the program. */
	begin(&side);
	hold(&side);
	close_fd(&side.life);
	close_fd(&side.reports);
	expect(&side, WIRE_STARTED);
	assert_int_equal(expect(&side, WIRE_EXITED).status, 7);
	expect_end(&side, 0);
}

static void test_warden_gone(void **state)
{
	static void (*const until[])(struct side * side) = { NULL, hold, run };
	struct side side;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(until); i++) {
		begin(&side);
		if (until[i]) {
			until[i](&side);
		}
		close_fd(&side.control);
		expect_end(&side, ENDED);
	}
}

static void test_get_program(void **state)
{
	const struct wire_record ask = { .kind = WIRE_GET_PROGRAM };
	struct wire_record record = { 0 };
	int fds[WIRE_FDS_MAX];
	struct side side;

	(void)state;
	begin(&side);
	run(&side);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(wire_send(side.control, &ask, NULL, 0), 0);
		expect_fds(&side, &record, fds, 1);
		assert_int_equal(record.kind, WIRE_PROGRAM);
		if (i == 0) {
			assert_int_equal(syscall(SYS_pidfd_send_signal, fds[0], 0, NULL, 0), 0);
		}
		close(fds[0]);
	}
	/* Control, and its descriptor for signals: none is left of the answers. */
	expect_own_fds(&side, 1 << INIT_PROGRAM_CONTROL, 2);
	close_fd(&side.life);
	assert_int_equal(expect(&side, WIRE_EXITED).status, 7);
	expect_end(&side, 0);
}

static void test_wrong_messages(void **state)
{
	const struct wire_record ask = { .kind = WIRE_GET_PROGRAM }, other = { .kind = WIRE_GROUP };
	const int fds[WIRE_FDS_MAX] = { 0 };
	struct side side;

	(void)state;
	for (int i = 0; i < 5; i++) {
		begin(&side);
		run(&side);
		switch (i) {
		case 0:
			wire_send(side.control, &other, NULL, 0);
			break;
		case 1:
			wire_send(side.control, &ask, fds, 1);
			break;
		case 2:
			wire_send(side.control, &ask, fds, WIRE_FDS_MAX);
			break;
		case 3:
			send(side.control, &ask, sizeof(ask) - 1, 0);
			break;
		default: {
			char more[sizeof(ask) + 1] = { WIRE_GET_PROGRAM };
			send(side.control, more, sizeof(more), 0);
		}
		}
		expect_end(&side, ENDED);
	}
}

/* Other processes of the cell end as its children, too; only the program's end is reported. */
static void test_other_children(void **state)
{
	struct side side;

	(void)state;
	start(&side, "0", 'q', true);
	run(&side);
	close_fd(&side.life);
	struct wire_record record = expect(&side, WIRE_EXITED);
	assert_int_equal(record.value, CLD_EXITED | WIRE_ALONE);
	assert_int_equal(record.status, 7);
	expect_end(&side, 0);

	start(&side, "0", 'o', true);
	run(&side);
	close_fd(&side.life);
	record = expect(&side, WIRE_EXITED);
	assert_int_equal(record.value, CLD_EXITED);
	assert_int_equal(record.status, 7);
	expect_end(&side, 0);
}

static void test_wrong_arguments(void **state)
{
	struct side side;

	(void)state;
	start(&side, "0", 0, false);
	expect_failure(&side, 0, EINVAL);
	expect_end(&side, ENDED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_life),
		cmocka_unit_test(test_state_is_passed_on),
		cmocka_unit_test(test_failures_are_passed_on),
		cmocka_unit_test(test_wrong_reports),
		cmocka_unit_test(test_payload_gone),
		cmocka_unit_test(test_warden_gone),
		cmocka_unit_test(test_get_program),
		cmocka_unit_test(test_wrong_messages),
		cmocka_unit_test(test_other_children),
		cmocka_unit_test(test_wrong_arguments),
	};

	/* A process that brig-init leaves behind has a parent here. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return cmocka_run_group_tests_name("native_init_program", tests, NULL, NULL);
}
