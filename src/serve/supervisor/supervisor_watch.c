/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's events: signals, and a tick at which the roles are pinged. */
#include "serve/supervisor/supervisor_internal.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/supervisor/notify.h"

#define TICK_NS           (5 * SECOND) /* interval of the pings */
#define TICK_LEAST_NS     (50 * MS)
#define STRANGERS_AT_ONCE 256

static void on_signal(void *user, uint32_t events)
{
	struct supervisor *s = user;
	struct signalfd_siginfo info;

	(void)events;
	if (read(s->signals, &info, sizeof(info)) != sizeof(info)) {
		return;
	}
	if (info.ssi_signo == SIGHUP) {
		supervisor_reload(s);
	} else {
		supervisor_stop(s);
	}
}

/* As pid 1 of a container it inherits orphaned processes. Roles are waited for elsewhere. */
static void reap_orphans(struct supervisor *s)
{
	for (int i = 0; getpid() == 1 && i < STRANGERS_AT_ONCE; i++) {
		siginfo_t info = { 0 };
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 ||
		    info.si_pid == 0) {
			return;
		}
		for (int k = 0; k < ROLE_COUNT; k++) {
			if (s->set.children[k].pid == info.si_pid) {
				return;
			}
		}
		waitpid(info.si_pid, NULL, WNOHANG | __WALL);
	}
}

/* Pings the roles. A role that hangs is killed. */
static void on_tick(void *user)
{
	struct supervisor *s = user;
	uint64_t now = clock_now_ns();

	for (int i = 0; s->phase == RUNNING && i < ROLE_COUNT; i++) {
		struct role_child *child = &s->set.children[i];
		if (!role_child_alive(child)) { /* not every set has all roles */
			continue;
		}
		if (!child->asked_ns) {
			child->asked_ns = now;
			role_child_send(child, CONTROL_PING);
		} else if (s->config->answer_ns && now - child->asked_ns > s->config->answer_ns) {
			role_log(ROLE_ERROR, "role-hangs", "which=%s", role_name(child->role));
			role_set_kill(&s->set);
			break;
		}
	}
	reap_orphans(s);
	notify_send("WATCHDOG=1");
	(void)loop_timer_set(s->loop, &s->tick, now + s->tick_ns);
}

static int hear_signals(struct supervisor *s)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0) {
		return -errno;
	}
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals < 0) {
		return -errno;
	}
	return loop_add(s->loop, s->signals, EPOLLIN, on_signal, s, &s->signals_source);
}

/* 0: not set. */
static uint64_t shorter(uint64_t a_ns, uint64_t b_ns)
{
	uint64_t least = b_ns && b_ns < a_ns ? b_ns : a_ns;

	return least < TICK_LEAST_NS ? TICK_LEAST_NS : least;
}

int supervisor_watch(struct supervisor *s, struct brig_error *err)
{
	uint64_t watchdog = notify_watchdog_ns();
	struct rlimit no_core = { 1, 1 };
	int r = loop_new(&s->loop);

	setrlimit(RLIMIT_CORE, &no_core);
	r = r < 0 ? r : hear_signals(s);
	s->phase_timer = (struct loop_timer){ .due = supervisor_deadline, .user = s };
	s->tick = (struct loop_timer){ .due = on_tick, .user = s };
	s->tick_ns = shorter(shorter(TICK_NS, watchdog / 2), s->config->answer_ns / 2);
	r = r < 0 ? r : loop_timer_set(s->loop, &s->tick, clock_now_ns() + s->tick_ns);
	s->set = (struct role_set){
		.loop = s->loop, .message = supervisor_message, .died = supervisor_died, .user = s
	};
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "event loop") : 0;
}
