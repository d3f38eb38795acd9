/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a run: plan, pipes, the warden's steps, the epoll set. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/id.h"
#include "run/run_internal.h"

int run_pipe(int *ours, int *theirs, bool we_read)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0) {
		return -errno;
	}
	*ours = ends[we_read ? 0 : 1];
	*theirs = ends[we_read ? 1 : 0];
	return fcntl(*ours, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

/* The program may open /dev/stdout and its like anew: then the pipe must be its own. */
static int give_stdio(struct run *run)
{
	const struct spec *spec = run->options.spec;

	for (int i = 0; i < 3 && spec->ranged; i++) {
		if (fchown(run->cell.stdio[i], spec->first_id + 1, spec->first_id + 1) < 0) {
			return -errno;
		}
	}
	return 0;
}

static int make_pipes(struct run *run, int *in)
{
	int r = run_pipe(in, &run->cell.stdio[0], false);

	for (int i = 0; i < 2 && r == 0; i++) {
		r = run_pipe(&run->out[i].fd, &run->cell.stdio[i + 1], true);
	}
	return r;
}

/* All three are one terminal: what is printed comes by the first stream, the second is empty. */
static int make_terminal(struct run *run, int *in)
{
	struct cell *cell = &run->cell;
	_cleanup_close_ int nobody = -1;
	int r = terminal_open(&run->options.terminal_size, &run->out[0].fd, &cell->stdio[0]);

	if (r < 0) {
		return r;
	}
	cell->terminal = run->out[0].terminal = true;
	cell->stdio[1] = fcntl(cell->stdio[0], F_DUPFD_CLOEXEC, 0);
	cell->stdio[2] = fcntl(cell->stdio[0], F_DUPFD_CLOEXEC, 0);
	*in = fcntl(run->out[0].fd, F_DUPFD_CLOEXEC, 0);
	if (cell->stdio[1] < 0 || cell->stdio[2] < 0 || *in < 0) {
		return -errno;
	}
	return run_pipe(&run->out[1].fd, &nobody, true);
}

static int make_stdio(struct run *run)
{
	const struct run_options *options = &run->options;
	const struct brig_limits *limits = &options->spec->limits;
	uint64_t most[2] = { limits->stdout_bytes, limits->stderr_bytes };
	_cleanup_close_ int in = -1;
	int r = options->terminal ? make_terminal(run, &in) : make_pipes(run, &in);

	if (r == 0) {
		r = feed_init(&run->in, TAKE_FD(in), options->stdin_data, options->stdin_size,
			      options->stdin_feed);
	}
	for (int i = 0; i < 2 && r == 0; i++) {
		struct stream *stream = &run->out[i];
		stream->number = i + 1;
		stream->limit = most[i];
		stream->keep = options->keep_output;
		stream->on_output = options->on_output;
		stream->user = options->user;
	}
	return r < 0 ? r : give_stdio(run);
}

/* It may become a session's: a socket made here is none of the cell's network. */
static int make_channel(struct run *run)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		return -errno;
	}
	run->channel = ends[0];
	run->cell.channel_fd = ends[1];
	return 0;
}

/* What a cell made ahead waits with. */
static int make_order(struct run *run)
{
	int r = run_pipe(&run->go, &run->cell.go[0], false);

	if (r == 0) {
		run->assignment = run->cell.assignment_fd = assignment_open();
		r = run->assignment < 0 ? run->assignment : 0;
	}
	/* Others exec: then it would be the interpreter's. */
	if (r == 0 && run->options.spec->cloned) {
		r = run_make_value(&run->value);
		run->cell.value_fd = run->value;
	}
	if (r == 0 && run->options.spec->cloned) {
		r = make_channel(run);
	}
	return r;
}

static int make_control(struct run *run)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		return -errno;
	}
	run->cell.control = ends[0];
	run->cell.control_inside = ends[1];
	return 0;
}

static int make_loop(struct run *run)
{
	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	run->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (run->epoll < 0 || run->timer < 0) {
		return -errno;
	}
	int r = run_listen(run, run->timer, RUN_EVENT_TIMER, EPOLLIN);
	if (r == 0) {
		r = run_listen(run, run->cell.control, RUN_EVENT_CONTROL, EPOLLIN);
	}
	if (r == 0) {
		r = run_listen(run, run->out[0].fd, RUN_EVENT_STDOUT, EPOLLIN);
	}
	if (r == 0) {
		r = run_listen(run, run->out[1].fd, RUN_EVENT_STDERR, EPOLLIN);
	}
	/* Edge-triggered: a pipe with room is no news; room after fullness is. */
	if (r == 0) {
		r = run_listen(run, run->in.fd, RUN_EVENT_STDIN, EPOLLOUT | EPOLLET);
	}
	return r;
}

