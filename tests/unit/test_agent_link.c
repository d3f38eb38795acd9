/* SPDX-License-Identifier: Apache-2.0 */
/* The warden's end of an agent's stream, with an agent that lies, floods, stops or dies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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
#include "base/files/fdpass.h"
#include "net/cell_stream.h"
#include "net/gate_messages.h"
#include "old_socket.h"

struct linked {
	struct run run;
	struct spec spec;
	struct agent_link link;
	int theirs; /* the agent's end */
	int input;  /* the run's end of standard input */
};

static const char *const arguments[] = { "/bin/true", "x", NULL };
static const char *const variables[] = { "A=b", NULL };
static const struct spec_input files[] = { { .name = "f", .data = "text", .size = 4, .fd = -1 } };

static int always_ready(struct run *run)
{
	(void)run;
	return 1;
}

static int set_up(void **state)
{
	struct linked *s = calloc(1, sizeof(*s));
	int ends[2];

	old_socket = false;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	s->theirs = ends[1];
	assert_int_equal(fcntl(s->theirs, F_SETFL, O_NONBLOCK), 0);
	s->spec = (struct spec){ .provider = &oci_provider,
				 .argv = arguments,
				 .envp = variables,
				 .inputs = files,
				 .inputs_count = 1 };
	s->spec.limits = (struct brig_limits){ .wall_ns = UINT64_MAX / 2, .cpu_ns = UINT64_MAX };
	s->run =
		(struct run){ .provider = &oci_provider, .sandbox = -1, .end_fd = -1, .value = -1 };
	s->run.options.spec = &s->spec;
	s->run.watch =
		(struct limit_watch){ .spec = &s->spec, .sandbox = -1, .proc = -1, .sockets = -1 };
	s->run.epoll = epoll_create1(EPOLL_CLOEXEC);
	s->run.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	assert_int_equal(run_pipe(&s->input, &s->run.inside[0], false), 0);
	for (int i = 0; i < 2; i++) {
		s->run.out[i] = (struct stream){ .number = i + 1, .limit = 1u << 30, .keep = true };
		assert_int_equal(run_pipe(&s->run.out[i].fd, &s->run.inside[i + 1], true), 0);
	}
	assert_int_equal(agent_link_open(&s->link, &s->run, ends[0], 0, always_ready, NULL), 0);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct linked *s = *state;

	agent_link_close(&s->link);
	close_fd(&s->theirs);
	close_fd(&s->input);
	close_fd(&s->run.value);
	stream_done(&s->run.out[0]);
	stream_done(&s->run.out[1]);
	close_fd(&s->run.epoll);
	close_fd(&s->run.timer);
	free(s);
	return 0;
}

/* One round of the run's loop, as far as the link is concerned. */
static int turn(struct linked *s)
{
	struct epoll_event ready[8];
	int count = epoll_wait(s->run.epoll, ready, 8, 0);
	int r = 0;

	for (int i = 0; i < count && r == 0; i++) {
		r = agent_link_handle(&s->link, &s->run, ready[i].data.u32 - RUN_EVENT_CELL);
	}
	return r;
}

static int turns(struct linked *s)
{
	int r = 0;

	for (int i = 0; i < 20 && r == 0; i++) {
		r = turn(s);
	}
	return r;
}

static void say(struct linked *s, enum frame_kind kind, const void *data, size_t size)
{
	unsigned char head[FRAME_HEAD_BYTES];

	frame_put_head(head, kind, (uint32_t)size);
	assert_int_equal(write(s->theirs, head, sizeof(head)), sizeof(head));
	assert_int_equal(size ? write(s->theirs, data, size) : 0, size);
}

static void say_ready(struct linked *s)
{
	static const unsigned char version[4] = { FRAME_VERSION };

	say(s, FRAME_READY, version, 4);
}

static void say_exit(struct linked *s, uint32_t code, uint32_t status)
{
	unsigned char bytes[FRAME_EXIT_BYTES];

	frame_put_exit(bytes, &(struct frame_exit){ .code = code, .status = status });
	say(s, FRAME_EXITED, bytes, sizeof(bytes));
}

/* The kinds of all frames that the agent has received; input is returned. */
static size_t frames(struct linked *s, enum frame_kind *kinds, size_t room, char *input)
{
	unsigned char head[FRAME_HEAD_BYTES];
	static unsigned char data[FRAME_DATA_MAX];
	size_t count = 0;

	while (count < room && read(s->theirs, head, sizeof(head)) == sizeof(head)) {
		struct frame_head got;
		assert_int_equal(frame_get_head(head, &got), 0);
		assert_int_equal(got.size ? read(s->theirs, data, got.size) : 0, got.size);
		kinds[count++] = got.kind;
		if (got.kind == FRAME_INPUT && input) {
			memcpy(input, data, got.size);
			input[got.size] = '\0';
		}
	}
	return count;
}

