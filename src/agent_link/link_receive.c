/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's frames, one after the other: each is checked, and then used. See agent_link.h. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent_link/agent_link.h"
#include "base/cleanup.h"
#include "base/clock.h"

/* So that an agent which floods its stream starves nothing else. */
#define FRAMES_A_TURN 64
#define BYTES_A_TURN  (1u << 20)
/* More than a socket and two pipes hold: a living agent must not decide how long this takes. */
#define DRAIN_BYTES (8u << 20)
/* Each frame that the agent writes by itself takes at least half a KiB of its socket. */
#define DRAIN_FRAMES 8192
/* All waiting for the gate at the end: it always reads, but may lack a processor. */
#define DRAIN_GATE_NS UINT64_C(20000000)

static int take_ready(struct agent_link *link, struct run *run)
{
	int r = link->on_ready(run);

	return r == 1 ? link_begin(link, run) : r;
}

static int take_started(struct agent_link *link, struct run *run)
{
	/* A waiting agent has no program to start; and its listener comes first. */
	if (!link->assigned || listener_is_due(link, run->options.spec)) {
		return -EPROTO;
	}
	if (run->state < RUN_RUNNING) {
		run_enter(run, RUN_RUNNING);
	}
	run_begun(run);
	return 0;
}

static int take_exit(struct agent_link *link, struct run *run)
{
	const struct frame_exit *end = &link->reports.end;

	run_take_end(run, (int)end->code, (int)end->status, end->cpu_ns);
	run_take_memory(run, end->memory_peak_bytes);
	run_look_last(run);
	return link->options.returns ? files_come(link, run) : 0;
}

static int take_last_file(struct agent_link *link, struct run *run)
{
	files_complete(link, run);
	return 0;
}

static int take_failure(struct agent_link *link, struct run *run)
{
	(void)link;
	run->build_failed = true;
	return 0;
}

static int (*const takers[FRAME_KINDS])(struct agent_link *, struct run *) = {
	[FRAME_READY] = take_ready,       [FRAME_WAITING] = take_ready,
	[FRAME_STARTED] = take_started,   [FRAME_EXITED] = take_exit,
	[FRAME_FAILED] = take_failure,    [FRAME_OUT_END] = take_last_file,
	[FRAME_LISTENER] = listener_take,
};

static ssize_t pass_bytes(struct agent_link *link, enum frame_kind kind, const void *data,
			  size_t size)
{
	if (kind != FRAME_FROM_DRIVER && link->reports.marks > 0) {
		return (ssize_t)size; /* of no run */
	}
	if (kind != FRAME_FROM_DRIVER) {
		return write(link->output[kind == FRAME_STDOUT ? 0 : 1], data, size);
	}
	ssize_t n =
		link->channel < 0 ? (ssize_t)size : send(link->channel, data, size, MSG_NOSIGNAL);
	/* The session has left: nobody waits for it. */
	return n < 0 && (errno == EPIPE || errno == ECONNRESET) ? (ssize_t)size : n;
}

/* 1: the run has all of it; 0: its pipe or channel is full. */
static int pass_on(struct agent_link *link, const struct frame_head *head)
{
	while (link->piece_at < head->size) {
		ssize_t n =
			pass_bytes(link, head->kind, link->in + FRAME_HEAD_BYTES + link->piece_at,
				   head->size - link->piece_at);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			link->blocked = errno == EAGAIN;
			return errno == EAGAIN ? 0 : -errno;
		}
		link->piece_at += (size_t)n;
	}
	link->blocked = false;
	return 1;
}

