/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of a cell whose agent is hostile: records of any form and order, and connections that
 * take, send and end as they like. The number of streams and what each keeps are bounded; a
 * connection gets no byte that was not sent to it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "gate/gate.h"

#define INSIDES    16
#define RECORDS    512
#define BYTES_MOST 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int insides[INSIDES];
static unsigned next;
static uint64_t sent, came;

static void must(bool holds)
{
	if (!holds) {
		abort();
	}
}

/* The rest of the gate. */
void connection_from(struct gate *gate, int fd, const struct cell_origin *origin)
{
	(void)gate;
	must(origin->known && (origin->to.family == 4 || origin->to.family == 6));
	close_fd(&insides[next]);
	insides[next] = fd;
	next = (next + 1) % INSIDES;
}

void dns_stream_new(struct gate *gate, int fd)
{
	(void)gate;
	close(fd);
}

size_t gate_answer_query(struct gate *gate, const uint8_t *query, size_t size, uint8_t *out,
			 size_t room)
{
	(void)gate;
	must(size <= room);
	memcpy(out, query, size);
	return size;
}

bool gate_charge(struct gate *gate, uint64_t bytes)
{
	(void)gate;
	return bytes % 7 != 0;
}

void report_refused(struct gate *gate)
{
	(void)gate;
}

static void stop(void *user)
{
	loop_stop(user);
}

static void turn(struct gate *gate)
{
	struct loop_timer timer = { .due = stop, .user = gate->loop };

	must(loop_timer_set(gate->loop, &timer, clock_now_ns()) == 0);
	must(loop_run(gate->loop) == 0);
}

/* A connection does something. */
static void act(uint8_t what)
{
	static char bytes[CELL_PIECE_MAX];
	int *fd = &insides[what % INSIDES];

	if (*fd < 0) {
		return;
	}
	switch (what / INSIDES % 4) {
	case 0:
		close_fd(fd);
		break;
	case 1:
		(void)!write(*fd, bytes, sizeof(bytes));
		break;
	case 2:
		(void)shutdown(*fd, SHUT_WR);
		break;
	default:
		for (ssize_t n; (n = read(*fd, bytes, sizeof(bytes))) > 0;) {
			came += (uint64_t)n;
		}
		break;
	}
}

static void hear(int line)
{
	unsigned char record[CELL_RECORD_MAX + 1];
	struct cell_record one;

	for (ssize_t n; (n = recv(line, record, sizeof(record), MSG_DONTWAIT)) > 0;) {
		must(cell_record_read(record, (size_t)n, false, &one) == 0);
	}
}

/* Two bytes each: the first is an action, or the length of the record after it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gate gate;
	int ends[2], r = 0;

	memset(&gate, 0, sizeof(gate));
	memset(insides, -1, sizeof(insides));
	next = 0;
	sent = came = 0;
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	_cleanup_close_ int line = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
	close(ends[1]);
	must(line >= 0 && (ends[0] == GATE_FD_CELL || dup2(ends[0], GATE_FD_CELL) >= 0));
	if (ends[0] != GATE_FD_CELL) {
		close(ends[0]);
	}
	must(loop_new(&gate.loop) == 0 && streams_begin(&gate) == 0);
	for (unsigned i = 0; r == 0 && i < RECORDS && size >= 2; i++) {
		size_t length = data[1];
		uint8_t what = data[0];
		data += 2;
		size -= 2;
		if (what >= 64) {
			length = length < size ? length : size;
			r = streams_take(&gate, data, length);
			sent += length;
			data += length;
			size -= length;
		} else {
			act(what);
		}
		if (what % 4 == 0) {
			turn(&gate);
		}
		if (what % 3 != 0) {
			hear(line);
		}
		must(gate.forwarded.count <= CELL_STREAMS_MAX);
	}
	for (unsigned i = 0; i < INSIDES; i++) {
		act((uint8_t)(3 * INSIDES + i));
		close_fd(&insides[i]);
	}
	must(came <= sent);
	streams_free_all(&gate);
	must(gate.forwarded.count == 0);
	loop_remove(gate.cell);
	loop_free(gate.loop);
	close(GATE_FD_CELL);
	return 0;
}