static void test_assignment(void **state)
{
	struct linked *s = *state;
	enum frame_kind kinds[64];
	static const enum frame_kind first[] = { FRAME_DIRECTORY, FRAME_ARGUMENT, FRAME_ARGUMENT,
						 FRAME_VARIABLE, FRAME_LIMIT };
	static const enum frame_kind last[] = { FRAME_FILE, FRAME_FILE_DATA, FRAME_START,
						FRAME_INPUT, FRAME_INPUT_END };
	char input[64];

	assert_int_equal(turns(s), 0);
	assert_int_equal(frames(s, kinds, 64, NULL), 0); /* nothing before it is ready */
	assert_int_equal(write(s->input, "in", 2), 2);
	close_fd(&s->input);
	say_ready(s);
	assert_int_equal(turns(s), 0);
	size_t count = frames(s, kinds, 64, input);
	assert_true(count > 10);
	assert_memory_equal(kinds, first, sizeof(first));
	assert_memory_equal(kinds + count - 5, last, sizeof(last));
	assert_string_equal(input, "in");
}

static const char *const waiting_arguments[] = { "/bin/python", "/sandbox/code.py", NULL };
static const struct spec_waiting waiting = {
	.argv = waiting_arguments, .name = "code.py", .text = "wait", .size = 4
};

/* The agent is ready; then the interpreter waits; then a request is there. */
static int ready_to_wait(struct run *run)
{
	struct linked *s = (struct linked *)((char *)run - offsetof(struct linked, run));

	if (!s->link.holds) {
		return agent_link_hold(&s->link, run);
	}
	assert_true(agent_link_is_waiting(&s->link));
	return 0;
}

static size_t count_of(const enum frame_kind *kinds, size_t count, enum frame_kind kind)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		found += kinds[i] == kind;
	}
	return found;
}

static void test_waiting(void **state)
{
	struct linked *s = *state;
	enum frame_kind kinds[64];
	static const enum frame_kind end[] = { FRAME_FILE,     FRAME_FILE_DATA, FRAME_ARGUMENT,
					       FRAME_ARGUMENT, FRAME_VARIABLE,  FRAME_WAIT };
	static const enum frame_kind first[] = { FRAME_ARGUMENT, FRAME_ARGUMENT, FRAME_VARIABLE,
						 FRAME_LIMIT };

	s->spec.waiting = &waiting;
	s->link.on_ready = ready_to_wait;
	say_ready(s);
	assert_int_equal(turns(s), 0);
	size_t count = frames(s, kinds, 64, NULL);
	assert_int_equal(kinds[0], FRAME_DIRECTORY);
	assert_memory_equal(kinds + count - 6, end, sizeof(end));
	size_t fixed = count_of(kinds, count, FRAME_LIMIT);
	assert_true(fixed > 0);
	assert_false(agent_link_has_begun(&s->link));
	assert_false(agent_link_is_waiting(&s->link));
	say(s, FRAME_WAITING, NULL, 0);
	assert_int_equal(turns(s), 0);
	assert_int_equal(frames(s, kinds, 64, NULL), 0); /* there is no request */
	assert_int_equal(agent_link_begin(&s->link, &s->run), 0);
	assert_true(agent_link_has_begun(&s->link));
	count = frames(s, kinds, 64, NULL);
	assert_memory_equal(kinds, first, sizeof(first));
	assert_int_equal(count_of(kinds, count, FRAME_DIRECTORY), 0);
	assert_true(count_of(kinds, count, FRAME_LIMIT) > 0);
	assert_int_equal(count_of(kinds, count, FRAME_FILE), 1);
	assert_int_equal(count_of(kinds, count, FRAME_START), 1);
	say(s, FRAME_STARTED, NULL, 0);
	assert_int_equal(turns(s), 0);
	assert_int_equal(s->run.state, RUN_RUNNING);
}

/* Nothing is known of a program that could begin. */
static void test_waiting_lies(void **state)
{
	struct linked *s = *state;

	s->spec.waiting = &waiting;
	s->link.on_ready = ready_to_wait;
	say_ready(s);
	assert_int_equal(turns(s), 0);
	say(s, FRAME_STARTED, NULL, 0);
	assert_int_equal(turns(s), -EPROTO);
	assert_int_not_equal(s->run.state, RUN_RUNNING);
}

static void start(struct linked *s)
{
	enum frame_kind kinds[64];

	say_ready(s);
	assert_int_equal(turns(s), 0);
	frames(s, kinds, 64, NULL);
	say(s, FRAME_STARTED, NULL, 0);
	assert_int_equal(turns(s), 0);
	assert_int_equal(s->run.state, RUN_RUNNING);
}

static void test_program(void **state)
{
	struct linked *s = *state;
	enum frame_kind kind;

	start(s);
	say(s, FRAME_STDOUT, "out", 3);
	say(s, FRAME_STDERR, "err", 3);
	assert_int_equal(turns(s), 0);
	assert_int_equal(agent_link_signal(&s->link, &s->run, SIGTERM), 0);
	assert_int_equal(frames(s, &kind, 1, NULL), 1);
	assert_int_equal(kind, FRAME_SIGNAL);
	say_exit(s, CLD_EXITED, 7);
	assert_int_equal(turns(s), 0);
	assert_true(s->run.facts.exited);
	assert_int_equal(s->run.facts.end_status, 7);
	agent_link_drain(&s->link, &s->run);
	assert_int_equal(stream_pump(&s->run.out[0]), 0);
	assert_int_equal(stream_pump(&s->run.out[1]), 0);
	assert_string_equal(s->run.out[0].kept.data, "out");
	assert_string_equal(s->run.out[1].kept.data, "err");
}

