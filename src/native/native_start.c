/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares and launches a native cell. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "native/native_internal.h"

/* The program may open /dev/stdout and the like anew: for that it must own the pipe. */
static int give_stdio(struct run *run)
{
	struct native_cell *native = native_of(run);
	const struct spec *spec = run->options.spec;

	for (int i = 0; i < 3 && spec->ranged; i++) {
		if (fchown(native->cell.stdio[i], spec->first_id + 1, spec->first_id + 1) < 0) {
			return -errno;
		}
	}
	return 0;
}

/* For a cell that a session may take: a socket made here does not belong to the cell's network. */
static int make_channel(struct run *run)
{
	struct native_cell *native = native_of(run);
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		return -errno;
	}
	native->channel = ends[0];
	native->cell.channel_fd = ends[1];
	return 0;
}

/* The descriptors for the assignment of a cell made ahead. */
static int make_assignment(struct run *run)
{
	struct native_cell *native = native_of(run);
	int r = run_pipe(&native->go, &native->cell.go[0], false);

	if (r < 0) {
		return r;
	}
	native->assignment = native->cell.assignment_fd = assignment_open();
	if (native->assignment < 0) {
		return native->assignment;
	}
	/* Other cells call exec, and the interpreter would get these descriptors. */
	if (spec_traits(run->options.spec)->executes) {
		return 0;
	}
	r = run_make_value(&run->value);
	if (r < 0) {
		return r;
	}
	native->cell.value_fd = run->value;
	return make_channel(run);
}

static int make_control(struct run *run)
{
	struct native_cell *native = native_of(run);
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		return -errno;
	}
	native->cell.control = ends[0];
	native->cell.control_inside = ends[1];
	return 0;
}

static int make_timing(struct run *run)
{
	struct native_cell *native = native_of(run);
	if (!run->options.measure) {
		return 0;
	}
	void *page = mmap(NULL, sizeof(uint64_t) * PLAN_STEPS_MAX, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED) {
		return -errno;
	}
	native->took_ns = page;
	native->cell.took_ns = page;
	return 0;
}

static struct native_cell *cell_new(struct run *run)
{
	const struct run_options *options = &run->options;
	struct native_cell *native = calloc(1, sizeof(*native));

	if (!native) {
		return NULL;
	}
	native->proc = native->sockets = native->assignment = native->go = native->channel = -1;
	native->cell = (struct cell){
		.groups = options->groups,
		.name = run->cell_name,
		.pidfd = -1,
		.control = -1,
		.control_inside = -1,
		.stdio = { -1, -1, -1 },
		.terminal = run->out[0].terminal,
		.root = -1,
		.names = -1,
		.report_pipe = { -1, -1 },
		.go = { -1, -1 },
		.assignment_fd = -1,
		.value_fd = run->value,
		.channel_fd = -1,
		.init_image = -1,
	};
	native->names = (struct native_names){ .fd = -1 };
	native->driver = (struct native_driver){ .assignment = { .fd = -1 },
						 .ready = -1,
						 .inside = { -1, -1 } };
	call_listener_init(&native->calls, run, NATIVE_EVENT_DENIAL);
	return native;
}

static int make_parts(struct run *run)
{
	struct native_cell *native = native_of(run);
	int r = spec_traits(run->options.spec)->held ? make_assignment(run) : 0;
	if (r < 0) {
		return r;
	}
	for (int i = 0; i < 3; i++) {
		native->cell.stdio[i] = TAKE_FD(run->inside[i]);
	}
	r = give_stdio(run);
	if (r < 0) {
		return r;
	}
	r = make_control(run);
	if (r < 0) {
		return r;
	}
	r = native_listen(run, native->cell.control, NATIVE_EVENT_CONTROL, EPOLLIN);
	if (r < 0) {
		return r;
	}
	r = native_driver_make(run);
	return r < 0 ? r : make_timing(run);
}

int native_open(struct run *run, struct brig_error *err)
{
	struct native_cell *native = cell_new(run);

	run->cell = native;
	if (!native) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a cell");
	}
	int r = plan_make(run->options.spec, &native->plan, err);
	if (r < 0) {
		return r;
	}
	native->cell.plan = &native->plan;
	r = make_parts(run);
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "cannot prepare the run") : 0;
}

void native_build_failed(struct run *run, unsigned step, int errnum)
{
	struct native_cell *native = native_of(run);

	native->build_step = step;
	native->build_errnum = errnum;
	run->build_failed = true;
}

static int explain_failure(struct run *run, int r, struct brig_error *err)
{
	struct native_cell *native = native_of(run);

	/*
	 * The warden's steps also fail when the cell has given up: then the cell's reason is
	 * reported.
	 */
	native_last_messages(run);
	if (!native->build_errnum) {
		native_build_failed(run, native->cell.failed, -r);
	}
	return native_build_error(&native->plan.steps[native->build_step], native->build_errnum,
				  err);
}

void native_cloned(struct run *run, pid_t pid, int pidfd)
{
	struct native_cell *native = native_of(run);

	native->cell.pid = pid;
	native->cell.pidfd = pidfd;
	native->cell.foreign = true;
}

int native_launch(struct run *run, struct brig_error *err)
{
	struct native_cell *native = native_of(run);
	int r = cell_execute(&native->cell, ACTOR_WARDEN);

	native_driver_launched(run);
	run->end_fd = native->cell.pidfd;
	if (r < 0) {
		return explain_failure(run, r, err);
	}
	run->watch.group = native->cell.group;
	r = native_listen(run, native->cell.pidfd, NATIVE_EVENT_INIT, EPOLLIN);
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "cannot watch the cell") : 0;
}
