/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the program: pipes, a child that limits itself, exec. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/cleanup.h"
#include "base/files/fdpass.h"

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif

/* Of the child: it is sealed, and waits; or it has failed. */
struct start_report {
	uint32_t failed; /* 0: it is sealed */
	uint32_t step;
	int32_t value; /* errno; or its listener, -1: none */
};

/* The pipes of a start. */
enum {
	PIPE_INPUT,
	PIPE_OUTPUT,
	PIPE_ERRORS,
	PIPE_REPORT, /* of the child: struct start_report; exec closes it */
	PIPE_GO,     /* to the child: a byte, it may exec */
	PIPE_TO,     /* to a driver; or one socket, whose [1] is the driver's */
	PIPE_FROM,   /* from a driver */
	PIPES,
};

/* --- the child -------------------------------------------------------------------------------- */

/* Waits until brig has the listener, which exec itself may need. */
static int wait_for_go(int report, int go, int listener)
{
	struct start_report sealed = { .value = listener };
	char byte;
	ssize_t n;

	if (write(report, &sealed, sizeof(sealed)) != sizeof(sealed)) {
		return -errno;
	}
	do {
		n = read(go, &byte, 1);
	} while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : n < 0 ? -errno : -ECANCELED;
}

static bool has_socket(const struct agent *agent)
{
	return agent->channel[0] && agent->channel[0] == agent->channel[1];
}

/* The numbers of the program and of a driver. All of ours are above them. */
static int take_descriptors(const struct agent *agent, int pipes[PIPES][2])
{
	const struct {
		int fd, number;
	} list[] = {
		{ pipes[PIPE_INPUT][0], 0 },
		{ pipes[PIPE_OUTPUT][1], 1 },
		{ pipes[PIPE_ERRORS][1], 2 },
		{ agent->value, 3 },
		{ pipes[PIPE_TO][has_socket(agent) ? 1 : 0], (int)agent->channel[0] },
		{ pipes[PIPE_FROM][1], (int)agent->channel[1] },
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		if (list[i].fd >= 0 && dup2(list[i].fd, list[i].number) < 0) {
			return -errno;
		}
	}
	return 0;
}

/* Only a failure returns. */
static int become_program(const struct agent *agent, int pipes[PIPES][2], enum frame_step *step)
{
	int listener = -1;
	sigset_t none;

	*step = FRAME_STEP_SPAWN;
	sigemptyset(&none);
	if (setsid() < 0 || sigprocmask(SIG_SETMASK, &none, NULL) < 0) {
		return -errno;
	}
	*step = FRAME_STEP_STDIO;
	int r = take_descriptors(agent, pipes);
	if (r < 0) {
		return r;
	}
	*step = FRAME_STEP_DIRECTORY;
	if (chdir(agent->directory) < 0) {
		return -errno;
	}
	r = program_seal(agent, &listener, step);
	r = r < 0 ? r : wait_for_go(pipes[PIPE_REPORT][1], pipes[PIPE_GO][0], listener);
	if (r < 0) {
		return r;
	}
	char *nothing[] = { NULL };
	*step = FRAME_STEP_EXEC;
	execve(agent->arguments.items[0], agent->arguments.items,
	       agent->variables.items ? agent->variables.items : nothing);
	return -errno;
}

/* --- the agent -------------------------------------------------------------------------------- */

/* With room for the child's last descriptors below its limit, and close-on-exec. */
static int make_pipe(int ends[2])
{
	int made[2];

	if (pipe2(made, O_CLOEXEC) < 0) {
		return -errno;
	}
	ends[0] = agent_lift(made[0]);
	ends[1] = agent_lift(made[1]);
	return ends[0] < 0 || ends[1] < 0 ? -EMFILE : 0;
}

/* 1: the child has reported; 0: its end is closed, by exec or by its death; -errno. */
static int next_report(int fd, enum frame_step *step, struct start_report *report)
{
	ssize_t n;

	do {
		n = read(fd, report, sizeof(*report));
	} while (n < 0 && errno == EINTR);
	if (n == 0) {
		return 0;
	}
	if (n != sizeof(*report)) {
		return n < 0 ? -errno : -EIO;
	}
	if (report->failed) {
		*step = (enum frame_step)report->step;
		return -report->value;
	}
	return 1;
}

/* The frame LISTENER, with its descriptor: brig has read all frames before it. */
static int pass_listener(const struct agent *agent, int listener)
{
	unsigned char head[FRAME_HEAD_BYTES];
	struct iovec part = { .iov_base = head, .iov_len = sizeof(head) };
	struct pollfd room = { .fd = agent->out, .events = POLLOUT };
	ssize_t n;

	if (agent->out_size) {
		return -EBUSY;
	}
	frame_put_head(head, FRAME_LISTENER, 0);
	do {
		n = fdpass_send(agent->out, &part, 1, &listener, 1, 0);
	} while (n == -EAGAIN && poll(&room, 1, -1) >= 0);
	return n < 0 ? (int)n : n == sizeof(head) ? 0 : -EIO;
}

/*
 * A table of our own, without the program's descriptors and its driver's; ours are above. In one
 * call, because Docker's filter forbids unshare(); older kernels, and gVisor's, know only that one.
 */