static void test_window(void **state)
{
	struct linked *s = *state;
	enum frame_kind kinds[64];
	static const char zeros[65536];
	unsigned char taken[4];

	start(s);
	assert_true(write(s->input, zeros, sizeof(zeros)) > 0);
	assert_int_equal(turns(s), 0);
	assert_true(write(s->input, zeros, sizeof(zeros)) > 0);
	assert_int_equal(turns(s), 0);
	assert_int_equal(s->link.reports.input.sent, FRAME_INPUT_WINDOW);
	assert_true(frames(s, kinds, 64, NULL) > 0);
	assert_int_equal(turns(s), 0);
	assert_int_equal(frames(s, kinds, 64, NULL), 0); /* the window is full */
	frame_put_u32(taken, 1000);
	say(s, FRAME_INPUT_TAKEN, taken, 4);
	assert_int_equal(turns(s), 0);
	assert_int_equal(frames(s, kinds, 64, NULL), 1);
	/* More than was sent. */
	frame_put_u32(taken, FRAME_INPUT_WINDOW + 1);
	say(s, FRAME_INPUT_TAKEN, taken, 4);
	assert_int_equal(turns(s), -EPROTO);
}

static void test_closed_input(void **state)
{
	struct linked *s = *state;
	struct pollfd end = { .fd = s->input };

	start(s);
	say(s, FRAME_INPUT_CLOSED, NULL, 0);
	assert_int_equal(turns(s), 0);
	assert_int_equal(poll(&end, 1, 0), 1);
	assert_true(end.revents & POLLERR); /* as if the program had closed the pipe itself */
}

/* The run does not read: the link stops reading too, and keeps at most one frame. */
static void test_back_pressure(void **state)
{
	struct linked *s = *state;
	static const unsigned char piece[65536];
	unsigned char head[FRAME_HEAD_BYTES];
	size_t sent = 0;

	start(s);
	frame_put_head(head, FRAME_STDOUT, sizeof(piece));
	for (int still = 0; still < 3; still++) {
		ssize_t n = write(s->theirs, head, sizeof(head));
		n = n < 0 ? n : write(s->theirs, piece, sizeof(piece));
		sent += n > 0 ? (size_t)n : 0;
		still = n < 0 ? still : -1;
		assert_int_equal(turns(s), 0);
		if (n > 0 && n < (ssize_t)sizeof(piece)) {
			break; /* a part of it: the stream is full */
		}
	}
	assert_true(s->link.blocked);
	assert_true(sent < 2u << 20);
	assert_int_equal(s->link.listening & EPOLLIN, 0);
	/* It goes on as soon as the run reads. */
	assert_int_equal(stream_pump(&s->run.out[0]), 1);
	assert_int_equal(turns(s), 0);
	assert_int_equal(stream_pump(&s->run.out[0]), 1);
	assert_true(s->run.out[0].seen > 65536);
}

/* One turn does a bounded amount of work, however small the frames are. */
static void test_flood(void **state)
{
	struct linked *s = *state;
	unsigned char frame[FRAME_HEAD_BYTES + 1] = { 0 };
	size_t sent = 0;

	start(s);
	frame_put_head(frame, FRAME_STDERR, 1);
	while (write(s->theirs, frame, sizeof(frame)) == (ssize_t)sizeof(frame)) {
		sent++;
	}
	assert_true(sent > 200);
	assert_int_equal(turn(s), 0);
	stream_pump(&s->run.out[1]);
	assert_true(s->run.out[1].seen > 0 && s->run.out[1].seen <= 200);
}

/* Nor does the end: the agent may have queued as many as its socket can hold. */
static void test_flood_at_the_end(void **state)
{
	static unsigned char many[7000][FRAME_HEAD_BYTES + 1];
	struct linked *s = *state;
	ssize_t sent = 0, n;

	start(s);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		frame_put_head(many[i], FRAME_STDERR, 1);
	}
	while ((n = write(s->theirs, many, sizeof(many))) > 0) {
		sent += n;
	}
	assert_true(sent / (FRAME_HEAD_BYTES + 1) > 10000);
	agent_link_drain(&s->link, &s->run);
	stream_pump(&s->run.out[1]);
	assert_true(s->run.out[1].seen > 1000 && s->run.out[1].seen <= 10000);
}

static void test_lies(void **state)
{
	static const unsigned char garbage[][FRAME_HEAD_BYTES] = {
		{ 255, 255, 255, 255, 255, 255, 255, 255 },
		{ FRAME_STDOUT, 0, 0, 0, 255, 255, 255, 255 }, /* 4 GiB */
		{ FRAME_STDOUT, 0, 0, 0, 0, 0, 0, 0 },         /* nothing */
		{ FRAME_START, 0, 0, 0, 0, 0, 0, 0 },          /* the host's own */
		{ FRAME_READY, 0, 0, 0, 4, 0, 0, 0 },          /* a second time */
		{ FRAME_STARTED, 0, 0, 0, 0, 0, 0, 0 },        /* likewise */
	};

	for (size_t i = 0; i < ARRAY_SIZE(garbage); i++) {
		if (i > 0) {
			tear_down(state);
			set_up(state);
		}
		struct linked *s = *state;
		start(s);
		assert_int_equal(write(s->theirs, garbage[i], FRAME_HEAD_BYTES), FRAME_HEAD_BYTES);
		assert_int_equal(turns(s), -EPROTO);
		/* Nothing more is read. */
		say(s, FRAME_STDOUT, "x", 1);
		assert_int_equal(turns(s), 0);
		agent_link_drain(&s->link, &s->run);
		stream_pump(&s->run.out[0]);
		assert_int_equal(s->run.out[0].seen, 0);
		assert_false(s->run.facts.exited);
	}
}

