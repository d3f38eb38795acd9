/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of a cell, with an agent that lies, floods, or reads nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "gate/gate.h"

#define INSIDES_MAX 400

static struct {
	struct gate gate;
	int line; /* the agent's end */
	int insides[INSIDES_MAX];
	size_t count;
	struct cell_origin origin; /* of the last one */
	unsigned refused;
} t;

/* --- the rest of the gate --------------------------------------------------------------------- */

void connection_from(struct gate *gate, int fd, const struct cell_origin *origin)
{
	(void)gate;
	assert_true(t.count < INSIDES_MAX);
	t.insides[t.count++] = fd;
	t.origin = *origin;
}

void dns_stream_new(struct gate *gate, int fd)
{
	connection_from(gate, fd, &(struct cell_origin){ .port = NET_DNS_PORT });
}

size_t gate_answer_query(struct gate *gate, const uint8_t *query, size_t size, uint8_t *out,
			 size_t room)
{
	(void)gate;
	assert_true(size <= room);
	memcpy(out, query, size);
	return size;
}

bool gate_charge(struct gate *gate, uint64_t bytes)
{
	gate->bytes += bytes;
	return true;
}

void report_refused(struct gate *gate)
{
	(void)gate;
	t.refused++;
}

/* --- the agent -------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	int ends[2];

	(void)state;
	memset(&t, 0, sizeof(t));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	t.line = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
	assert_true(t.line >= 0 && fcntl(t.line, F_SETFL, O_NONBLOCK) == 0);
	close(ends[1]);
	if (ends[0] != GATE_FD_CELL) {
		assert_int_equal(dup2(ends[0], GATE_FD_CELL), GATE_FD_CELL);
		close(ends[0]);
	}
	assert_int_equal(loop_new(&t.gate.loop), 0);
	assert_int_equal(streams_begin(&t.gate), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	streams_free_all(&t.gate);
	for (size_t i = 0; i < t.count; i++) {
		close_fd(&t.insides[i]);
	}
	loop_remove(t.gate.cell);
	loop_free(t.gate.loop);
	close(GATE_FD_CELL);
	close_fd(&t.line);
	return 0;
}

static void stop(void *user)
{
	loop_stop(user);
}

/* All that the gate can do now. */
static void turns(void)
{
	for (int i = 0; i < 10; i++) {
		struct loop_timer timer = { .due = stop, .user = t.gate.loop };
		assert_int_equal(loop_timer_set(t.gate.loop, &timer, clock_now_ns()), 0);
		assert_int_equal(loop_run(t.gate.loop), 0);
	}
}

static int say(enum cell_record_kind kind, uint32_t number, const void *data, size_t size)
{
	static unsigned char record[CELL_RECORD_MAX + 1];

	cell_record_head(record, kind, number);
	if (size) {
		memcpy(record + CELL_RECORD_HEAD, data, size);
	}
	return streams_take(&t.gate, record, CELL_RECORD_HEAD + size);
}

static int say_open(uint32_t number, uint16_t port)
{
	const struct net_address to = { 4, { 198, 18, 0, 7 } };
	unsigned char target[CELL_TARGET_BYTES];

	cell_target_put(target, &to, port);
	return say(CELL_OPEN, number, target, sizeof(target));
}

static int say_taken(uint32_t number, uint32_t taken)
{
	unsigned char bytes[4];

	cell_taken_put(bytes, taken);
	return say(CELL_TAKEN, number, bytes, sizeof(bytes));
}

/* The next record of the gate; false: there is none. */
static bool hear(struct cell_record *record)
{
	static unsigned char bytes[CELL_RECORD_MAX + 1];
	ssize_t n = recv(t.line, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0) {
		return false;
	}
	assert_int_equal(cell_record_read(bytes, (size_t)n, false, record), 0);
	return true;
}

