/* SPDX-License-Identifier: Apache-2.0 */
/* The local provider: see local.h. */
#include "local/local.h"

#include <errno.h>
#include <fcntl.h>
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
#include "kernel/probe/probe.h"
#include "kernel/process.h"
#include "kernel/sys.h"
#include "local/workdir.h"
#include "run/spec/group_limits.h"

/* How long the supervisor may take to kill the remaining processes, before it is killed itself. */
#define PATIENCE_NS 3000000000ull

enum local_event { LOCAL_EVENT_CONTROL, LOCAL_EVENT_END };

static struct local_cell *local_of(const struct run *run)
{
	return run->cell;
}

static layer_set resolve(const struct cgroup_manager *groups, struct spec *spec)
{
	spec->layers = cgroup_manager_layers(groups) & LAYERS_CGROUP;
	return 0;
}

/* --- the start -------------------------------------------------------------------------------- */

static int open_cell(struct run *run, struct brig_error *err)
{
	struct local_cell *local = calloc(1, sizeof(*local));

	run->cell = local;
	if (!local) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a run");
	}
	local->pidfd = local->control = -1;
	run->sandbox = open(run->options.spec->workdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (run->sandbox < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "%s", run->options.spec->workdir);
	}
	return workdir_fill(run->sandbox, run->options.spec->inputs,
			    run->options.spec->inputs_count, err);
}

static int make_group(struct run *run, struct local_start *start)
{
	struct local_cell *local = local_of(run);
	struct cgroup_limits limits = group_limits_of(run->options.spec);

	if (!(run->options.spec->layers & LAYERS_CGROUP)) {
		return 0;
	}
	int r = cgroup_new(run->options.groups, run->cell_name, &limits, &local->group, NULL);
	if (r < 0) {
		return r;
	}
	if (run->options.spec->join_by_write) {
		start->join_count = cgroup_join_fds(local->group, start->join);
		return start->join_count > 0 ? 0 : -EIO;
	}
	return 0;
}

static int clone_supervisor(struct run *run, struct local_start *start)
{
	struct local_cell *local = local_of(run);
	int group = local->group ? cgroup_clone_fd(local->group) : -1;
	sigset_t all, before;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		return -errno;
	}
	local->control = ends[0];
	start->control = ends[1];
	/* A handler of the host program must not run in the child. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	int pid = process_clone(0, group, &local->pidfd);
	if (pid == 0) {
		local_supervise(start);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	if (pid < 0) {
		local->pidfd = -1;
		return pid;
	}
	local->pid = pid;
	run->end_fd = local->pidfd;
	return 0;
}

static int send_command(struct run *run, char command)
{
	return send(local_of(run)->control, &command, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno
											  : 0;
}

static int listen_all(struct run *run)
{
	const struct local_cell *local = local_of(run);
	int r = run_listen(run, local->control, RUN_EVENT_CELL + LOCAL_EVENT_CONTROL, EPOLLIN);

	return r < 0 ? r : run_listen(run, local->pidfd, RUN_EVENT_CELL + LOCAL_EVENT_END, EPOLLIN);
}

static int start_all(struct run *run, struct local_start *start)
{
	struct local_cell *local = local_of(run);
	int r = make_group(run, start);

	r = r < 0 ? r : clone_supervisor(run, start);
	if (local->group && run->options.spec->join_by_write) {
		cgroup_join_done(local->group);
	}
	if (r == 0 && local->group && !run->options.spec->join_by_write) {
		r = cgroup_attach(local->group, local->pid, NULL);
	}
	r = r < 0 ? r : send_command(run, LOCAL_GO);
	run->watch.group = local->group;
	return r < 0 ? r : listen_all(run);
}

static int launch(struct run *run, struct brig_error *err)
{
	struct local_start start = {
		.spec = run->options.spec,
		.stdio = { run->inside[0], run->inside[1], run->inside[2] },
		.terminal = run->out[0].terminal,
	};
	int r = start_all(run, &start);

	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "cannot start a local run") : 0;
}

/* --- events ----------------------------------------------------------------------------------- */