/* --- values and channels ---------------------------------------------------------------------- */

static void say_value(struct linked *s, uint32_t seals, const char *text, size_t size)
{
	unsigned char *data = calloc(1, 4 + size);

	frame_put_u32(data, seals);
	memcpy(data + 4, text, strlen(text));
	say(s, FRAME_VALUE, data, 4 + size);
	free(data);
}

static void begin_valued(struct linked *s, enum value_file value)
{
	assert_int_equal(run_make_value(&s->run.value), 0);
	s->run.options.value = value;
	start(s);
}

static void test_value(void **state)
{
	struct linked *s = *state;
	char text[8] = "";

	begin_valued(s, VALUE_GUARDED);
	say_value(s, F_SEAL_SEAL | F_SEAL_WRITE | 0x8000, "[1]", 3);
	assert_int_equal(turns(s), 0);
	assert_int_equal(pread(s->run.value, text, 7, 0), 7);
	assert_string_equal(text, "[1]");
	assert_int_equal(fcntl(s->run.value, F_GET_SEALS) & 0xf, 0xf);
	/* Once. */
	say_value(s, 0, "[2]", 3);
	assert_int_equal(turns(s), -EPROTO);
}

static void test_value_too_large(void **state)
{
	struct linked *s = *state;

	begin_valued(s, VALUE_SEALED);
	say_value(s, 0, "", RUN_FILE_BYTES + 1);
	assert_int_equal(turns(s), -EPROTO);
}

static void test_value_nobody_wants(void **state)
{
	struct linked *s = *state;

	start(s);
	say_value(s, 0, "1", 1);
	assert_int_equal(turns(s), -EPROTO);
}

/* --- the network ------------------------------------------------------------------------------ */

static int join_gate(struct linked *s)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(agent_link_network(&s->link, &s->run, ends[0]), 0);
	return ends[1];
}

static size_t make_record(unsigned char *at, enum cell_record_kind kind, size_t size)
{
	cell_record_head(at, kind, 1);
	memset(at + CELL_RECORD_HEAD, 1, size);
	return CELL_RECORD_HEAD + size;
}

static void test_records(void **state)
{
	static const uint16_t ports[] = { 80, 443 };
	static const struct net_prefix routes[] = { { { 4, { 198, 18 } }, 15 } };
	static unsigned char data[CELL_RECORD_MAX];
	struct linked *s = *state;
	struct gate_word word;
	enum frame_kind kinds[64];
	unsigned found = 0;

	s->spec.gate_ports = ports;
	s->spec.gate_ports_count = 2;
	s->spec.gate_routes = routes;
	s->spec.gate_routes_count = 1;
	_cleanup_close_ int gate = join_gate(s);
	assert_int_equal(read(gate, &word, sizeof(word)), sizeof(word));
	assert_int_equal(word.kind, GATE_STREAMS);
	say_ready(s);
	assert_int_equal(turns(s), 0);
	size_t count = frames(s, kinds, 64, NULL);
	for (size_t i = 0; i < count; i++) {
		found += kinds[i] == FRAME_PORT ? 10 : kinds[i] == FRAME_ADDRESS;
	}
	assert_int_equal(found, 31); /* DNS, and these two */
	say(s, FRAME_STARTED, NULL, 0);
	size_t size = make_record(data, CELL_DATA, CELL_PIECE_MAX);
	say(s, FRAME_TO_GATE, data, size);
	assert_int_equal(turns(s), 0);
	assert_int_equal(read(gate, data, sizeof(data)), size);
	assert_int_equal(write(gate, data, size), size);
	assert_int_equal(turns(s), 0);
	assert_int_equal(frames(s, kinds, 64, NULL), 1);
	assert_int_equal(kinds[0], FRAME_FROM_GATE);
}

static void test_wrong_records(void **state)
{
	static const struct {
		enum cell_record_kind kind;
		size_t size;
	} wrong[] = { { CELL_ANSWER, 10 },      { CELL_DATA, 0 },     { CELL_OPEN, 19 },
		      { CELL_RECORD_KINDS, 0 }, { CELL_QUERY, 1000 }, { CELL_END, 1 } };
	unsigned char data[2000];

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		if (i > 0) {
			tear_down(state);
			set_up(state);
		}
		struct linked *s = *state;
		_cleanup_close_ int gate = join_gate(s);
		start(s);
		say(s, FRAME_TO_GATE, data, make_record(data, wrong[i].kind, wrong[i].size));
		assert_int_equal(turns(s), -EPROTO);
	}
}

