/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a provider whose cells are in a holder: see held.h. */
#include "holder/held.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/fdpass.h"
#include "kernel/landlock.h"
#include "kernel/sys.h"
#include "run/network_advice.h"

#define PAGE_BYTES 4096u
/* A full pipe is read in as many turns: each takes half of the messages that are kept. */
#define LOG_TURNS  (2 * (64u << 10) / HELD_LOG_BYTES)
#define ALL_LAYERS (LAYER_BIT(LAYER_COUNT) - 1)

layer_set held_resolve(const struct cgroup_manager *groups, layer_set own, struct spec *spec)
{
	layer_set missing = ALL_LAYERS & ~own;

	spec->layers = ALL_LAYERS;
	missing |= LAYERS_CGROUP & ~cgroup_manager_layers(groups);
	spec->landlock_abi = landlock_abi();
	if (spec->landlock_abi == 0) {
		missing |= LAYER_BIT(LAYER_LANDLOCK);
	}
	if (geteuid() != 0) {
		missing |= LAYER_BIT(LAYER_UIDRANGE);
	}
	return missing;
}

int held_layer_of(const char *step)
{
	static const struct {
		const char *step;
		enum layer layer;
	} steps[] = { { "keyring", LAYER_KEYRING },   { "cgroup", LAYER_CGROUP_MEMORY },
		      { "overlay", LAYER_OVERLAY },   { "time", LAYER_TIMENS },
		      { "landlock", LAYER_LANDLOCK }, { "seccomp", LAYER_NOTIFY } };

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		if (strcmp(step, steps[i].step) == 0) {
			return (int)steps[i].layer;
		}
	}
	return -1;
}

/* --- the holder's messages -------------------------------------------------------------------- */

/* The agent writes them before the program begins. */
static uint64_t input_pages(const struct spec *spec)
{
	uint64_t pages = 0;

	for (size_t i = 0; i < spec->inputs_count; i++) {
		pages += (spec->inputs[i].size + PAGE_BYTES - 1) / PAGE_BYTES;
	}
	return pages;
}

int held_assign(struct run *run, const struct spec *spec)
{
	(void)spec; /* run->options has it */
	return agent_link_begin(&held_of(run)->link, run);
}

/* The tool is done; the agent may have been ready before. */
static bool begin(struct run *run)
{
	int r = held_ready(run);

	r = r == 1 ? agent_link_begin(&held_of(run)->link, run) : r;
	return r >= 0;
}

static bool take_message(struct run *run, const struct holder_message *message, int fds[HOLDER_FDS],
			 size_t count)
{
	struct held_cell *held = held_of(run);

	switch (message->kind) {
	case HOLDER_HANDLES:
		if (held->has_handles || count != HOLDER_FDS) {
			return false;
		}
		held->has_handles = true;
		held->identity = message->identity;
		held->proc = run->watch.proc = TAKE_FD(fds[1]);
		run->watch.init = held->pid;
		if (held->kind->own_kernel) {
			return begin(run);
		}
		run->sandbox = run->watch.sandbox = TAKE_FD(fds[0]);
		run->watch.disk_base_bytes =
			((uint64_t)message->blocks + input_pages(run->options.spec)) * PAGE_BYTES;
		run->watch.inodes_base = message->inodes + run->options.spec->inputs_count;
		/* Of two sockets, that of the agent may be read first. */
		return !held->kind->stays || begin(run);
	case HOLDER_TOOL:
		if (!held->has_handles || held->tool_done) {
			return false;
		}
		held->tool_done = true;
		if (held->kind->stays) {
			/* With its agent, whose last words count; or before there was one. */
			held->early = !held->link.assigned && !held->refused &&
				      (!held->kind->alone || message->value != 0);
			run->build_failed |= held->early;
			held->tool_status = held->early ? message->value : 0;
			return true;
		}
		held->tool_status = message->value;
		run->build_failed |= message->value != 0;
		return message->value != 0 || begin(run);
	case HOLDER_ENTERED:
		if (held->entry != HELD_ENTERING || message->value >= HOLDER_STEPS) {
			return false;
		}
		held->entry = HELD_ENTERED;
		held->build_step = (enum holder_step)message->value;
		held->build_errnum = message->errnum;
		return begin(run);
	case HOLDER_FAILED:
		if (held->tool_done || message->value >= HOLDER_STEPS) {
			return false;
		}
		held->build_step = (enum holder_step)message->value;
		held->build_errnum = message->errnum > 0 ? message->errnum : EIO;
		run->build_failed = true;
		return true;
	default:
		return false;
	}
}

