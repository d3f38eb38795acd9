/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines in, lines out. The descriptors are not made non-blocking, for they are shared with other
 * processes: this reads when there is input, and writes no more than a pipe takes at once.
 */
#include "mcp/transport/mcp_stdio.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "mcp/mcp_internal.h"
#include "mcp/mcp_limits.h"

#define READ_SIZE 65536
/* How long calls may go on when the client has closed its end but still reads. */
#define GRACE_NS (1500ull * 1000000)

struct mcp_stdio {
	struct mcp_channel channel;
	struct mcp_server *server;
	struct mcp_peer peer;
	int in, out;
	/* NULL: a plain file, which epoll does not support; or ended */
	struct loop_source *in_source;
	struct loop_source *out_source;
	struct buf line;   /* read so far */
	struct buf output; /* not written yet, from `written` on */
	size_t written;
	bool skipping; /* the rest of a line that was too long */
	bool in_ended;
	bool out_ended; /* the output has no reader */
	bool paused;
	struct loop_timer step; /* for plain files, and for the end */
	struct loop_timer grace;
	void (*ended)(void *user);
	void *user;
};

static size_t backlog(const struct mcp_stdio *stdio)
{
	return stdio->output.size - stdio->written;
}

/* Soon, from the loop: a function on the stack may still use the object. */
static void step_soon(struct mcp_stdio *stdio)
{
	loop_timer_set(stdio->server->loop, &stdio->step, clock_now_ns());
}

static void in_watch(struct mcp_stdio *stdio)
{
	stdio->paused = backlog(stdio) > MCP_BACKLOG_PAUSE || stdio->peer.batches > 0;
	if (stdio->peer.batches > 0) {
		step_soon(stdio);
	}
	if (stdio->in_source) {
		loop_change(stdio->in_source, stdio->paused ? 0 : EPOLLIN);
	} else if (!stdio->in_ended && !stdio->paused) {
		step_soon(stdio);
	}
}

static void out_gone(struct mcp_stdio *stdio)
{
	stdio->out_ended = true;
	buf_done(&stdio->output);
	stdio->output = (struct buf){ 0 };
	stdio->written = 0;
	step_soon(stdio);
}

static bool out_ready(const struct mcp_stdio *stdio)
{
	struct pollfd fd = { .fd = stdio->out, .events = POLLOUT };

	return poll(&fd, 1, 0) == 1 && fd.revents & (POLLOUT | POLLERR | POLLHUP);
}

/* As much as possible without waiting. */
static void out_write(struct mcp_stdio *stdio)
{
	while (backlog(stdio) > 0 && out_ready(stdio)) {
		size_t size = backlog(stdio) < PIPE_BUF ? backlog(stdio) : PIPE_BUF;
		ssize_t n = write(stdio->out, stdio->output.data + stdio->written, size);
		if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
			break;
		}
		if (n < 0) {
			out_gone(stdio);
			return;
		}
		stdio->written += (size_t)n;
	}
	if (backlog(stdio) == 0) {
		stdio->output.size = 0;
		stdio->written = 0;
	}
	if (stdio->out_source) {
		loop_change(stdio->out_source, backlog(stdio) > 0 ? EPOLLOUT : 0);
	}
	if (stdio->paused && backlog(stdio) <= MCP_BACKLOG_PAUSE / 2) {
		in_watch(stdio);
	}
	if (stdio->in_ended) {
		step_soon(stdio);
	}
}

static void out_text(struct mcp_stdio *stdio, const char *text, size_t size)
{
	if (!text || stdio->out_ended) {
		return;
	}
	if (stdio->written > 0 && stdio->written >= stdio->output.size / 2) {
		memmove(stdio->output.data, stdio->output.data + stdio->written, backlog(stdio));
		stdio->output.size -= stdio->written;
		stdio->written = 0;
	}
	buf_add(&stdio->output, text, size);
	buf_addc(&stdio->output, '\n');
	if (stdio->output.failed) { /* half a line is worse than none */
		out_gone(stdio);
		return;
	}
	out_write(stdio);
}