/* Of a cell without a network. */
static void test_records_nobody_wants(void **state)
{
	struct linked *s = *state;
	unsigned char data[64];

	start(s);
	say(s, FRAME_TO_GATE, data, make_record(data, CELL_END, 0));
	assert_int_equal(turns(s), -EPROTO);
}

/* A gate that takes nothing for a moment: the link keeps one frame, and goes on after it. */
static void test_slow_gate(void **state)
{
	static unsigned char frame[FRAME_HEAD_BYTES + CELL_RECORD_MAX];
	struct linked *s = *state;
	size_t size = make_record(frame + FRAME_HEAD_BYTES, CELL_DATA, CELL_PIECE_MAX);
	size_t sent = 0, came = 0, at = 0;
	int still = 0;

	_cleanup_close_ int gate = join_gate(s);
	assert_int_equal(read(gate, frame + FRAME_HEAD_BYTES, sizeof(struct gate_word)), 8);
	make_record(frame + FRAME_HEAD_BYTES, CELL_DATA, CELL_PIECE_MAX);
	start(s);
	frame_put_head(frame, FRAME_TO_GATE, (uint32_t)size);
	size += FRAME_HEAD_BYTES;
	while (still < 3 && sent < 64u << 20) {
		ssize_t n = write(s->theirs, frame + at, size - at);
		still = n < 0 ? still + 1 : 0;
		sent += n > 0 ? (size_t)n : 0;
		at = n > 0 ? (at + (size_t)n) % size : at;
		assert_int_equal(turns(s), 0);
	}
	assert_true(sent < 4u << 20);
	assert_true(s->link.blocked);
	assert_int_equal(s->link.listening & EPOLLIN, 0);
	for (int i = 0; i < 1000; i++) {
		ssize_t n = read(gate, frame, sizeof(frame));
		came += n > 0 ? (size_t)n + FRAME_HEAD_BYTES : 0;
		assert_int_equal(turns(s), 0);
	}
	assert_int_equal(came, sent - at);
	assert_false(s->link.blocked);
}

/* The end of a program that sent much at last is not lost behind a gate without a processor. */
static void test_slow_gate_at_the_end(void **state)
{
	static unsigned char record[CELL_RECORD_MAX];
	struct linked *s = *state;
	size_t size = make_record(record, CELL_DATA, 1000);

	_cleanup_close_ int gate = join_gate(s);
	start(s);
	while (!s->link.blocked) {
		say(s, FRAME_TO_GATE, record, size);
		assert_int_equal(turns(s), 0);
	}
	say(s, FRAME_TO_GATE, record, size);
	say(s, FRAME_STDOUT, "out", 3);
	say_exit(s, CLD_EXITED, 7);
	agent_link_drain(&s->link, &s->run);
	assert_true(s->run.facts.exited);
	stream_pump(&s->run.out[0]);
	assert_int_equal(s->run.out[0].seen, 3);
}

/* A gate that is gone ends the run elsewhere; and here nothing stands still. */
static void test_gone_gate(void **state)
{
	struct linked *s = *state;
	unsigned char data[64];
	int gate = join_gate(s);

	start(s);
	close_fd(&gate);
	say(s, FRAME_TO_GATE, data, make_record(data, CELL_END, 0));
	say(s, FRAME_STDOUT, "out", 3);
	say_exit(s, CLD_EXITED, 0);
	assert_int_equal(turns(s), 0);
	assert_true(s->run.facts.exited);
}

/* Bytes of a host, and of standard input: neither waits for the other. */
static void test_fair(void **state)
{
	static unsigned char data[CELL_RECORD_MAX];
	struct linked *s = *state;
	enum frame_kind kinds[64];
	char input[64] = "";

	_cleanup_close_ int gate = join_gate(s);
	assert_int_equal(read(gate, data, sizeof(struct gate_word)), 8);
	start(s);
	size_t size = make_record(data, CELL_DATA, 10);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(write(gate, data, size), size);
	}
	assert_int_equal(write(s->input, "in", 2), 2);
	assert_int_equal(turn(s), 0);
	size_t count = frames(s, kinds, 64, input);
	assert_true(count > 2);
	assert_true(kinds[0] == FRAME_INPUT || kinds[1] == FRAME_INPUT);
	assert_string_equal(input, "in");
}

static void test_driver_nobody_has(void **state)
{
	static const enum frame_kind kinds[] = { FRAME_FROM_DRIVER, FRAME_DRIVER_TAKEN,
						 FRAME_DRIVER_CLOSED, FRAME_MARKED };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (i > 0) {
			tear_down(state);
			set_up(state);
		}
		struct linked *s = *state;
		start(s);
		say(s, kinds[i], "abcd", frame_table[kinds[i]].least);
		assert_int_equal(turns(s), -EPROTO);
	}
}

/* A link with a session at the other end of its channel, which is returned. */
static int open_driver(struct linked *s)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
			 0);
	s->link.channel = ends[1];
	s->link.reports.has_channel = 1;
	assert_int_equal(run_listen(&s->run, ends[1], RUN_EVENT_CELL + AGENT_LINK_CHANNEL,
				    EPOLLIN | EPOLLOUT | EPOLLET),
			 0);
	return ends[0];
}