/* 1: a message was handled; 0: there is none; -EPROTO. */
static int next_message(struct run *run)
{
	struct holder_message body;
	union {
		char bytes[CMSG_SPACE(sizeof(int) * HOLDER_FDS)];
		struct cmsghdr align;
	} control;
	struct iovec part = { .iov_base = &body, .iov_len = sizeof(body) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	int fds[HOLDER_FDS] = { -1, -1 };
	ssize_t n = recvmsg(held_of(run)->control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n <= 0) {
		return 0;
	}
	size_t count = fdpass_take(&message, fds, HOLDER_FDS);
	bool good = n == sizeof(body) && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
		    take_message(run, &body, fds, count);
	close_fd(&fds[0]);
	close_fd(&fds[1]);
	return good ? 1 : -EPROTO;
}

static int on_control(struct run *run)
{
	int r = next_message(run);

	if (r > 0) {
		return 0;
	}
	epoll_ctl(run->epoll, EPOLL_CTL_DEL, held_of(run)->control, NULL);
	if (r < 0) {
		run_end(run, ENDING_PROTOCOL);
	}
	return 0;
}

/*
 * A tool must not wait for its messages to be read. But once there is a program, more of them than
 * are kept may be the program's, without an end: of one that owns its agent or its machine.
 */
bool held_hears(const struct held_cell *held)
{
	bool full = held->messages_size == sizeof(held->messages) - 1;

	return held->log >= 0 && !(held->kind->emulated && held->tool_done) &&
	       !(full && held->link.phase != ASSIGN_NOTHING);
}

/* The tool's messages, of which the end is kept: it names the cause. False: there was none. */
static bool hear(struct run *run)
{
	struct held_cell *held = held_of(run);

	if (!held_hears(held)) {
		epoll_ctl(run->epoll, EPOLL_CTL_DEL, held->log, NULL);
		return false;
	}
	if (held->messages_size == sizeof(held->messages) - 1) {
		held->messages_size /= 2;
		memmove(held->messages,
			held->messages + sizeof(held->messages) - 1 - held->messages_size,
			held->messages_size);
	}
	ssize_t n = read(held->log, held->messages + held->messages_size,
			 sizeof(held->messages) - 1 - held->messages_size);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return false;
	}
	if (n <= 0) {
		epoll_ctl(run->epoll, EPOLL_CTL_DEL, held->log, NULL);
		close_fd(&held->log);
		return false;
	}
	held->messages_size += (size_t)n;
	held->messages[held->messages_size] = '\0';
	return true;
}

static int on_log(struct run *run)
{
	(void)hear(run);
	return 0;
}

static int on_end(struct run *run)
{
	struct held_cell *held = held_of(run);
	siginfo_t info = { 0 };
	struct rusage used = { 0 };
	int r = sys_result(syscall(SYS_waitid, P_PIDFD, held->pidfd, &info,
				   WEXITED | WNOHANG | __WALL, &used));

	if (r < 0 || info.si_pid == 0) {
		return r < 0 ? r : 0;
	}
	held->pid = 0;
	run_cell_gone(run);
	return 1;
}

/* The agent has said all, and brig has it: the end of the cell drops nothing on its way. */
static void release_agent(struct held_cell *held)
{
	if (held->kind->agent_stays && !held->released && held->link.reports.state == REPORT_OVER) {
		held->released = true;
		shutdown(held->link.fd, SHUT_WR);
	}
}

static int on_link(struct run *run, unsigned event)
{
	int r = agent_link_handle(&held_of(run)->link, run, event);

	release_agent(held_of(run));
	if (r == 0) {
		return 0;
	}
	/* The program did not begin, or its agent is not to be trusted. */
	if (held_of(run)->link.error) {
		run->build_failed = true;
		run->provider->kill(run);
	} else {
		run_end(run, ENDING_PROTOCOL);
	}
	return 0;
}

/* Before anything of the agent's is taken, the holder has said what it must. */
int held_handle(struct run *run, unsigned number)
{
	switch (number) {
	case HELD_EVENT_CONTROL:
		return on_control(run);
	case HELD_EVENT_END:
		return on_end(run);
	case HELD_EVENT_LOG:
		return on_log(run);
	case HELD_EVENT_CALLS:
		return held_on_calls(run);
	default:
		return on_link(run, number - HELD_EVENT_LINK);
	}
}

