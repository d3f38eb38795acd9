/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a run: its streams, its epoll set, its cell. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
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

static int make_pipes(struct run *run, int *in)
{
	int r = run_pipe(in, &run->inside[0], false);
	if (r < 0) {
		return r;
	}
	r = run_pipe(&run->out[0].fd, &run->inside[1], true);
	if (r < 0) {
		return r;
	}
	return run_pipe(&run->out[1].fd, &run->inside[2], true);
}

/* All three are one terminal: all output comes from the first stream, and the second is empty. */
static int make_terminal(struct run *run, int *in)
{
	_cleanup_close_ int nobody = -1;
	int r = terminal_open(&run->options.terminal_size, &run->out[0].fd, &run->inside[0]);

	if (r < 0) {
		return r;
	}
	run->out[0].terminal = true;
	run->inside[1] = fcntl(run->inside[0], F_DUPFD_CLOEXEC, 0);
	run->inside[2] = fcntl(run->inside[0], F_DUPFD_CLOEXEC, 0);
	*in = fcntl(run->out[0].fd, F_DUPFD_CLOEXEC, 0);
	if (run->inside[1] < 0 || run->inside[2] < 0 || *in < 0) {
		return -errno;
	}
	return run_pipe(&run->out[1].fd, &nobody, true);
}

static int make_stdio(struct run *run)
{
	const struct run_options *options = &run->options;
	_cleanup_close_ int in = -1;
	int r = options->terminal ? make_terminal(run, &in) : make_pipes(run, &in);

	if (r < 0) {
		return r;
	}
	for (int i = 0; i < 2; i++) {
		run->out[i].number = i + 1;
	}
	run_take_output_options(run);
	return feed_init(&run->in, TAKE_FD(in), options->stdin_data, options->stdin_size,
			 options->stdin_feed);
}

static int make_loop(struct run *run)
{
	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	run->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (run->epoll < 0 || run->timer < 0) {
		return -errno;
	}
	const struct {
		int fd;
		enum run_event event;
		uint32_t events;
	} list[] = {
		{ run->timer, RUN_EVENT_TIMER, EPOLLIN },
		{ run->out[0].fd, RUN_EVENT_STDOUT, EPOLLIN },
		{ run->out[1].fd, RUN_EVENT_STDERR, EPOLLIN },
		/* Edge-triggered: only room in a pipe that was full is reported. */
		{ run->in.fd, RUN_EVENT_STDIN, EPOLLOUT | EPOLLET },
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		int r = run_listen(run, list[i].fd, list[i].event, list[i].events);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static struct run *run_new(const struct run_options *options)
{
	struct run *run = calloc(1, sizeof(*run));

	if (!run) {
		return NULL;
	}
	run->options = *options;
	run->provider = options->spec->provider;
	run->epoll = run->timer = run->sandbox = run->value = run->end_fd = -1;
	run->inside[0] = run->inside[1] = run->inside[2] = -1;
	run->out[0].fd = run->out[1].fd = run->in.fd = -1;
	run->gate = (struct run_gate){ .line = -1, .pidfd = -1, .any = options->gate != NULL };
	if (options->gate) {
		run->gate.line = TAKE_FD(options->gate->line);
		run->gate.pidfd = TAKE_FD(options->gate->pidfd);
	}
	run->watch = (struct limit_watch){
		.spec = options->spec, .sandbox = -1, .proc = -1, .sockets = -1
	};
	return run;
}

int run_take_id(struct run *run, const struct run_options *options)
{
	if (!options->id) {
		return id_make(run->id);
	}
	memcpy(run->id, options->id, sizeof(run->id));
	return 0;
}

static int take_names(struct run *run)
{
	const char *cell = TAKE_PTR(run->options.cell);
	int r = run_take_id(run, &run->options);

	snprintf(run->cell_name, sizeof(run->cell_name), "%s", cell ? cell : run->id);
	return r;
}

static int make_parts(struct run *run)
{
	int r = take_names(run);
	if (r < 0) {
		return r;
	}
	run->result = calloc(1, sizeof(*run->result));
	if (!run->result) {
		return -ENOMEM;
	}
	if (spec_traits(run->options.spec)->has_descriptor) {
		r = run_give_value(run, &run->options);
		if (r < 0) {
			return r;
		}
	}
	r = make_stdio(run);
	if (r < 0) {
		return r;
	}
	r = make_loop(run);
	return r < 0 ? r : run_gate_listen(run);
}

int run_begin(const struct run_options *options, struct run **ret, struct brig_error *err)
{
	struct run *run = run_new(options);

	if (!run) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a run");
	}
	int r = make_parts(run);
	r = r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "cannot prepare the run")
		  : run->provider->open(run, err);
	if (r < 0) {
		run_free(run);
		return r;
	}
	*ret = run;
	return 0;
}

int run_launch(struct run *run, struct brig_error *err)
{
	watch_start(&run->watch, clock_now_ns());
	int r = run->provider->launch(run, err);
	if (r < 0) {
		return r;
	}
	for (int i = 0; i < 3; i++) {
		close_fd(&run->inside[i]);
	}
	r = run_arm(run);
	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot watch the cell");
	}
	/* The input of a held cell comes with its assignment. */
	if (!spec_traits(run->options.spec)->held) {
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
	r = run_launch(run, err);
	if (r < 0) {
		run_free(run);
		return r;
	}
	*ret = run;
	return 0;
}