static void test_channel(void **state)
{
	struct linked *s = *state;
	_cleanup_close_ int session = open_driver(s);
	enum frame_kind kinds[64];
	char bytes[8] = "";

	start(s);
	assert_int_equal(write(session, "run", 3), 3);
	assert_int_equal(turns(s), 0);
	assert_int_equal(frames(s, kinds, 64, NULL), 1);
	assert_int_equal(kinds[0], FRAME_TO_DRIVER);
	assert_int_equal(s->link.reports.driver.sent, 3);
	say(s, FRAME_FROM_DRIVER, "done", 4);
	assert_int_equal(turns(s), 0);
	assert_int_equal(read(session, bytes, sizeof(bytes)), 4);
	assert_string_equal(bytes, "done");
	/* More than was sent. */
	unsigned char taken[4];
	frame_put_u32(taken, 4);
	say(s, FRAME_DRIVER_TAKEN, taken, 4);
	assert_int_equal(turns(s), -EPROTO);
}

/* A session that does not read stops the stream, and nothing piles up. */
static void test_channel_back_pressure(void **state)
{
	static unsigned char piece[65536];
	struct linked *s = *state;
	_cleanup_close_ int session = open_driver(s);
	unsigned char head[FRAME_HEAD_BYTES];
	size_t sent = 0;

	start(s);
	frame_put_head(head, FRAME_FROM_DRIVER, sizeof(piece));
	for (int i = 0; i < 100 && !s->link.blocked; i++) {
		assert_int_equal(write(s->theirs, head, sizeof(head)), sizeof(head));
		assert_int_equal(write(s->theirs, piece, sizeof(piece)), sizeof(piece));
		sent += sizeof(piece);
		assert_int_equal(turns(s), 0);
	}
	assert_true(s->link.blocked);
	assert_true(sent < 4u << 20);
	assert_int_equal(s->link.listening & EPOLLIN, 0);
	while (read(session, piece, sizeof(piece)) > 0) {
	}
	assert_int_equal(turns(s), 0);
	assert_false(s->link.blocked);
}

static void test_session_has_left(void **state)
{
	struct linked *s = *state;
	int session = open_driver(s);
	enum frame_kind kinds[64];

	start(s);
	close(session);
	assert_int_equal(turns(s), 0);
	assert_int_equal(frames(s, kinds, 64, NULL), 1);
	assert_int_equal(kinds[0], FRAME_TO_DRIVER_END);
	say(s, FRAME_FROM_DRIVER, "done", 4);
	assert_int_equal(turns(s), 0);
}

/* Output of no run, which is on its way when the next one begins. */
static void test_marked_output(void **state)
{
	struct linked *s = *state;
	_cleanup_close_ int session = open_driver(s);
	enum frame_kind kind;

	start(s);
	assert_int_equal(agent_link_mark(&s->link, &s->run), 0);
	assert_int_equal(frames(s, &kind, 1, NULL), 1);
	assert_int_equal(kind, FRAME_MARK);
	say(s, FRAME_STDOUT, "noise", 5);
	say(s, FRAME_MARKED, NULL, 0);
	say(s, FRAME_STDOUT, "mine", 4);
	assert_int_equal(turns(s), 0);
	stream_pump(&s->run.out[0]);
	assert_string_equal(s->run.out[0].kept.data, "mine");
	say(s, FRAME_MARKED, NULL, 0);
	assert_int_equal(turns(s), -EPROTO);
}

/* Two runs begin before the stream takes anything: each has its mark, for each is answered. */
static void test_two_marks(void **state)
{
	struct linked *s = *state;
	enum frame_kind kinds[4];

	start(s);
	s->link.marks++;
	s->link.reports.marks++;
	assert_int_equal(agent_link_mark(&s->link, &s->run), 0);
	assert_int_equal(frames(s, kinds, 4, NULL), 2);
	assert_int_equal(kinds[0], FRAME_MARK);
	assert_int_equal(kinds[1], FRAME_MARK);
	say(s, FRAME_MARKED, NULL, 0);
	say(s, FRAME_MARKED, NULL, 0);
	assert_int_equal(turns(s), 0);
}

/* The host cannot make the place for the files: no fault of the cell's. */
static void test_no_place_for_files(void **state)
{
	struct linked *s = *state;
	struct brig_error err = { 0 };
	int32_t errnum = ENOSPC;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	s->link.options.returns = true;
	s->link.place.socket = ends[0];
	assert_int_equal(send(ends[1], &errnum, sizeof(errnum), 0), sizeof(errnum));
	assert_int_equal(agent_link_handle(&s->link, &s->run, AGENT_LINK_PLACE), -ENOSPC);
	assert_int_equal(agent_link_error(&s->link, &err), -ENOSPC);
	assert_string_equal(err.step, "return");
	assert_true(err.remedy[0] != '\0');
	close(ends[1]);
}

static int waits(struct run *run)
{
	(void)run;
	return 0;
}

/* An agent without an assignment, as in a container made ahead, has no program to start. */
static void test_start_without_assignment(void **state)
{
	struct linked *s = *state;

	s->link.on_ready = waits;
	say_ready(s);
	assert_int_equal(turns(s), 0);
	say(s, FRAME_STARTED, NULL, 0);
	assert_int_equal(turns(s), -EPROTO);
	assert_int_equal(s->run.state, RUN_SETTING_UP);
}