/* By stage: the step, the error, the remedy. */
static const struct {
	const char *step, *message, *remedy;
} stages[LOCAL_STAGES] = {
	[LOCAL_GROUP] = { "cgroup", "cannot enter the control group", "see brig doctor" },
	[LOCAL_SPAWN] = { "spawn", "cannot start a process",
			  "raise ulimit -u, or run fewer programs at once" },
	[LOCAL_STDIO] = { "stdio", "cannot connect the streams", "raise ulimit -n" },
	[LOCAL_DIRECTORY] = { "workdir", "cannot enter the working directory",
			      "look at the directory that TMPDIR names" },
	[LOCAL_LIMITS] = { "rlimit", "cannot set the limits of a process",
			   "lower the limits of the policy" },
	[LOCAL_EXEC] = { "exec", "the program cannot be executed",
			 "name it by its full path, and chmod +x it" },
};

static int build_error(const struct local_cell *local, struct brig_error *err)
{
	enum local_stage stage = local->build_stage;
	bool input = stage == LOCAL_EXEC && local->build_errnum != ENOMEM;
	int r = error_errno(err, input ? BRIG_E_INPUT : BRIG_E_SYSTEM, local->build_errnum, "%s",
			    stages[stage].message);

	error_remedy(err, "%s", stages[stage].remedy);
	error_step(err, stages[stage].step);
	return r;
}

/* The messages allowed in each state, and the next state. */
static const struct {
	enum local_state from;
	enum local_kind kind;
	enum local_state to;
} rules[] = {
	{ LOCAL_STARTING, LOCAL_STARTED, LOCAL_RUNNING },
	{ LOCAL_STARTING, LOCAL_FAILED, LOCAL_ENDED },
	{ LOCAL_RUNNING, LOCAL_EXITED, LOCAL_ENDED },
};

static bool check_message(struct local_cell *local, const struct local_message *message)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].from == local->state && (uint32_t)rules[i].kind == message->kind) {
			local->state = rules[i].to;
			return true;
		}
	}
	return false;
}

static bool take_message(struct run *run, const struct local_message *message)
{
	struct local_cell *local = local_of(run);

	if ((message->kind == LOCAL_FAILED && message->stage >= LOCAL_STAGES) ||
	    !check_message(local, message)) {
		return false;
	}
	if (message->kind == LOCAL_STARTED) {
		if (run->state < RUN_RUNNING) {
			run_enter(run, RUN_RUNNING);
		}
		run_begun(run);
	} else if (message->kind == LOCAL_EXITED) {
		run_take_end(run, message->code, message->status, message->cpu_ns);
		run_look_last(run);
	} else {
		local->build_stage = message->stage;
		local->build_errnum = message->errnum > 0 ? message->errnum : EIO;
		run->build_failed = true;
	}
	return true;
}

/* 1: a message was handled; 0: there is none; -EPROTO: it is invalid, or out of order. */
static int next_message(struct run *run)
{
	struct local_message message;
	ssize_t n =
		recv(local_of(run)->control, &message, sizeof(message), MSG_DONTWAIT | MSG_TRUNC);

	if (n <= 0) {
		return 0;
	}
	return n == sizeof(message) && take_message(run, &message) ? 1 : -EPROTO;
}

static int on_control(struct run *run)
{
	int r = next_message(run);

	if (r > 0) {
		return 0;
	}
	epoll_ctl(run->epoll, EPOLL_CTL_DEL, local_of(run)->control, NULL);
	if (r < 0) {
		run_end(run, ENDING_PROTOCOL);
	}
	return 0;
}

static int on_end(struct run *run)
{
	struct local_cell *local = local_of(run);
	siginfo_t info = { 0 };
	struct rusage used = { 0 };
	int r = sys_result(syscall(SYS_waitid, P_PIDFD, local->pidfd, &info,
				   WEXITED | WNOHANG | __WALL, &used));

	if (r < 0 || info.si_pid == 0) {
		return r < 0 ? r : 0;
	}
	run_take_memory(run, (uint64_t)used.ru_maxrss * 1024u);
	local->pid = 0;
	run_cell_gone(run);
	return 1;
}