/* A complete frame. 1: it was taken; 0: later; -errno. */
static int take_frame(struct agent_link *link, struct run *run, const struct frame_head *head)
{
	int r = 1;

	if (head->kind == FRAME_STDOUT || head->kind == FRAME_STDERR ||
	    (head->kind == FRAME_FROM_DRIVER && link->reports.has_channel)) {
		r = pass_on(link, head);
	} else if (head->kind == FRAME_TO_GATE && link->reports.has_gate) {
		r = network_pass(link, head->size);
	} else if (head->kind == FRAME_READY && files_missing(link)) {
		r = 0; /* there is no place for its files yet */
		link->blocked = true;
	} else if (link->reports.state == REPORT_RETURNS && head->kind != FRAME_OUT_END) {
		r = returned_take(&link->files, head, link->in + FRAME_HEAD_BYTES);
		r = r < 0 ? r : 1;
	} else {
		r = report_take(&link->reports, head, link->in + FRAME_HEAD_BYTES);
		if (r == 0 && head->kind == FRAME_VALUE) {
			r = value_take(link, run, head->size);
		}
		if (r == 0 && takers[head->kind]) {
			r = takers[head->kind](link, run);
		}
		r = r < 0 ? r : 1;
	}
	if (r == 1) {
		link->in_have = link->piece_at = 0;
		/* One that came with any other frame. */
		r = link->passed < 0 ? 1 : -EPROTO;
	}
	return r;
}

static ssize_t receive_bytes(struct agent_link *link, struct run *run, size_t size)
{
	return link->options.receive ? link->options.receive(run, link->in + link->in_have, size)
				     : listener_receive(link, run->options.spec, size);
}

/*
 * Receives a part of the frame, or takes a complete one. *more: bytes that may still be received.
 * 1: go on; 0: not now; -errno.
 */
static int receive(struct agent_link *link, struct run *run, size_t *more)
{
	struct frame_head head = { 0 };
	size_t want = FRAME_HEAD_BYTES;

	if (link->in_have >= FRAME_HEAD_BYTES) {
		int r = frame_get_head(link->in, &head);
		r = r < 0 ? r : report_allow(&link->reports, &head);
		if (r < 0) {
			return r;
		}
		want += head.size;
		if (link->in_have == want) {
			return take_frame(link, run, &head);
		}
	}
	ssize_t n = receive_bytes(link, run, want - link->in_have);
	if (n < 0 && n != -ECONNRESET) {
		return n == -EINTR ? 1 : n == -EAGAIN ? 0 : (int)n;
	}
	if (n <= 0) {
		link->ended = true;
		return 0;
	}
	link->in_have += (size_t)n;
	*more -= (size_t)n < *more ? (size_t)n : *more;
	return 1;
}

static bool is_complete(const struct agent_link *link)
{
	struct frame_head head;

	return link->in_have >= FRAME_HEAD_BYTES && frame_get_head(link->in, &head) == 0 &&
	       link->in_have == FRAME_HEAD_BYTES + head.size;
}

int link_receive(struct agent_link *link, struct run *run)
{
	size_t more = BYTES_A_TURN;
	int r = link->fd < 0 || link->ended ? 0 : 1;

	/* A frame takes at most three of these, unless it comes in parts. */
	for (unsigned i = 0; r == 1 && more > 0 && i < 3 * FRAMES_A_TURN; i++) {
		r = receive(link, run, &more);
	}
	/* The stream would not announce a frame that is already here. */
	if (r == 1 && is_complete(link)) {
		r = receive(link, run, &more);
	}
	return r < 0 ? r : 0;
}

/* The run reads its own pipe only after this; and the gate takes records by itself. */
static int make_way(struct agent_link *link, struct run *run, uint64_t deadline_ns)
{
	if (frame_get_u32(link->in) == FRAME_TO_GATE) {
		network_await(link, deadline_ns);
		return 1;
	}
	return stream_pump(&run->out[0]) < 0 || stream_pump(&run->out[1]) < 0 ? 0 : 1;
}

void agent_link_drain(struct agent_link *link, struct run *run)
{
	uint64_t deadline_ns = clock_now_ns() + DRAIN_GATE_NS;
	size_t more = DRAIN_BYTES;
	int r = link->fd < 0 || link->ended || files_missing(link) ? 0 : 1;

	for (unsigned i = 0; r == 1 && more > 0 && i < 3 * DRAIN_FRAMES; i++) {
		r = receive(link, run, &more);
		if (r == 0 && link->blocked) {
			r = make_way(link, run, deadline_ns);
		}
	}
	close_fd(&link->output[0]);
	close_fd(&link->output[1]);
	files_note(link, run);
}