/* --- the listener ----------------------------------------------------------------------------- */

static int listener = -1;

static int keep_listener(struct run *run, int fd)
{
	(void)run;
	listener = fd;
	return 0;
}

/* A frame without data, and the descriptor; the caller's copy is closed. */
static void say_with(struct linked *s, enum frame_kind kind, int fd)
{
	unsigned char head[FRAME_HEAD_BYTES];
	struct iovec part = { .iov_base = head, .iov_len = sizeof(head) };

	frame_put_head(head, kind, 0);
	assert_int_equal(fdpass_send(s->theirs, &part, 1, &fd, 1, 0), sizeof(head));
	close(fd);
}

/* The link was opened without a listener, and so refuses descriptors, where the kernel can. */
static void allow_descriptors(struct linked *s)
{
	int on = 1;

	(void)setsockopt(s->link.fd, SOL_SOCKET, 83 /* SO_PASSRIGHTS */, &on, sizeof(on));
}

static void wait_for_listener(struct linked *s, const struct bpf_program *filter)
{
	enum frame_kind kinds[64];
	bool asked = false;

	s->spec.filter = filter;
	s->link.options.listener = keep_listener;
	allow_descriptors(s);
	say_ready(s);
	assert_int_equal(turns(s), 0);
	for (size_t i = frames(s, kinds, 64, NULL); i > 0; i--) {
		asked |= kinds[i - 1] == FRAME_LISTEN;
	}
	assert_true(asked);
}

/* Is the other end of this pipe closed everywhere? */
static bool is_dropped(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 0;
}

static void test_listener(void **state)
{
	struct sock_filter code = { 0 };
	const struct bpf_program filter = { .code = &code, .count = 1 };
	struct linked *s = *state;
	int ends[2];

	wait_for_listener(s, &filter);
	assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	say_with(s, FRAME_LISTENER, ends[1]);
	say(s, FRAME_STARTED, NULL, 0);
	assert_int_equal(turns(s), 0);
	assert_int_equal(s->run.state, RUN_RUNNING);
	assert_true(listener >= 0 && (fcntl(listener, F_GETFD) & FD_CLOEXEC));
	close_fd(&listener);
	assert_true(is_dropped(ends[0]));
	close_fd(&ends[0]);
	/* From here on the agent may be the program's: its descriptors are refused. */
	int allowed = 1;
	socklen_t size = sizeof(allowed);
	if (getsockopt(s->link.fd, SOL_SOCKET, 83 /* SO_PASSRIGHTS */, &allowed, &size) == 0) {
		assert_int_equal(allowed, 0);
		unsigned char head[FRAME_HEAD_BYTES] = { 0 };
		struct iovec part = { .iov_base = head, .iov_len = sizeof(head) };
		assert_int_equal(fdpass_send(s->theirs, &part, 1, &s->input, 1, 0), -EPERM);
	}
}

/* On a kernel that cannot refuse them, nothing that comes with one is received. */
static void test_descriptor_behind_listener(void **state)
{
	struct sock_filter code = { 0 };
	const struct bpf_program filter = { .code = &code, .count = 1 };
	static const enum frame_kind kinds[] = { FRAME_INPUT_CLOSED, FRAME_LISTENER };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct linked *s = *state;
		int ends[2], later[2];
		wait_for_listener(s, &filter);
		old_socket = true;
		assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
		assert_int_equal(pipe2(later, O_NONBLOCK | O_CLOEXEC), 0);
		say_with(s, FRAME_LISTENER, ends[1]);
		say(s, FRAME_STARTED, NULL, 0);
		say_with(s, kinds[i], later[1]);
		assert_int_equal(turns(s), -EPROTO);
		assert_true(listener >= 0);
		close_fd(&listener);
		agent_link_close(&s->link);
		assert_true(is_dropped(ends[0]));
		close(ends[0]);
		/* The thread that closes it has ended, and the kernel closes it then. */
		struct pollfd gone = { .fd = later[0], .events = POLLIN };
		assert_int_equal(poll(&gone, 1, 20000), 1);
		assert_true(is_dropped(later[0]));
		close(later[0]);
		tear_down(state);
		set_up(state);
	}
}

static void test_listener_lies(void **state)
{
	static const struct {
		enum frame_kind kind;
		bool asks, passes;
	} wrong[] = {
		{ FRAME_LISTENER, true, false },  /* without a descriptor */
		{ FRAME_STARTED, true, false },   /* without a listener */
		{ FRAME_STARTED, true, true },    /* with a descriptor of its own */
		{ FRAME_LISTENER, false, true },  /* nobody asked for it */
		{ FRAME_LISTENER, false, false }, /* likewise */
	};
	struct sock_filter code = { 0 };
	const struct bpf_program filter = { .code = &code, .count = 1 };

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		int ends[2];
		if (i > 0) {
			tear_down(state);
			set_up(state);
		}
		struct linked *s = *state;
		if (wrong[i].asks) {
			wait_for_listener(s, &filter);
		} else {
			allow_descriptors(s);
			say_ready(s);
			assert_int_equal(turns(s), 0);
		}
		assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
		if (wrong[i].passes) {
			say_with(s, wrong[i].kind, ends[1]);
		} else {
			close(ends[1]);
			say(s, wrong[i].kind, NULL, 0);
		}
		assert_int_equal(turns(s), -EPROTO);
		assert_int_equal(listener, -1);
		agent_link_close(&s->link);
		assert_true(is_dropped(ends[0]));
		close(ends[0]);
	}
}