static int take_own_table(void)
{
	const unsigned last = AGENT_ROOM_FDS - 1u;

	if (syscall(SYS_close_range, 0u, last, CLOSE_RANGE_UNSHARE) == 0) {
		return 0;
	}
	if (unshare(CLONE_FILES) < 0) {
		return -errno;
	}
	(void)syscall(SYS_close_range, 0u, last, 0u);
	return 0;
}

/* The child is sealed. Its descriptors are ours too until here, and the program's alone then. */
static int let_go(struct agent *agent, int listener, int pipes[PIPES][2])
{
	int r = listener >= 0 ? pass_listener(agent, listener) : 0;

	if (listener >= 0) {
		close(listener); /* only brig has it from here on */
	}
	r = r < 0 ? r : take_own_table();
	if (r < 0) {
		return r;
	}
	close_fd(&pipes[PIPE_REPORT][1]);
	close_fd(&pipes[PIPE_GO][0]);
	return write(pipes[PIPE_GO][1], "g", 1) == 1 ? 0 : -errno;
}

/*
 * The child shares our table of descriptors, so its listener is in it too: the program's filter may
 * forbid to send anything.
 */
static int spawn(struct agent *agent, int pipes[PIPES][2], enum frame_step *step)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	struct start_report report = { 0 };

	if (pid < 0) {
		return -errno;
	}
	if (pid == 0) {
		enum frame_step at = FRAME_STEP_SPAWN;
		report.value = -become_program(agent, pipes, &at);
		report.failed = 1;
		report.step = (uint32_t)at;
		_exit(write(pipes[PIPE_REPORT][1], &report, sizeof(report)) < 0 ? 126 : 127);
	}
	agent->program = pid;
	int r = next_report(pipes[PIPE_REPORT][0], step, &report);
	if (r <= 0) {
		return r < 0 ? r : -ECHILD;
	}
	r = let_go(agent, report.value, pipes);
	/* Waits until exec has closed the child's end, or fails. */
	return r < 0 ? r : next_report(pipes[PIPE_REPORT][0], step, &report);
}

/* One socket, of which each side has one end. */
static int make_socket(int ends[2])
{
	int made[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, made) < 0) {
		return -errno;
	}
	ends[0] = agent_lift(made[0]);
	ends[1] = agent_lift(made[1]);
	return ends[0] < 0 || ends[1] < 0 ? -EMFILE : 0;
}

static int make_pipes(const struct agent *agent, int pipes[PIPES][2])
{
	int count = agent->channel[0] && !has_socket(agent) ? PIPES : PIPE_TO;
	int r = 0;

	for (int i = 0; r == 0 && i < count; i++) {
		r = make_pipe(pipes[i]);
	}
	return r == 0 && has_socket(agent) ? make_socket(pipes[PIPE_TO]) : r;
}

static int keep(int *ret, int *fd)
{
	if (*fd < 0) {
		return 0;
	}
	*ret = TAKE_FD(*fd);
	return fcntl(*ret, F_SETFL, O_RDWR | O_NONBLOCK) < 0 ? -errno : 0;
}

/* The agent's own ends. */
static int keep_ends(struct agent *agent, int pipes[PIPES][2])
{
	bool socket = has_socket(agent);

	if (socket) {
		/* Read and written by two descriptors, which are closed apart. */
		pipes[PIPE_FROM][0] = fcntl(pipes[PIPE_TO][0], F_DUPFD_CLOEXEC, AGENT_ROOM_FDS);
		if (pipes[PIPE_FROM][0] < 0) {
			return -errno;
		}
	}
	int r = keep(&agent->input.fd, &pipes[PIPE_INPUT][1]);
	r = r < 0 ? r : keep(&agent->output[AGENT_STDOUT], &pipes[PIPE_OUTPUT][0]);
	r = r < 0 ? r : keep(&agent->output[AGENT_STDERR], &pipes[PIPE_ERRORS][0]);
	r = r < 0 ? r : keep(&agent->output[AGENT_FROM_DRIVER], &pipes[PIPE_FROM][0]);
	return r < 0 ? r : keep(&agent->to_driver.fd, &pipes[PIPE_TO][socket ? 0 : 1]);
}

int program_start(struct agent *agent, enum frame_step *step)
{
	int pipes[PIPES][2] = { [0 ... PIPES - 1] = { -1, -1 } };
	int r = agent->arguments.count && agent->directory ? 0 : -EINVAL;

	*step = FRAME_STEP_ASSIGNMENT;
	close_fd(&agent->file);
	if (r == 0) {
		*step = FRAME_STEP_STDIO;
		r = make_pipes(agent, pipes);
	}
	r = r < 0 ? r : value_make(agent);
	if (r == 0) {
		*step = FRAME_STEP_SPAWN;
		r = spawn(agent, pipes, step);
	}
	r = r < 0 ? r : keep_ends(agent, pipes);
	for (size_t i = 0; i < PIPES; i++) {
		close_fd(&pipes[i][0]);
		close_fd(&pipes[i][1]);
	}
	return r;
}