static void hear_only(enum cell_record_kind kind, uint32_t number)
{
	struct cell_record record;

	assert_true(hear(&record));
	assert_int_equal(record.kind, kind);
	assert_int_equal(record.number, number);
	assert_false(hear(&record));
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_a_stream(void **state)
{
	struct cell_record record;
	char text[8] = "";

	(void)state;
	assert_int_equal(say_open(1, 443), 0);
	assert_int_equal(t.origin.stream, 1);
	assert_int_equal(t.origin.port, 443);
	assert_int_equal(t.origin.to.bytes[3], 7);
	assert_int_equal(say(CELL_DATA, 1, "up", 2), 0);
	assert_int_equal(read(t.insides[0], text, 8), 2);
	assert_string_equal(text, "up");
	assert_int_equal(write(t.insides[0], "down", 4), 4);
	turns();
	assert_true(hear(&record));
	assert_int_equal(record.kind, CELL_DATA);
	assert_memory_equal(record.data, "down", 4);
	/* The ends of both directions, one after the other. */
	assert_int_equal(say(CELL_END, 1, NULL, 0), 0);
	assert_int_equal(read(t.insides[0], text, 8), 0);
	close_fd(&t.insides[0]);
	turns();
	hear_only(CELL_END, 1);
	assert_int_equal(t.gate.forwarded.count, 0);
	assert_int_equal(say(CELL_DATA, 1, "late", 4), 0); /* it was on its way */
}

static void test_numbers(void **state)
{
	(void)state;
	assert_int_equal(say(CELL_DATA, 0, "x", 1), -EPROTO);
	assert_int_equal(say(CELL_DATA, 1, "x", 1), -EPROTO);
	assert_int_equal(say(CELL_RESET, 1, NULL, 0), -EPROTO);
	assert_int_equal(say_open(0, 80), -EPROTO);
	assert_int_equal(say_open(5, 80), 0);
	assert_int_equal(say_open(5, 80), -EPROTO);
	assert_int_equal(say_open(4, 80), -EPROTO);
	assert_int_equal(say(CELL_END, 6, NULL, 0), -EPROTO);
	assert_int_equal(say(CELL_END, 3, NULL, 0), 0);
	assert_int_equal(say(CELL_RESET, 5, NULL, 0), 0);
	assert_int_equal(say_open(5, 80), -EPROTO);
	assert_int_equal(say_open(UINT32_MAX, 80), 0);
	assert_int_equal(say_open(1, 80), -EPROTO); /* they do not start again */
}

static void test_forms(void **state)
{
	static const unsigned char odd[CELL_TARGET_BYTES] = { 5 };

	(void)state;
	assert_int_equal(streams_take(&t.gate, odd, 7), -EPROTO);
	assert_int_equal(streams_take(&t.gate, odd, 0), -EPROTO);
	assert_int_equal(say(CELL_OPEN, 1, odd, sizeof(odd)), -EPROTO); /* no such family */
	assert_int_equal(say(CELL_OPEN, 1, odd, 4), -EPROTO);
	assert_int_equal(say_open(1, 80), 0);
	assert_int_equal(say(CELL_DATA, 1, NULL, 0), -EPROTO);
	assert_int_equal(say(CELL_ANSWER, 1, "x", 1), -EPROTO); /* the gate's own */
	assert_int_equal(say(CELL_RECORD_KINDS, 1, NULL, 0), -EPROTO);
	assert_int_equal(say((enum cell_record_kind)0x100, 1, NULL, 0), -EPROTO);
	assert_int_equal(say(CELL_END, 1, "x", 1), -EPROTO);
	assert_int_equal(say(CELL_END, 1, NULL, 0), 0);
	assert_int_equal(say(CELL_END, 1, NULL, 0), -EPROTO);
	assert_int_equal(say(CELL_DATA, 1, "x", 1), -EPROTO); /* after its end */
}

/* The connection takes nothing: a window of bytes is kept, and one byte more is a lie. */
static void test_window_up(void **state)
{
	static unsigned char piece[CELL_PIECE_MAX];
	struct cell_record record;
	size_t sent = 0, came = 0;

	(void)state;
	assert_int_equal(say_open(1, 80), 0);
	while (say(CELL_DATA, 1, piece, sizeof(piece)) == 0 && sent < 16 * CELL_WINDOW) {
		sent += sizeof(piece);
		while (hear(&record)) {
			assert_int_equal(record.kind, CELL_TAKEN);
		}
	}
	assert_true(sent < 16 * CELL_WINDOW);
	/* All bytes within the window arrive. */
	for (ssize_t n; (n = read(t.insides[0], piece, sizeof(piece))) > 0; turns()) {
		came += (size_t)n;
	}
	assert_int_equal(came, sent);
}

static void test_window_down(void **state)
{
	static unsigned char piece[CELL_PIECE_MAX];
	struct cell_record record;
	size_t written = 0, came = 0;

	(void)state;
	assert_int_equal(say_open(1, 80), 0);
	for (int i = 0; i < 100; i++) {
		ssize_t n = write(t.insides[0], piece, sizeof(piece));
		written += n > 0 ? (size_t)n : 0;
		turns();
		while (hear(&record)) {
			came += record.size;
		}
	}
	assert_int_equal(came, CELL_WINDOW);
	assert_int_equal(say_taken(1, 0), -EPROTO);
	assert_int_equal(say_taken(1, CELL_WINDOW + 1), -EPROTO);
	assert_int_equal(say_taken(1, 1000), 0);
	turns();
	assert_true(hear(&record) && record.size == 1000);
	assert_true(written > came);
}

/* As many streams as there may be, and no more: the others are refused one by one. */
static void test_flood_of_opens(void **state)
{
	struct cell_record record;
	unsigned resets = 0;

	(void)state;
	for (uint32_t i = 1; i <= CELL_STREAMS_MAX + 50; i++) {
		assert_int_equal(say_open(i, 80), 0);
		while (hear(&record)) {
			resets += record.kind == CELL_RESET;
		}
	}
	assert_int_equal(t.gate.forwarded.count, CELL_STREAMS_MAX);
	assert_int_equal(t.count, CELL_STREAMS_MAX);
	assert_int_equal(resets, 50);
	assert_int_equal(t.refused, 50);
	assert_int_equal(say(CELL_RESET, 7, NULL, 0), 0);
	assert_int_equal(say_open(1000, 80), 0);
	assert_int_equal(t.count, CELL_STREAMS_MAX + 1);
}

/* Opens and closes: nothing is left of any of them. */
static void test_flood_of_both(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= 20000; i++) {
		assert_int_equal(say_open(i, 80), 0);
		assert_int_equal(say(CELL_RESET, i, NULL, 0), 0);
		assert_int_equal(t.gate.forwarded.count, 0);
		struct pollfd gone = { .fd = t.insides[--t.count] };
		assert_int_equal(poll(&gone, 1, 0), 1);
		assert_true(gone.revents & POLLHUP);
		close_fd(&t.insides[t.count]);
	}
}