static void test_places(void **state)
{
	static const struct spec_mount mounts[] = { { .name = "a" },
						    { .name = "b", .writable = true },
						    { .name = "c" } };
	struct linked *s = *state;
	enum frame_kind kinds[64];
	size_t places = 0, landlocks = 0;

	s->spec.layers = LAYER_BIT(LAYER_LANDLOCK);
	s->spec.landlock_abi = 3;
	s->spec.mounts = mounts;
	s->spec.mounts_count = ARRAY_SIZE(mounts);
	say_ready(s);
	assert_int_equal(turns(s), 0);
	for (size_t i = frames(s, kinds, 64, NULL); i > 0; i--) {
		places += kinds[i - 1] == FRAME_PLACE;
		landlocks += kinds[i - 1] == FRAME_LANDLOCK;
	}
	assert_int_equal(landlocks, 1);
	assert_int_equal(places, 6);
}

/* A short program: its agent is gone before all of its input was sent. */
static void test_end_before_the_input(void **state)
{
	struct linked *s = *state;

	say_ready(s);
	assert_int_equal(turns(s), 0);
	say(s, FRAME_STARTED, NULL, 0);
	say_exit(s, CLD_EXITED, 3);
	assert_int_equal(shutdown(s->theirs, SHUT_RD), 0);
	assert_int_equal(agent_link_signal(&s->link, &s->run, SIGTERM), 0);
	assert_int_equal(turns(s), 0);
	assert_true(s->run.facts.exited);
	assert_int_equal(s->run.facts.end_status, 3);
}

static void test_second_end(void **state)
{
	struct linked *s = *state;

	start(s);
	say_exit(s, CLD_EXITED, 0);
	say_exit(s, CLD_EXITED, 1);
	assert_int_equal(turns(s), -EPROTO);
	assert_int_equal(s->run.facts.end_status, 0);
}

static void test_death(void **state)
{
	struct linked *s = *state;

	start(s);
	say(s, FRAME_STDOUT, "part", 4);
	assert_int_equal(write(s->theirs, "\x0d\0\0", 3), 3); /* a part of a head */
	close_fd(&s->theirs);
	assert_int_equal(turns(s), 0);
	assert_int_equal(turn(s), 0); /* its end is not reported again and again */
	assert_int_equal(s->link.listening, 0);
	agent_link_drain(&s->link, &s->run);
	stream_pump(&s->run.out[0]);
	assert_string_equal(s->run.out[0].kept.data, "part");
	assert_false(s->run.facts.exited);
}

static void test_failure(void **state)
{
	struct linked *s = *state;
	unsigned char bytes[8];
	struct brig_error err = { 0 };

	say_ready(s);
	assert_int_equal(turns(s), 0);
	frame_put_u32(bytes, FRAME_STEP_EXEC);
	frame_put_u32(bytes + 4, ENOENT);
	say(s, FRAME_FAILED, bytes, 8);
	assert_int_equal(turns(s), 0);
	assert_true(s->run.build_failed);
	assert_int_equal(agent_link_error(&s->link, &err), -ENOENT);
	assert_string_equal(err.step, "exec");
}

static void test_argument_too_long(void **state)
{
	struct linked *s = *state;
	char *huge = malloc(FRAME_DATA_MAX + 1);
	const char *argv[] = { "/bin/true", huge, NULL };
	struct brig_error err = { 0 };

	memset(huge, 'x', FRAME_DATA_MAX);
	huge[FRAME_DATA_MAX] = '\0';
	s->spec.argv = argv;
	say_ready(s);
	assert_int_equal(turns(s), -E2BIG);
	assert_int_equal(agent_link_error(&s->link, &err), -E2BIG);
	free(huge);
}

int main(void)
{
#define LINKED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		LINKED(test_assignment),
		LINKED(test_waiting),
		LINKED(test_waiting_lies),
		LINKED(test_program),
		LINKED(test_window),
		LINKED(test_closed_input),
		LINKED(test_back_pressure),
		LINKED(test_flood),
		LINKED(test_lies),
		LINKED(test_value),
		LINKED(test_value_too_large),
		LINKED(test_value_nobody_wants),
		LINKED(test_driver_nobody_has),
		LINKED(test_channel),
		LINKED(test_channel_back_pressure),
		LINKED(test_session_has_left),
		LINKED(test_marked_output),
		LINKED(test_two_marks),
		LINKED(test_no_place_for_files),
		LINKED(test_start_without_assignment),
		LINKED(test_listener),
		LINKED(test_descriptor_behind_listener),
		LINKED(test_listener_lies),
		LINKED(test_places),
		LINKED(test_end_before_the_input),
		LINKED(test_second_end),
		LINKED(test_death),
		LINKED(test_failure),
		LINKED(test_argument_too_long),
		LINKED(test_flood_at_the_end),
		cmocka_unit_test_setup_teardown(test_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_wrong_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_records_nobody_wants, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_slow_gate, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_slow_gate_at_the_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gone_gate, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fair, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
