/* SPDX-License-Identifier: Apache-2.0 */
/* The native provider: see provider.h. */
#include "native/native_internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/landlock.h"
#include "kernel/sys.h"
#include "run/network_advice.h"

/* More than the end of a parked cell takes. */
#define PARKED_END_NS 20000000u

layer_set native_resolve(const struct cgroup_manager *groups, struct spec *spec)
{
	layer_set missing = LAYERS_CGROUP & ~cgroup_manager_layers(groups);

	spec->layers = NATIVE_LAYERS;
	spec->landlock_abi = landlock_abi();
	if (spec->landlock_abi == 0) {
		missing |= LAYER_BIT(LAYER_LANDLOCK);
	}
	if (geteuid() != 0) {
		missing |= LAYER_BIT(LAYER_UIDRANGE);
	}
	return missing;
}

static const struct {
	enum step_kind step;
	enum layer layer;
} step_layers[] = {
	{ STEP_OVERLAY, LAYER_OVERLAY },      { STEP_TIME, LAYER_TIMENS },
	{ STEP_LANDLOCK, LAYER_LANDLOCK },    { STEP_SECCOMP, LAYER_NOTIFY },
	{ STEP_KEYRING, LAYER_KEYRING },      { STEP_CGROUPNS, LAYER_CGROUPNS },
	{ STEP_CGROUP, LAYER_CGROUP_MEMORY }, { STEP_JOIN, LAYER_CGROUP_MEMORY },
	{ STEP_GROUP, LAYER_CGROUP_MEMORY },  { STEP_ATTACH, LAYER_CGROUP_MEMORY },
};

int native_layer_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(step_layers); i++) {
		if (strcmp(step_table[step_layers[i].step].name, name) == 0) {
			return (int)step_layers[i].layer;
		}
	}
	return -1;
}

/* --- events ----------------------------------------------------------------------------------- */

