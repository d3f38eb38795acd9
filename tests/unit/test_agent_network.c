/* SPDX-License-Identifier: Apache-2.0 */
/* The agent as the network of its cell, in a network namespace of its own; the gate is the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/files/memfile.h"
#include "framed/agent_image.h"
#include "framed/frame.h"
#include "net/cell_stream.h"

#define PATIENCE_MS 20000

struct talk {
	int fd;
	pid_t pid;
	unsigned char data[FRAME_DATA_MAX];
	struct frame_head head;
	struct cell_record record; /* of a frame TO_GATE */
	struct buf out, up;        /* the program's output; its bytes for the gate */
	struct frame_exit end;
};

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0) {
		_exit(98);
	}
	close(fd);
}

/* Root of a network of its own. */
static void enter(void)
{
	char map[64];

	snprintf(map, sizeof(map), "0 %u 1", geteuid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
		_exit(97);
	}
	write_file("/proc/self/setgroups", "deny");
	write_file("/proc/self/uid_map", map);
}

static int begin(void **state)
{
	struct talk *talk = calloc(1, sizeof(*talk));
	char *argv[] = { (char[]){ "brig-agent" }, NULL };
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	_cleanup_close_ int program = memfile_make("brig-agent", agent_image, agent_image_size);
	assert_true(program >= 0);
	talk->pid = fork();
	if (talk->pid == 0) {
		enter();
		dup2(ends[1], 0);
		dup2(ends[1], 1);
		fexecve(program, argv, environ);
		_exit(99);
	}
	close(ends[1]);
	talk->fd = ends[0];
	*state = talk;
	return 0;
}

static int finish(void **state)
{
	struct talk *talk = *state;

	close_fd(&talk->fd);
	waitpid(talk->pid, NULL, 0);
	buf_done(&talk->out);
	buf_done(&talk->up);
	free(talk);
	return 0;
}

static void tell(struct talk *talk, enum frame_kind kind, const void *data, size_t size)
{
	unsigned char head[FRAME_HEAD_BYTES];

	frame_put_head(head, kind, (uint32_t)size);
	assert_int_equal(send(talk->fd, head, sizeof(head), MSG_NOSIGNAL), sizeof(head));
	if (size) {
		assert_int_equal(send(talk->fd, data, size, MSG_NOSIGNAL), size);
	}
}

static void tell_record(struct talk *talk, enum cell_record_kind kind, uint32_t number,
			const void *data, size_t size)
{
	static unsigned char record[CELL_RECORD_MAX];

	cell_record_head(record, kind, number);
	if (size) {
		memcpy(record + CELL_RECORD_HEAD, data, size);
	}
	tell(talk, FRAME_FROM_GATE, record, CELL_RECORD_HEAD + size);
}

static void hear_bytes(struct talk *talk, unsigned char *at, size_t size)
{
	struct pollfd ready = { .fd = talk->fd, .events = POLLIN };

	while (size > 0) {
		assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
		ssize_t n = recv(talk->fd, at, size, 0);
		assert_true(n > 0);
		at += n;
		size -= (size_t)n;
	}
}

/* Records are read; output and bytes for the gate are kept. */
static enum frame_kind hear(struct talk *talk)
{
	unsigned char head[FRAME_HEAD_BYTES];

	hear_bytes(talk, head, sizeof(head));
	assert_int_equal(frame_get_head(head, &talk->head), 0);
	hear_bytes(talk, talk->data, talk->head.size);
	if (talk->head.kind == FRAME_TO_GATE) {
		assert_int_equal(cell_record_read(talk->data, talk->head.size, true, &talk->record),
				 0);
		if (talk->record.kind == CELL_DATA) {
			buf_add(&talk->up, talk->record.data, talk->record.size);
		}
	} else if (talk->head.kind == FRAME_STDOUT) {
		buf_add(&talk->out, talk->data, talk->head.size);
	} else if (talk->head.kind == FRAME_EXITED) {
		frame_get_exit(talk->data, &talk->end);
	}
	return talk->head.kind;
}

/* The next record of this kind; all else on the way is kept. */
static void hear_record(struct talk *talk, enum cell_record_kind kind)
{
	while (hear(talk) != FRAME_TO_GATE || talk->record.kind != kind) {
		assert_int_not_equal(talk->head.kind, FRAME_EXITED);
		assert_int_not_equal(talk->head.kind, FRAME_FAILED);
	}
}

static void hear_end(struct talk *talk)
{
	while (hear(talk) != FRAME_EXITED) {
	}
}

