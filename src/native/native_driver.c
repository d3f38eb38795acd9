/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell whose interpreter was started ahead. A driver, our own script, waits in it: no code of a
 * tenant has run in the cell before its assignment. There are two pipes. One carries the assignment
 * to the driver; on the other the driver reports, by one byte each, that it waits and that the
 * program begins. It closes both before the program's first instruction. Any other byte, or a
 * missing one, counts as a cell that could not be built: the request is started cold.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/invariant.h"
#include "native/messages/assignment.h"
#include "native/native_internal.h"

enum { DRIVER_IS_READY = 'r', DRIVER_BEGINS = 'b' };

static const uint32_t driver_edges[DRIVER_STATES] = {
	[DRIVER_NONE] = STATE_BIT(DRIVER_STARTING),
	[DRIVER_STARTING] = STATE_BIT(DRIVER_WAITING),
	[DRIVER_WAITING] = STATE_BIT(DRIVER_ASSIGNED),
	[DRIVER_ASSIGNED] = STATE_BIT(DRIVER_DONE),
	[DRIVER_DONE] = 0,
};

void native_driver_enter(struct native_driver *driver, enum driver_state state)
{
	invariant(state_allows(driver_edges, driver->state, state));
	driver->state = state;
}

/* Moves the driver's end above all numbers in use, until it gets its own number at exec. */
static int lift_fd(int *fd)
{
	int high = fcntl(*fd, F_DUPFD_CLOEXEC, DRIVER_FDS_END);

	if (high < 0) {
		return -errno;
	}
	close(*fd);
	*fd = high;
	return 0;
}

static struct step *find_channel(struct plan *plan, int number)
{
	for (unsigned i = 0; i < plan->count; i++) {
		if (plan->steps[i].kind == STEP_CHANNEL &&
		    plan->steps[i].channel.number == number) {
			return &plan->steps[i];
		}
	}
	return NULL;
}

static int make_channel(struct run *run, int number, int *ours, int *theirs, bool we_read)
{
	struct native_cell *native = native_of(run);
	struct step *step = find_channel(&native->plan, number);

	if (!step) {
		return -EINVAL;
	}
	int r = run_pipe(ours, theirs, we_read);
	if (r < 0) {
		return r;
	}
	r = lift_fd(theirs);
	if (r < 0) {
		return r;
	}
	step->channel.fd = *theirs;
	return 0;
}

int native_driver_make(struct run *run)
{
	struct native_cell *native = native_of(run);
	struct native_driver *driver = &native->driver;
	int assignment = -1;

	if (!spec_traits(run->options.spec)->has_channels) {
		return 0;
	}
	native_driver_enter(driver, DRIVER_STARTING);
	int r = make_channel(run, DRIVER_ASSIGNMENT_FD, &assignment, &driver->inside[0], false);
	feed_init(&driver->assignment, assignment, NULL, 0, true); /* owns it, also on failure */
	if (r < 0) {
		return r;
	}
	r = make_channel(run, DRIVER_READY_FD, &driver->ready, &driver->inside[1], true);
	if (r < 0) {
		return r;
	}
	/* Edge-triggered: as for standard input. */
	r = native_listen(run, assignment, NATIVE_EVENT_ASSIGNMENT, EPOLLOUT | EPOLLET);
	if (r < 0) {
		return r;
	}
	return native_listen(run, driver->ready, NATIVE_EVENT_DRIVER, EPOLLIN);
}

void native_driver_launched(struct run *run)
{
	struct native_cell *native = native_of(run);
	close_fd(&native->driver.inside[0]);
	close_fd(&native->driver.inside[1]);
}

static void close_ready(struct run *run)
{
	struct native_cell *native = native_of(run);
	if (native->driver.ready >= 0) {
		/*
		 * Removed explicitly: a copy in a process that the host forked would keep it in the
		 * set.
		 */
		epoll_ctl(run->epoll, EPOLL_CTL_DEL, native->driver.ready, NULL);
		close_fd(&native->driver.ready);
	}
}

/* As when exec fails: no code of the program was executed. */
static void fail_start(struct run *run)
{
	struct native_cell *native = native_of(run);
	unsigned step = 0;

	for (unsigned i = 0; i < native->plan.count; i++) {
		step = native->plan.steps[i].kind == STEP_EXEC ? i : step;
	}
	native_build_failed(run, step, EPIPE);
}

/* The driver's last byte may still be in the pipe when its death is already known. */
void native_driver_last_report(struct run *run)
{
	struct native_cell *native = native_of(run);
	char bytes[2];

	if (native->driver.state != DRIVER_ASSIGNED || native->driver.ready < 0) {
		return;
	}
	bool begun =
		read(native->driver.ready, bytes, sizeof(bytes)) == 1 && bytes[0] == DRIVER_BEGINS;
	close_ready(run);
	native_driver_enter(&native->driver, DRIVER_DONE);
	if (!begun && native->build_errnum == 0) {
		fail_start(run);
	}
}

static int take_report(struct run *run, char report)
{
	struct native_cell *native = native_of(run);
	struct native_driver *driver = &native->driver;

	if (driver->state == DRIVER_STARTING && report == DRIVER_IS_READY) {
		native_driver_enter(driver, DRIVER_WAITING);
		return run_held(run);
	}
	if (driver->state == DRIVER_ASSIGNED && report == DRIVER_BEGINS) {
		close_ready(run);
		native_driver_enter(driver, DRIVER_DONE);
		run_enter(run, RUN_RUNNING);
		run_begun(run);
		return 0;
	}
	return -EPROTO;
}

int native_on_driver(struct run *run)
{
	struct native_cell *native = native_of(run);
	struct native_driver *driver = &native->driver;
	char bytes[2];

	if (driver->ready < 0) {
		return 0;
	}
	ssize_t n = read(driver->ready, bytes, sizeof(bytes));
	if (n < 0) {
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	}
	if (run->state >= RUN_ENDING) {
		close_ready(run);
		return 0;
	}
	int r = n == 1 ? take_report(run, bytes[0]) : -EPROTO;
	if (r != -EPROTO) {
		return r;
	}
	close_ready(run);
	if (driver->state == DRIVER_ASSIGNED) {
		native_driver_enter(driver, DRIVER_DONE);
		fail_start(run);
		native_kill(run);
	} else {
		run_end(run, ENDING_PROTOCOL);
	}
	return 0;
}

int native_on_assignment(struct run *run)
{
	struct native_cell *native = native_of(run);
	if (native->driver.state == DRIVER_ASSIGNED) {
		feed_pump(&native->driver.assignment);
	}
	return 0;
}

/* The driver writes the files under the program's limits. */
static bool files_fit(const struct spec *spec)
{
	for (size_t i = 0; i < spec->inputs_count; i++) {
		if (spec->inputs[i].size > spec->limits.file_bytes) {
			return false;
		}
	}
	return true;
}

int native_driver_assign(struct run *run, const struct spec *spec)
{
	struct native_cell *native = native_of(run);
	struct feed *feed = &native->driver.assignment;

	if (native->driver.state != DRIVER_WAITING) {
		return -ESTALE;
	}
	int r = files_fit(spec) ? assignment_pack(spec, &feed->data, &feed->size) : -E2BIG;
	if (r < 0) {
		return r;
	}
	native_driver_enter(&native->driver, DRIVER_ASSIGNED);
	feed->open = false;
	feed_pump(feed);
	return 0;
}

void native_driver_done(struct native_cell *native)
{
	close_fd(&native->driver.ready);
	close_fd(&native->driver.inside[0]);
	close_fd(&native->driver.inside[1]);
	feed_done(&native->driver.assignment);
}