static void test_cut(void **state)
{
	(void)state;
	assert_int_equal(say_open(1, 80), 0);
	assert_int_equal(say_open(2, 80), 0);
	assert_int_equal(write(t.insides[0], "half of an ans", 14), 14);
	streams_cut(&t.gate, 1);
	streams_cut(&t.gate, 0);
	turns();
	hear_only(CELL_RESET, 1);
	streams_cut(&t.gate, 1); /* it is over */
	assert_int_equal(t.gate.forwarded.count, 1);
	/* A connection that has ended gets no more. */
	close_fd(&t.insides[1]);
	turns();
	hear_only(CELL_END, 2);
	assert_int_equal(say(CELL_DATA, 2, "more", 4), 0);
	turns();
	hear_only(CELL_RESET, 2);
	assert_int_equal(t.gate.forwarded.count, 0);
}

/* The line is full: nothing more is read, and nothing is lost or out of order afterwards. */
static void test_full_line(void **state)
{
	static unsigned char piece[CELL_PIECE_MAX];
	struct cell_record record;
	uint32_t streams = 40;
	size_t came = 0, written = 0;

	(void)state;
	for (uint32_t i = 1; i <= streams; i++) {
		assert_int_equal(say_open(i, 80), 0);
		memset(piece, (int)i, sizeof(piece));
		ssize_t n = write(t.insides[i - 1], piece, sizeof(piece));
		assert_int_equal(n, sizeof(piece));
		written += (size_t)n;
		close_fd(&t.insides[i - 1]);
	}
	turns();
	assert_true(t.gate.forwarded.full);
	for (int i = 0; i < 1000 && t.gate.forwarded.count; i++) {
		while (hear(&record)) {
			came += record.kind == CELL_DATA ? record.size : 0;
			if (record.kind == CELL_DATA) {
				assert_int_equal(record.data[record.size - 1], record.number);
			} else {
				assert_int_equal(record.kind, CELL_END);
				assert_int_equal(say(CELL_END, record.number, NULL, 0), 0);
			}
		}
		turns();
	}
	assert_int_equal(came, written);
	assert_int_equal(t.gate.forwarded.count, 0);
}

static void test_queries(void **state)
{
	static const unsigned char long_one[CELL_QUERY_MAX + 1];

	(void)state;
	assert_int_equal(say(CELL_QUERY, 9, "question", 8), 0);
	hear_only(CELL_ANSWER, 9);
	assert_int_equal(t.gate.bytes, 16); /* both are charged */
	assert_int_equal(say(CELL_QUERY, 9, long_one, sizeof(long_one)), -EPROTO);
	assert_int_equal(say_open(1, NET_DNS_PORT), 0);
	assert_int_equal(t.origin.port, NET_DNS_PORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_stream, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_numbers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_forms, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_window_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_window_down, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_flood_of_opens, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_flood_of_both, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full_line, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_queries, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
