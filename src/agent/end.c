/* SPDX-License-Identifier: Apache-2.0 */
/* The ends: of the program, of all others, and of the agent itself. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"

/* As pid 1 of a namespace its end kills the rest; elsewhere the program's group is all it knows. */
static void kill_rest(const struct agent *agent)
{
	if (getpid() == 1) {
		kill(-1, SIGKILL);
	} else if (agent->program > 0) {
		kill(-agent->program, SIGKILL);
	}
}

_Noreturn void agent_leave(const struct agent *agent)
{
	kill_rest(agent);
	_exit(0);
}

_Noreturn void agent_finish(const struct agent *agent)
{
	struct pollfd stream = { .fd = agent->in, .events = POLLIN };
	char dropped[512];

	kill_rest(agent);
	while (agent->stays && (poll(&stream, 1, -1) >= 0 || errno == EINTR)) {
		ssize_t n = read(agent->in, dropped, sizeof(dropped));
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
			break;
		}
	}
	agent_leave(agent);
}

static uint64_t time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

static void program_ended(struct agent *agent, const siginfo_t *info)
{
	struct rusage used = { 0 };

	getrusage(RUSAGE_CHILDREN, &used);
	uint64_t cpu_ns = time_ns(&used.ru_utime) + time_ns(&used.ru_stime);
	agent->end = (struct frame_exit){
		.code = (uint32_t)info->si_code,
		.status = (uint32_t)info->si_status,
		.cpu_ns = cpu_ns > agent->spent_ns ? cpu_ns - agent->spent_ns : 0,
		.memory_peak_bytes = (uint64_t)used.ru_maxrss * 1024u,
	};
	agent->state = AGENT_DRAINING;
	kill_rest(agent);
}

void agent_reap(struct agent *agent)
{
	struct signalfd_siginfo drain;

	while (read(agent->signals, &drain, sizeof(drain)) > 0) {
	}
	for (;;) {
		siginfo_t info = { 0 };
		int r = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL);
		if (r < 0 && errno == EINTR) {
			continue;
		}
		if (r < 0 || info.si_pid == 0) {
			agent->alone = r < 0;
			return;
		}
		if (info.si_pid == agent->program && agent->state == AGENT_RUNNING) {
			program_ended(agent, &info);
		} else if (info.si_pid == agent->program && agent->state < AGENT_RUNNING) {
			agent_fail(agent, FRAME_STEP_WAIT, ECHILD); /* there is no request yet */
		}
	}
}