static int make_timing(struct run *run)
{
	if (!run->options.measure) {
		return 0;
	}
	void *page = mmap(NULL, sizeof(uint64_t) * PLAN_STEPS_MAX, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED) {
		return -errno;
	}
	run->took_ns = page;
	run->cell.took_ns = page;
	return 0;
}

static int explain_failure(struct run *run, int r, struct brig_error *err)
{
	/* Ours fail as well when the cell has given up: then its reason is the reason. */
	run_hear_last_words(run);
	if (run->setup_errnum) {
		return run_setup_error(run, &run->plan.steps[run->setup_step], run->setup_errnum,
				       err);
	}
	return run_setup_error(run, &run->plan.steps[run->cell.failed], -r, err);
}

int run_begin(const struct run_options *options, struct run **ret, struct brig_error *err)
{
	struct run *run = calloc(1, sizeof(*run));
	int r;

	if (!run) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a run");
	}
	run->options = *options;
	run->epoll = run->timer = run->sandbox = run->proc = run->sockets = run->value = -1;
	run->assignment = run->go = run->channel = -1;
	run->cell = (struct cell){
		.groups = options->groups,
		.pidfd = -1,
		.control = -1,
		.control_inside = -1,
		.stdio = { -1, -1, -1 },
		.root = -1,
		.names = -1,
		.note = { -1, -1 },
		.go = { -1, -1 },
		.assignment_fd = -1,
		.value_fd = -1,
		.channel_fd = -1,
	};
	run->names = (struct run_names){ .fd = -1 };
	run->gate = (struct run_gate){ .line = -1, .pidfd = -1, .any = options->gate != NULL };
	if (options->gate) {
		run->gate.line = TAKE_FD(options->gate->line);
		run->gate.pidfd = TAKE_FD(options->gate->pidfd);
	}
	run->out[0].fd = run->out[1].fd = run->in.fd = -1;
	run->driver = (struct run_driver){ .assignment = { .fd = -1 },
					   .ready = -1,
					   .inside = { -1, -1 } };
	run->denials = (struct denials){ .listener = -1,
					 .filter = options->filter,
					 .watch = options->watch,
					 .monitor = options->monitor,
					 .spec = options->spec };
	run_note_begin(run);
	run->watch =
		(struct watch){ .spec = options->spec, .sandbox = -1, .proc = -1, .sockets = -1 };
	run->result = calloc(1, sizeof(*run->result));
	r = run->result ? id_make(run->cell.id) : -ENOMEM;
	memcpy(run->id, run->cell.id, sizeof(run->id));
	if (r == 0) {
		r = plan_make(options->spec, &run->plan, err);
		if (r < 0) {
			run_free(run);
			return r;
		}
		run->cell.plan = &run->plan;
		if (options->spec->valued && !options->spec->held) {
			r = run_give_value(run, options);
			run->cell.value_fd = run->value;
		}
	}
	if (r == 0 && options->spec->held) {
		r = make_order(run);
	}
	if (r == 0) {
		r = make_stdio(run);
	}
	if (r == 0) {
		r = make_control(run);
	}
	if (r == 0) {
		r = make_loop(run);
	}
	if (r == 0) {
		r = run_driver_make(run);
	}
	if (r == 0) {
		r = run_gate_listen(run);
	}
	if (r == 0) {
		r = make_timing(run);
	}
	if (r < 0) {
		run_free(run);
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot prepare the run");
	}
	*ret = run;
	return 0;
}

int run_launch(struct run *run, pid_t pid, int pidfd, struct brig_error *err)
{
	run->cell.pid = pid;
	run->cell.pidfd = pidfd;
	run->cell.foreign = pid != 0;
	watch_start(&run->watch, clock_now_ns());
	int r = cell_execute(&run->cell, ACTOR_WARDEN);
	run_driver_launched(run);
	if (r < 0) {
		return explain_failure(run, r, err);
	}
	run->watch.group = run->cell.group;
	r = run_listen(run, run->cell.pidfd, RUN_EVENT_INIT, EPOLLIN);
	if (r == 0) {
		r = run_arm(run);
	}
	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot watch the cell");
	}
	/* A held cell's input comes with its order. */
	if (!run->options.spec->held) {
		feed_pump(&run->in);
	}
	return 0;
}

int run_start(const struct run_options *options, struct run **ret, struct brig_error *err)
{
	struct run *run = NULL;
	int r = run_begin(options, &run, err);

	if (r < 0 || !run) {
		return r;
	}
	r = run_launch(run, 0, -1, err);
	if (r < 0) {
		run_free(run);
		return r;
	}
	*ret = run;
	return 0;
}