static void tell_port(struct talk *talk, uint32_t port)
{
	unsigned char bytes[4];

	frame_put_u32(bytes, port);
	tell(talk, FRAME_PORT, bytes, sizeof(bytes));
}

/* A bash with the network 198.18.0.0/15 and the ports 53 and 80. */
static void run_bash(struct talk *talk, const char *script)
{
	const struct frame_address range = { .family = 4, .bits = 15, .bytes = { 198, 18 } };
	unsigned char bytes[FRAME_ADDRESS_BYTES];

	assert_int_equal(hear(talk), FRAME_READY);
	tell(talk, FRAME_DIRECTORY, "/tmp", 4);
	tell(talk, FRAME_ARGUMENT, "/bin/bash", 9);
	tell(talk, FRAME_ARGUMENT, "-c", 2);
	tell(talk, FRAME_ARGUMENT, script, strlen(script));
	tell(talk, FRAME_VARIABLE, "PATH=/usr/bin:/bin", 18);
	frame_put_address(bytes, &range);
	tell(talk, FRAME_ADDRESS, bytes, sizeof(bytes));
	tell_port(talk, 53);
	tell_port(talk, 80);
	tell(talk, FRAME_START, NULL, 0);
	assert_int_equal(hear(talk), FRAME_STARTED);
}

static void test_a_connection(void **state)
{
	struct talk *talk = *state;
	struct net_address to;
	uint16_t port = 0;

	run_bash(talk, "exec 3<>/dev/tcp/198.18.1.2/80; echo up >&3; cat <&3; exec 3>&-");
	hear_record(talk, CELL_OPEN);
	assert_int_equal(cell_target_get(talk->record.data, &to, &port), 0);
	assert_int_equal(port, 80);
	assert_int_equal(to.family, 4);
	assert_memory_equal(to.bytes, ((uint8_t[]){ 198, 18, 1, 2 }), 4);
	uint32_t number = talk->record.number;
	hear_record(talk, CELL_DATA);
	tell_record(talk, CELL_DATA, number, "down\n", 5);
	tell_record(talk, CELL_DATA, number + 1, "of no stream\n", 13);
	tell_record(talk, CELL_END, number, NULL, 0);
	hear_end(talk);
	assert_string_equal(talk->out.data, "down\n");
	assert_string_equal(talk->up.data, "up\n");
	assert_int_equal(talk->end.status, 0);
}

/* An address without a route, and a port without a listener: as in a cell of brig's own. */
static void test_nothing_else(void **state)
{
	struct talk *talk = *state;

	run_bash(
		talk,
		"for at in 93.184.216.34/80 198.18.1.2/81; do"
		" (exec 3<>/dev/tcp/$at) 2>&1 | tail -n 1 | grep -o 'unreachable\\|refused'; done");
	hear_end(talk);
	assert_string_equal(talk->out.data, "unreachable\nrefused\n");
}

static void test_reset(void **state)
{
	struct talk *talk = *state;

	run_bash(talk, "exec 3<>/dev/tcp/198.18.1.2/80; cat <&3 2>&1 | grep -o reset; true");
	hear_record(talk, CELL_OPEN);
	tell_record(talk, CELL_RESET, talk->record.number, NULL, 0);
	hear_end(talk);
	assert_string_equal(talk->out.data, "reset\n");
}

/* Bytes that a program has sent before its end are not lost. */
static void test_last_words(void **state)
{
	struct talk *talk = *state;

	run_bash(talk, "exec 3<>/dev/tcp/198.18.1.2/80; echo last >&3");
	hear_end(talk);
	assert_string_equal(talk->up.data, "last\n");
}

/* The gate takes nothing more: the agent keeps to the window, and all else goes on. */
static void test_window_up(void **state)
{
	struct talk *talk = *state;
	unsigned char taken[4];

	run_bash(talk, "exec 3<>/dev/tcp/198.18.1.2/80; cat /dev/zero >&3 &"
		       " read; echo still here; read; kill $!");
	hear_record(talk, CELL_OPEN);
	uint32_t number = talk->record.number;
	while (talk->up.size < CELL_WINDOW) {
		hear_record(talk, CELL_DATA);
	}
	assert_int_equal(talk->up.size, CELL_WINDOW);
	tell(talk, FRAME_INPUT, "\n", 1);
	while (hear(talk) != FRAME_STDOUT) {
	}
	assert_int_equal(talk->up.size, CELL_WINDOW);
	cell_taken_put(taken, 1000);
	tell_record(talk, CELL_TAKEN, number, taken, 4);
	hear_record(talk, CELL_DATA);
	assert_int_equal(talk->up.size, CELL_WINDOW + 1000);
	tell(talk, FRAME_INPUT, "\n", 1);
	hear_end(talk);
	assert_int_equal(talk->up.size, CELL_WINDOW + 1000);
}

