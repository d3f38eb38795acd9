/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent's stream, as the warden receives it: any bytes. A frame that does not fit ends the link;
 * states only move forward; no more output reaches the run than was sent; nothing is read after an
 * error.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "agent_link/agent_link.h"
#include "base/cleanup.h"
#include "base/files/fdpass.h"
#include "net/cell_stream.h"
#include "net/gate_messages.h"

#define SIZE_MAX_INPUT (256u << 10)
#define READY_BYTES    12u /* the frame READY */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds) {
		abort();
	}
}

static int always_ready(struct run *run)
{
	(void)run;
	return 1;
}

/* Taken only where it was asked for, and once. */
static int drop_listener(struct run *run, int fd)
{
	(void)run;
	close(fd);
	return 0;
}

static struct sock_filter code;
static const struct bpf_program filter = { .code = &code, .count = 1 };
static const char *const arguments[] = { "/bin/true", NULL };
static const struct spec spec = {
	.provider = &oci_provider,
	.argv = arguments,
	.filter = &filter,
	.limits = { .wall_ns = UINT64_MAX / 2, .cpu_ns = UINT64_MAX },
};

static void open_run(struct run *run, int *input)
{
	*run = (struct run){ .provider = &oci_provider, .sandbox = -1, .value = -1, .end_fd = -1 };
	run->options.spec = &spec;
	run->watch =
		(struct limit_watch){ .spec = &spec, .sandbox = -1, .proc = -1, .sockets = -1 };
	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	run->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	must(run_pipe(input, &run->inside[0], false) == 0);
	for (int i = 0; i < 2; i++) {
		run->out[i] = (struct stream){ .number = i + 1, .limit = 1000 };
		must(run_pipe(&run->out[i].fd, &run->inside[i + 1], true) == 0);
	}
}

static void close_run(struct run *run, int *input)
{
	close_fd(input);
	stream_done(&run->out[0]);
	stream_done(&run->out[1]);
	close_fd(&run->epoll);
	close_fd(&run->timer);
}

/* All that can be done now. Returns the first error. */
static int turns(struct run *run, struct agent_link *link)
{
	struct epoll_event ready[8];
	char drop[4096];
	int r = 0, count;

	while (r == 0 && (count = epoll_wait(run->epoll, ready, 8, 0)) > 0) {
		enum report_state before = link->reports.state;
		bool moved = false;
		for (int i = 0; r == 0 && i < count; i++) {
			r = agent_link_handle(link, run, ready[i].data.u32 - RUN_EVENT_CELL);
			moved |= ready[i].data.u32 == RUN_EVENT_CELL + AGENT_LINK_STREAM;
		}
		must(link->reports.state >= before);
		must(link->reports.input.sent <= FRAME_INPUT_WINDOW);
		for (int i = 0; i < 2; i++) {
			while (read(run->out[i].fd, drop, sizeof(drop)) > 0) {
			}
		}
		if (!moved && !link->blocked) {
			break;
		}
	}
	return r;
}

static ssize_t send_with(int to, const uint8_t *data, size_t size, int fd)
{
	struct iovec part = { .iov_base = (void *)(uintptr_t)data, .iov_len = size };

	ssize_t n = fdpass_send(to, &part, 1, &fd, fd >= 0, 0);
	/* A kernel that lets the link refuse descriptors: Linux 6.16 and later. */
	return n == -EPERM ? fdpass_send(to, &part, 1, NULL, 0, 0) : n;
}

/* Only records of the right form reach the gate. One is sent back, as if it were an answer. */
static void hear_records(int gate)
{
	unsigned char record[CELL_RECORD_MAX + 1];
	struct cell_record one;
	ssize_t n;

	while ((n = read(gate, record, sizeof(record))) > 0) {
		bool greeting = n == sizeof(struct gate_word) && record[0] == GATE_STREAMS;
		must(greeting || cell_record_read(record, (size_t)n, true, &one) == 0);
		(void)!write(gate, record, (size_t)n);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct run run;
	struct agent_link link;
	int input = -1, ends[2], channel[2], gate[2], r = 0;
	char drop[65536];

	size = size < SIZE_MAX_INPUT ? size : SIZE_MAX_INPUT;
	open_run(&run, &input);
	must(write(input, "some input", 10) == 10);
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	must(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
	must(agent_link_open(&link, &run, ends[0], 0, always_ready, NULL) == 0);
	/* As if there were a session, and a value too: more frames are allowed than ever. */
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, channel) == 0);
	link.channel = channel[0];
	link.reports.has_channel = 1;
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, gate) == 0);
	must(agent_link_network(&link, &run, gate[0]) == 0);
	must(run_make_value(&run.value) == 0);
	run.options.value = VALUE_GUARDED;
	if (size % 2) {
		link.options.listener = drop_listener;
	}
	for (size_t at = 0; r == 0 && at < size;) {
		/* After READY, all the rest comes with a descriptor. */
		bool passes = size % 2 && at >= READY_BYTES;
		size_t most = size % 2 && !passes && size > READY_BYTES ? READY_BYTES : size - at;
		ssize_t n = send_with(ends[1], data + at, most, passes ? input : -1);
		must(n > 0);
		at += (size_t)n;
		r = turns(&run, &link);
		while (read(ends[1], drop, sizeof(drop)) > 0) {
		}
		while (read(channel[1], drop, sizeof(drop)) > 0) {
		}
		hear_records(gate[1]);
	}
	must(r == 0 || link.ended);
	close(ends[1]);
	must(turns(&run, &link) == 0);
	agent_link_drain(&link, &run);
	must(!run.facts.exited || link.reports.state == REPORT_OVER);
	agent_link_close(&link);
	close(channel[1]);
	close(gate[1]);
	must(lseek(run.value, 0, SEEK_END) == RUN_FILE_BYTES);
	close_fd(&run.value);
	close_run(&run, &input);
	return 0;
}