int native_on_init(struct run *run)
{
	struct native_cell *native = native_of(run);
	siginfo_t info = { 0 };
	struct rusage used = { 0 };

	/*
	 * The raw call: glibc's waitid cannot return the usage of all processes that pid 1 has
	 * reaped.
	 */
	int r = sys_result(syscall(SYS_waitid, P_PIDFD, native->cell.pidfd, &info,
				   WEXITED | WNOHANG | __WALL, &used));
	if (r == -ECHILD && native->cell.foreign) {
		native->cell.pid = 0;
		run_cell_gone(run);
		return 1; /* its keeper waits for it; the readable fd shows that it ended */
	}
	if (r < 0) {
		return r;
	}
	if (info.si_pid == 0) {
		return 0;
	}
	uint64_t cpu_us = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000u +
			  (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
	run_take_cpu(run, cpu_us * 1000u);
	run_take_memory(run, (uint64_t)used.ru_maxrss * 1024u);
	native->cell.pid = 0;
	run_cell_gone(run);
	return 1;
}

static int (*const handlers[NATIVE_EVENTS])(struct run *) = {
	[NATIVE_EVENT_CONTROL] = native_on_control,
	[NATIVE_EVENT_INIT] = native_on_init,
	[NATIVE_EVENT_DENIAL] = native_on_denial,
	[NATIVE_EVENT_ASSIGNMENT] = native_on_assignment,
	[NATIVE_EVENT_DRIVER] = native_on_driver,
};

int native_on_event(struct run *run, unsigned number)
{
	return number < NATIVE_EVENTS ? handlers[number](run) : 0;
}

/* All descriptors of a cell after its start; -1: closed, or never opened. */
int native_listen_all(struct run *run)
{
	struct native_cell *native = native_of(run);
	const struct {
		int fd;
		enum native_event event;
		uint32_t events;
	} list[] = {
		{ native->cell.control, NATIVE_EVENT_CONTROL, EPOLLIN },
		{ native->cell.pidfd, NATIVE_EVENT_INIT, EPOLLIN },
		{ native->driver.assignment.fd, NATIVE_EVENT_ASSIGNMENT, EPOLLOUT | EPOLLET },
		{ native->driver.ready, NATIVE_EVENT_DRIVER, EPOLLIN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		int r = list[i].fd < 0
				? 0
				: native_listen(run, list[i].fd, list[i].event, list[i].events);
		if (r < 0) {
			return r;
		}
	}
	return call_listener_add(&native->calls);
}

void native_mute(struct run *run)
{
	const struct native_cell *native = native_of(run);

	epoll_ctl(run->epoll, EPOLL_CTL_DEL, native->cell.pidfd, NULL);
	epoll_ctl(run->epoll, EPOLL_CTL_DEL, native->cell.control, NULL);
}

/* --- rounds and results ----------------------------------------------------------------------- */

void native_take_options(struct run *run)
{
	call_listener_take_options(&native_of(run)->calls);
}

void native_next_round(struct run *run)
{
	struct native_cell *native = native_of(run);

	if (native->request == REQUEST_ANSWERED) {
		native_request_enter(native, REQUEST_NONE);
	}
	call_listener_next_round(&native->calls);
}

void native_rest(struct run *run)
{
	/* Where the group has all figures, /proc is not needed. */
	if (run->watch.counted) {
		run->watch.proc = -1;
		close_fd(&native_of(run)->proc);
	}
}

int native_ended(struct run *run, struct brig_error *err)
{
	struct native_cell *native = native_of(run);

	native_last_messages(run);
	native_driver_last_report(run);
	if (native->build_errnum && run->facts.ending == ENDING_NONE) {
		return native_build_error(&native->plan.steps[native->build_step],
					  native->build_errnum, err);
	}
	return 0;
}

void native_report(struct run *run)
{
	native_names_note(run);
	call_listener_report(&native_of(run)->calls);
}

void native_advise(struct run *run)
{
	const struct spec *spec = run->options.spec;

	if (!spec->gate_ports_count && (spec->layers & LAYER_BIT(LAYER_NETNS))) {
		network_advice(native_names_first(run->result),
			       run->out[run->out[0].terminal ? 0 : 1].tail, run->result);
	}
}

void native_release(struct run *run)
{
	if (run->life == CELL_PARKED) {
		native_kill_parked(run);
	}
}

int native_take_channel(struct run *run)
{
	return TAKE_FD(native_of(run)->channel);
}

/* --- the end ---------------------------------------------------------------------------------- */

/*
 * A parked cell has two processes that sleep, and little memory (native_done.c): their end takes a
 * few milliseconds. If it has not used half of its processor time for one period of a tenth of a
 * second, there is enough left.
 */
static bool can_die_at_once(const struct run *run)
{
	uint64_t quota_ns = run->options.spec->limits.cpu_millicores * 100000ull;

	return run->life == CELL_PARKED && quota_ns >= PARKED_END_NS &&
	       run->facts.cpu_ns * 2 <= quota_ns;
}

/*
 * SIGKILL to pid 1 kills the namespace (pid_namespaces(7)); the cgroup kills all at once where it
 * can.
 */
void native_kill(struct run *run)
{
	const struct cell *cell = &native_of(run)->cell;

	if (cell->group) {
		cgroup_kill(cell->group);
	}
	sys_pidfd_send_signal(cell->pidfd, SIGKILL);
	/* After the kill: earlier, the program itself would profit from it. */
	if (cell->group && !can_die_at_once(run)) {
		cgroup_hurry(cell->group);
	}
}

/* Kills the cell, and waits until the kernel has ended it. */
static void reap_now(struct run *run)
{
	const struct cell *cell = &native_of(run)->cell;
	struct pollfd dead = { .fd = cell->pidfd, .events = POLLIN };
	siginfo_t info;

	if (cell->pidfd < 0 || cell->pid == 0) {
		return;
	}
	native_kill(run);
	if (poll(&dead, 1, (int)(RUN_KILL_PATIENCE_NS / 1000000u)) > 0) {
		syscall(SYS_waitid, P_PIDFD, cell->pidfd, &info, WEXITED | __WALL, NULL);
	}
}

void native_close(struct run *run)
{
	struct native_cell *native = native_of(run);
	int *fds[] = { &native->cell.pidfd,
		       &native->cell.control,
		       &native->cell.control_inside,
		       &native->cell.stdio[0],
		       &native->cell.stdio[1],
		       &native->cell.stdio[2],
		       &native->cell.go[0],
		       &native->cell.channel_fd,
		       &native->proc,
		       &native->sockets,
		       &native->names.fd,
		       &native->assignment,
		       &native->go,
		       &native->channel };

	reap_now(run);
	denials_done(&native->calls.denials);
	run->watch.group = NULL;
	run->end_fd = -1;
	cgroup_free(native->cell.group);
	native_driver_done(native);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		close_fd(fds[i]);
	}
	if (native->took_ns) {
		munmap(native->took_ns, sizeof(uint64_t) * PLAN_STEPS_MAX);
	}
	plan_done(&native->plan);
	free(native);
	run->cell = NULL;
}

/* --- for those who make cells ahead, or show how they are built ------------------------------- */

int native_ask_clone(struct run *run, int template, int devices)
{
	struct native_cell *native = native_of(run);
	struct wire_record record = { .kind = WIRE_CLONE };
	int fds[WIRE_CLONE_FDS + 1] = {
		native->cell.control_inside,
		native->cell.stdio[0],
		native->cell.stdio[1],
		native->cell.stdio[2],
		native->cell.go[0],
		native->assignment,
		run->value,
		native->cell.channel_fd,
		devices,
	};

	return wire_send(template, &record, fds,
			 devices >= 0 ? WIRE_CLONE_FDS + 1 : WIRE_CLONE_FDS);
}

const struct provider native_provider = {
	NATIVE_PROVIDER,
	.name = "native",
	.about = "brig's own cell: namespaces, a system call filter, Landlock, control groups",
	/* All but one: the instructions of a processor cannot be limited. */
	.abilities = (ABILITY_BIT(ABILITY_COUNT) - 1) & ~ABILITY_BIT(ABILITY_INSTRUCTIONS),
	.own_processes = 1,
	.probe = native_probe,
	.report = native_report,
};