void held_mute(struct run *run)
{
	epoll_ctl(run->epoll, EPOLL_CTL_DEL, held_of(run)->control, NULL);
	epoll_ctl(run->epoll, EPOLL_CTL_DEL, held_of(run)->pidfd, NULL);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void kill_now(struct run *run)
{
	struct held_cell *held = held_of(run);

	if (held->group) {
		cgroup_kill(held->group);
	}
	/* The pid namespace dies with it. */
	if (held->pidfd >= 0) {
		sys_pidfd_send_signal(held->pidfd, SIGKILL);
	}
	if (held->group) {
		cgroup_hurry(held->group);
	}
}

void held_kill(struct run *run)
{
	/* The files are returned first. */
	if (!agent_link_finishing(&held_of(run)->link, run)) {
		kill_now(run);
	}
}

/* The tool has had its time; or calls have waited long enough. */
int held_alarm(struct run *run)
{
	struct held_cell *held = held_of(run);

	if (held->calls.paused) {
		return call_listener_resume(&held->calls);
	}
	if (!agent_link_has_begun(&held->link) && run->state < RUN_ENDING) {
		held->late = run->build_failed = true;
		held_kill(run);
	}
	return 0;
}

/* From its assignment on: until then only the tool could be asked, and its facts are dropped. */
bool held_has_program(const struct run *run)
{
	return agent_link_has_begun(&held_of(run)->link) && !run->facts.exited &&
	       run->state <= RUN_RUNNING;
}

int held_ask_to_end(struct run *run)
{
	struct held_cell *held = held_of(run);

	if (held->link.reports.state != REPORT_RUNNING || held->asked) {
		return 0; /* sent as soon as it has begun */
	}
	held->asked = true;
	return agent_link_signal(&held->link, run, SIGTERM);
}

int held_interrupt(struct run *run)
{
	return agent_link_signal(&held_of(run)->link, run, SIGINT);
}

int held_ended(struct run *run, struct brig_error *err)
{
	struct held_cell *held = held_of(run);

	while (next_message(run) > 0) {
	}
	for (unsigned turns = 0; held->log >= 0 && turns < LOG_TURNS && hear(run); turns++) {
	}
	agent_link_drain(&held->link, run);
	/* The time was up before there was a program: the tool's fault, not the program's. */
	if (run->facts.ending == ENDING_WALL && held->link.reports.state == REPORT_NEW) {
		held->late = true;
		return held_build_error(held, err);
	}
	return run->facts.ending == ENDING_NONE ? held_build_error(held, err) : 0;
}

void held_report(struct run *run)
{
	call_listener_report(&held_of(run)->calls);
}

void held_advise(struct run *run)
{
	const struct spec *spec = run->options.spec;

	if (!spec->gate_ports_count && (spec->layers & LAYER_BIT(LAYER_NETNS))) {
		network_advice(NULL, run->out[1].tail, run->result);
	}
}

static void reap_now(struct run *run)
{
	struct held_cell *held = held_of(run);
	struct pollfd dead = { .fd = held->pidfd, .events = POLLIN };
	siginfo_t info;

	if (held->pidfd < 0 || held->pid == 0) {
		return;
	}
	kill_now(run);
	if (poll(&dead, 1, (int)(RUN_KILL_PATIENCE_NS / 1000000u)) > 0) {
		syscall(SYS_waitid, P_PIDFD, held->pidfd, &info, WEXITED | __WALL, NULL);
	}
}

void held_close(struct run *run)
{
	struct held_cell *held = held_of(run);

	reap_now(run);
	run->watch.group = NULL;
	run->end_fd = -1;
	cgroup_free(held->group);
	agent_link_close(&held->link);
	denials_done(&held->calls.denials);
	close_fd(&held->pidfd);
	close_fd(&held->control);
	close_fd(&held->proc);
	close_fd(&held->sockets);
	close_fd(&held->log);
	close_fd(&held->gate);
	buf_done(&held->bundle);
	strlist_done(&held->arguments);
	for (size_t i = 0; i < held->files.count; i++) {
		close_fd(&held->files.fds[i]);
	}
	free(held->refused);
	plan_done(&held->plan);
	free(held);
	run->cell = NULL;
}

void held_nothing(struct run *run)
{
	(void)run;
}