static void out_line(struct mcp_stdio *stdio, const json_t *message)
{
	size_t size;
	_cleanup_free_ char *text = mcp_message_text(message, &size);

	out_text(stdio, text, size);
}

static bool channel_send(struct mcp_channel *channel, const json_t *message, bool lossy)
{
	struct mcp_stdio *stdio = (struct mcp_stdio *)channel;

	if (!lossy || backlog(stdio) <= MCP_BACKLOG_LOSSY) {
		out_line(stdio, message);
	}
	return true;
}

static void channel_answer(struct mcp_channel *channel, const json_t *message, int status)
{
	struct mcp_stdio *stdio = (struct mcp_stdio *)channel;

	(void)status;
	if (message) {
		out_line(stdio, message);
	}
	if (stdio->in_ended) {
		step_soon(stdio);
	}
}

static void channel_answer_text(struct mcp_channel *channel, const char *text, size_t size)
{
	struct mcp_stdio *stdio = (struct mcp_stdio *)channel;

	out_text(stdio, text, size);
	if (stdio->in_ended) {
		step_soon(stdio);
	}
}

static const struct mcp_channel_class stdio_class = {
	.send = channel_send,
	.answer = channel_answer,
	.answer_text = channel_answer_text,
};

static void take_line(struct mcp_stdio *stdio, const char *text, size_t size)
{
	const char *why;

	if (size > 0 && text[size - 1] == '\r') {
		size--;
	}
	if (size == 0) {
		return;
	}
	json_t *root = mcp_message_load(text, size, stdio->server->options.message_bytes, &why);
	if (root) {
		mcp_peer_receive(&stdio->peer, root, &stdio->channel);
	} else {
		mcp_peer_refuse(&stdio->channel, NULL, MCP_E_PARSE, 0, NULL, why);
	}
	json_decref(root);
}

/* Handles complete lines; a line that grows too long is dropped, and reported once. */
static void take_lines(struct mcp_stdio *stdio, const char *data, size_t size)
{
	while (size > 0) {
		const char *end = memchr(data, '\n', size);
		size_t part = end ? (size_t)(end - data) : size;
		if (!stdio->skipping) {
			buf_add(&stdio->line, data, part);
		}
		if (!stdio->skipping && (stdio->line.size > stdio->server->options.message_bytes ||
					 stdio->line.failed)) {
			stdio->skipping = true;
			buf_done(&stdio->line);
			stdio->line = (struct buf){ 0 };
			mcp_peer_refuse(&stdio->channel, NULL, MCP_E_PARSE, 0, NULL,
					"the message is too long");
		}
		if (!end) {
			return;
		}
		if (!stdio->skipping) {
			take_line(stdio, stdio->line.data ? stdio->line.data : "",
				  stdio->line.size);
		}
		stdio->skipping = false;
		stdio->line.size = 0;
		data += part + 1;
		size -= part + 1;
	}
}

/* Cancels calls that wait for the client: they would wait forever. */
static void end_waiting(struct mcp_stdio *stdio)
{
	struct mcp_call *call = stdio->peer.calls;

	while (call) {
		if (call->kind != CALL_RUNNING) {
			mcp_call_cancel(call);
			call = stdio->peer.calls;
		} else {
			call = call->next;
		}
	}
}

static void in_over(struct mcp_stdio *stdio)
{
	stdio->in_ended = true;
	loop_remove(stdio->in_source);
	stdio->in_source = NULL;
	if (stdio->line.size > 0 && !stdio->skipping) {
		take_line(stdio, stdio->line.data, stdio->line.size);
	}
	end_waiting(stdio);
	loop_timer_set(stdio->server->loop, &stdio->grace, clock_now_ns() + GRACE_NS);
	step_soon(stdio);
}

static void in_read(struct mcp_stdio *stdio)
{
	char data[READ_SIZE];
	ssize_t n = read(stdio->in, data, sizeof(data));

	if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
		return;
	}
	if (n <= 0) {
		in_over(stdio);
		return;
	}
	take_lines(stdio, data, (size_t)n);
	in_watch(stdio);
}