/* The program reads nothing: the agent keeps a window, passes all else on, and loses nothing. */
static void test_window_down(void **state)
{
	static const unsigned char zeros[CELL_PIECE_MAX];
	struct talk *talk = *state;
	size_t sent = 0, room = CELL_WINDOW;

	run_bash(talk, "exec 3<>/dev/tcp/198.18.1.2/80; read; echo now; wc -c <&3");
	hear_record(talk, CELL_OPEN);
	uint32_t number = talk->record.number;
	/* More than the kernel's buffers and the window: until no more is taken. */
	struct pollfd ready = { .fd = talk->fd, .events = POLLIN };
	while (room >= sizeof(zeros)) {
		tell_record(talk, CELL_DATA, number, zeros, sizeof(zeros));
		sent += sizeof(zeros);
		room -= sizeof(zeros);
		while (poll(&ready, 1, room < sizeof(zeros) ? 500 : 0) == 1) {
			hear_record(talk, CELL_TAKEN);
			room += cell_taken_get(talk->record.data);
		}
	}
	assert_true(sent >= CELL_WINDOW);
	tell(talk, FRAME_INPUT, "\n", 1);
	while (hear(talk) != FRAME_STDOUT) {
	}
	tell_record(talk, CELL_END, number, NULL, 0);
	hear_end(talk);
	char expected[64];
	snprintf(expected, sizeof(expected), "now\n%zu\n", sent);
	assert_string_equal(talk->out.data, expected);
}

static void test_queries(void **state)
{
	struct talk *talk = *state;

	run_bash(talk, "exec 3<>/dev/udp/127.0.0.53/53; printf question >&3; head -c 6 <&3");
	hear_record(talk, CELL_QUERY);
	assert_int_equal(talk->record.size, 8);
	assert_memory_equal(talk->record.data, "question", 8);
	uint32_t number = talk->record.number;
	tell_record(talk, CELL_ANSWER, number + 64, "other!", 6);
	tell_record(talk, CELL_ANSWER, number, "answer", 6);
	hear_end(talk);
	assert_string_equal(talk->out.data, "answer");
}

/* More connections than there may be wait in the kernel; each gets its turn. */
static void test_flood(void **state)
{
	struct talk *talk = *state;
	unsigned open = 0, opened = 0;

	run_bash(talk, "ulimit -n 1024; for i in {1..340}; do"
		       " exec {fd}<>/dev/tcp/198.18.1.2/80 || exit 1; done; read; exit 7");
	while (opened < CELL_STREAMS_MAX) {
		hear_record(talk, CELL_OPEN);
		assert_int_equal(talk->record.number, ++opened);
	}
	struct pollfd ready = { .fd = talk->fd, .events = POLLIN };
	assert_int_equal(poll(&ready, 1, 300), 0);
	for (open = opened; opened < 340; open--) {
		tell_record(talk, CELL_RESET, open, NULL, 0);
		hear_record(talk, CELL_OPEN);
		opened++;
	}
	tell(talk, FRAME_INPUT, "\n", 1);
	hear_end(talk);
	assert_int_equal(talk->end.status, 7);
}

/* Root of its network gives that up before the program begins, even if the program is root too. */
static void test_no_capability(void **state)
{
	struct talk *talk = *state;

	run_bash(talk, "grep CapEff /proc/$PPID/status | tr -d '\\t'");
	hear_end(talk);
	assert_string_equal(talk->out.data, "CapEff:0000000000000000\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_connection, begin, finish),
		cmocka_unit_test_setup_teardown(test_nothing_else, begin, finish),
		cmocka_unit_test_setup_teardown(test_reset, begin, finish),
		cmocka_unit_test_setup_teardown(test_last_words, begin, finish),
		cmocka_unit_test_setup_teardown(test_window_up, begin, finish),
		cmocka_unit_test_setup_teardown(test_window_down, begin, finish),
		cmocka_unit_test_setup_teardown(test_queries, begin, finish),
		cmocka_unit_test_setup_teardown(test_flood, begin, finish),
		cmocka_unit_test_setup_teardown(test_no_capability, begin, finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