static int on_event(struct run *run, unsigned number)
{
	return number == LOCAL_EVENT_CONTROL ? on_control(run) : on_end(run);
}

static void mute(struct run *run)
{
	epoll_ctl(run->epoll, EPOLL_CTL_DEL, local_of(run)->control, NULL);
	epoll_ctl(run->epoll, EPOLL_CTL_DEL, local_of(run)->pidfd, NULL);
}

/* --- the end ---------------------------------------------------------------------------------- */

static bool has_program(const struct run *run)
{
	return !run->facts.exited && run->state <= RUN_RUNNING;
}

static int ask_to_end(struct run *run)
{
	struct local_cell *local = local_of(run);

	if (local->state != LOCAL_RUNNING || local->asked) {
		return 0; /* sent as soon as it has started */
	}
	local->asked = true;
	return send_command(run, LOCAL_TERM);
}

/* The supervisor kills all its descendants when the control socket closes. */
static void kill_all(struct run *run)
{
	struct local_cell *local = local_of(run);

	if (local->group) {
		cgroup_kill(local->group);
		cgroup_hurry(local->group);
	}
	if (local->control >= 0) {
		shutdown(local->control, SHUT_WR);
	}
}

static int ended(struct run *run, struct brig_error *err)
{
	struct local_cell *local = local_of(run);

	while (next_message(run) > 0) {
	}
	return local->build_errnum && run->facts.ending == ENDING_NONE ? build_error(local, err)
								       : 0;
}

static void reap_now(struct run *run)
{
	struct local_cell *local = local_of(run);
	struct pollfd dead = { .fd = local->pidfd, .events = POLLIN };
	siginfo_t info;

	if (local->pidfd < 0 || local->pid == 0) {
		return;
	}
	kill_all(run);
	if (poll(&dead, 1, (int)(PATIENCE_NS / 1000000u)) <= 0) {
		sys_pidfd_send_signal(local->pidfd, SIGKILL);
	}
	if (poll(&dead, 1, (int)(RUN_KILL_PATIENCE_NS / 1000000u)) > 0) {
		syscall(SYS_waitid, P_PIDFD, local->pidfd, &info, WEXITED | __WALL, NULL);
	}
}

static void close_cell(struct run *run)
{
	struct local_cell *local = local_of(run);

	reap_now(run);
	run->watch.group = NULL;
	run->end_fd = -1;
	cgroup_free(local->group);
	close_fd(&local->pidfd);
	close_fd(&local->control);
	free(local);
	run->cell = NULL;
}

static void do_nothing(struct run *run)
{
	(void)run;
}

static int no_alarm(struct run *run)
{
	(void)run;
	return 0;
}

static void probe(const struct probe_report *host, uint64_t deadline_ns, struct probe_finding *ret)
{
	(void)deadline_ns;
	probe_required_calls(host, ret);
}

const struct provider local_provider = {
	.name = "local",
	.about = "a process group with the caller's rights, for trusted code: there are no walls",
	.abilities = ABILITY_BIT(ABILITY_TERMINAL) | ABILITY_BIT(ABILITY_VENV),
	.layers = LAYERS_CGROUP,
	.own_processes = 1,
	.probe = probe,
	.resolve = resolve,
	.sweep = workdir_sweep,
	.explain = local_explain,
	.make_workdir = workdir_make,
	.remove_workdir = workdir_remove,
	.open = open_cell,
	.launch = launch,
	.event = on_event,
	.listen = listen_all,
	.mute = mute,
	.alarm = no_alarm,
	.has_program = has_program,
	.ask_to_end = ask_to_end,
	.kill = kill_all,
	.ended = ended,
	.report = do_nothing,
	.advise = do_nothing,
	.next_round = do_nothing,
	.rest = do_nothing,
	.take_options = do_nothing,
	.release = do_nothing,
	.close = close_cell,
};