static void in_event(void *user, uint32_t events)
{
	struct mcp_stdio *stdio = user;

	/* While paused, only the end is noticed; input before it is read later. */
	if (!stdio->paused || !(events & (EPOLLHUP | EPOLLERR))) {
		in_read(stdio);
	} else {
		loop_remove(stdio->in_source);
		stdio->in_source = NULL;
	}
}

static void out_event(void *user, uint32_t events)
{
	struct mcp_stdio *stdio = user;

	if (events & EPOLLERR) {
		loop_remove(stdio->out_source);
		stdio->out_source = NULL;
		out_gone(stdio);
		return;
	}
	out_write(stdio);
}

/* No calls are in progress, and nothing waits to be written. */
static bool is_silent(const struct mcp_stdio *stdio)
{
	return !stdio->peer.calls && stdio->peer.batches == 0 && backlog(stdio) == 0;
}

/* Ends when nothing is left to send, or the output has no reader. */
static void step_due(void *user)
{
	struct mcp_stdio *stdio = user;

	if (stdio->out_ended || (stdio->in_ended && is_silent(stdio))) {
		loop_timer_clear(&stdio->grace);
		mcp_peer_done(&stdio->peer);
		loop_remove(stdio->in_source);
		stdio->in_source = NULL;
		if (stdio->ended) {
			void (*ended)(void *) = TAKE_PTR(stdio->ended);
			ended(stdio->user);
		}
		return;
	}
	if (stdio->peer.batches > 0) { /* messages after a batch wait for it */
		step_soon(stdio);
	} else if (stdio->paused && backlog(stdio) <= MCP_BACKLOG_PAUSE / 2) {
		in_watch(stdio);
	} else if (!stdio->in_ended && !stdio->in_source && !stdio->paused) {
		in_read(stdio);
	}
}

static void grace_due(void *user)
{
	struct mcp_stdio *stdio = user;

	out_gone(stdio);
}

static int stdio_watch(struct mcp_stdio *stdio)
{
	struct loop *loop = stdio->server->loop;
	int r = loop_add(loop, stdio->in, EPOLLIN, in_event, stdio, &stdio->in_source);

	if (r == -EPERM) { /* a plain file: always ready */
		step_soon(stdio);
	} else if (r < 0) {
		return r;
	}
	r = loop_add(loop, stdio->out, 0, out_event, stdio, &stdio->out_source);
	return r == -EPERM ? 0 : r;
}

int mcp_stdio_new(struct mcp_server *server, int in, int out, const char *tenant,
		  void (*ended)(void *user), void *user, struct mcp_stdio **ret)
{
	struct mcp_stdio *stdio = calloc(1, sizeof(*stdio));

	if (!stdio) {
		return -ENOMEM;
	}
	stdio->channel.class = &stdio_class;
	stdio->server = server;
	stdio->in = in;
	stdio->out = out;
	stdio->ended = ended;
	stdio->user = user;
	stdio->step.due = step_due;
	stdio->step.user = stdio;
	stdio->grace.due = grace_due;
	stdio->grace.user = stdio;
	int r = mcp_peer_init(&stdio->peer, server, tenant);
	if (r == 0) {
		stdio->peer.general = &stdio->channel;
		r = stdio_watch(stdio);
	}
	if (r < 0) {
		mcp_stdio_free(stdio);
		return r;
	}
	*ret = stdio;
	return 0;
}

void mcp_stdio_free(struct mcp_stdio *stdio)
{
	if (!stdio) {
		return;
	}
	mcp_peer_done(&stdio->peer);
	loop_remove(stdio->in_source);
	loop_remove(stdio->out_source);
	loop_timer_clear(&stdio->step);
	loop_timer_clear(&stdio->grace);
	buf_done(&stdio->line);
	buf_done(&stdio->output);
	free(stdio);
}
