/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor. Theory of operation:
 *
 *   brig serve
 *     |  makes the listening sockets and the state directory's lock, then starts, as one set,
 *     |--- brig-front   the listening sockets; a line to the warden, a line to the ledger
 *     |--- brig-broker  as root: what needs root; a line to the warden
 *     |--- brig-warden  cells
 *     '--- brig-ledger  its directory
 *
 * Who dies when: a role that dies takes the set with it, because its peers have lost the state that
 * they shared; the set is started anew, and starting is recovering. Clients that come meanwhile
 * wait in the listening sockets' queues. When the supervisor dies, by whatever signal, the kernel
 * kills the roles (pdeathsig), and the warden's cells with it. The lock is free when the last has
 * gone.
 *
 * Privileges: it keeps those of whoever starts it, since the broker must have them; but it takes
 * no byte from anyone outside. From roles it takes single bytes, by a table.
 */
#include "serve/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "serve/notify.h"
#include "serve/reload.h"
#include "serve/role_set.h"

#define MS                UINT64_C(1000000)
#define SECOND            (1000 * MS)
#define START_NS          (60 * SECOND) /* for all roles to be ready */
#define GRACE_NS          (5 * SECOND)  /* from "quit" to SIGKILL */
#define QUICK_NS          (5 * SECOND)  /* a set that lived no longer has died at its start */
#define DELAY_NS          (25 * MS)     /* before the second start; then twice as long each time */
#define TICK_NS           (5 * SECOND)  /* how often roles are asked whether they are there */
#define STRANGERS_AT_ONCE 256
#define DOUBLINGS         20
#define TICK_LEAST_NS     (50 * MS)

enum phase {
	STARTING, /* not all roles are ready */
	RUNNING,
	DRAINING, /* the front answers what is under way */
	ENDING,   /* all were told to quit, or killed */
	RESTING,  /* no role is there; the next start is due */
};

struct supervisor {
	const struct serve_options *options;
	struct serve_config *config;
	struct listeners listeners;
	struct state state;
	struct buf tokens;
	struct reload reload;
	struct loop *loop;
	int signals; /* owned */
	struct loop_source *signals_source;
	struct role_set set;
	enum phase phase;
	struct loop_timer phase_timer, tick;
	uint64_t started_ns, tick_ns;
	unsigned quick; /* sets in a row that died at their start */
	bool stop;      /* when the set is gone, all is over */
	bool told;      /* `ready` was called */
	int result;
	struct brig_error *err;
};

static void start_set(struct supervisor *s);
static void on_reload(struct supervisor *s);
static void on_taken(struct supervisor *s, struct role_child *child);
static void on_refused(struct supervisor *s, struct role_child *child);

static void enter(struct supervisor *s, enum phase phase, uint64_t deadline_ns)
{
	s->phase = phase;
	loop_timer_clear(&s->phase_timer);
	if (deadline_ns) {
		/* Without memory for a timer there is no deadline; the phase itself goes on. */
		(void)loop_timer_set(s->loop, &s->phase_timer, clock_now_ns() + deadline_ns);
	}
}

static void end_set(struct supervisor *s)
{
	role_set_tell(&s->set, CONTROL_QUIT);
	enter(s, ENDING, GRACE_NS);
}

/* Nothing is left of the set. */
static void rest(struct supervisor *s, uint64_t delay_ns)
{
	if (s->stop) {
		loop_stop(s->loop);
		return;
	}
	enter(s, RESTING, delay_ns ? delay_ns : 1);
}

static uint64_t delay_after(const struct supervisor *s)
{
	unsigned doublings = s->quick < DOUBLINGS ? s->quick : DOUBLINGS;
	uint64_t delay = s->quick == 0 ? 0 : DELAY_NS << (doublings - 1);

	return delay < s->config->restart_delay_ns ? delay : s->config->restart_delay_ns;
}

static void give_up(struct supervisor *s)
{
	role_log(ROLE_ERROR, "gives-up", "starts=%u", s->quick);
	s->result = error_set(s->err, BRIG_E_SYSTEM, ECHILD,
			      "the service died %u times in a row at its start", s->quick);
	error_remedy(s->err, "the log has the reason of each; try: brig serve --log-level debug");
	s->stop = true;
}

/* The first death of a set that was not asked to end. */
static void count_death(struct supervisor *s)
{
	bool quick = clock_now_ns() - s->started_ns < QUICK_NS;

	s->quick = quick ? s->quick + 1 : 0;
	if (s->config->restarts && s->quick > s->config->restarts) {
		give_up(s);
	}
}

static void on_died(void *user, struct role_child *child, int status)
{
	struct supervisor *s = user;
	bool expected = s->phase == ENDING || (s->phase == DRAINING && s->stop);

	role_log(expected ? ROLE_INFO : ROLE_ERROR, "role-ended",
		 "which=%s pid=%d exit_status=%d signal=%d", role_name(child->role),
		 (int)child->pid, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		 WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	if (s->phase == STARTING || s->phase == RUNNING) {
		count_death(s);
	}
	if (s->reload.waits) { /* nobody is there to answer: the next front is asked */
		reload_drop(&s->reload);
		s->reload.again = true;
	}
	if (s->phase != ENDING) {
		end_set(s);
	}
	if (!role_set_alive(&s->set)) {
		rest(s, delay_after(s));
	}
}

static void become_ready(struct supervisor *s)
{
	enter(s, RUNNING, 0);
	role_log(ROLE_NOTICE, "ready", "after_ms=%lu",
		 (unsigned long)((clock_now_ns() - s->started_ns) / MS));
	notify_send("READY=1\nSTATUS=Serving");
	if (!s->told && s->options->ready) {
		s->told = true;
		s->options->ready(s->options->user, &s->listeners);
	}
	if (s->reload.again) {
		on_reload(s);
	}
}

static void on_ready(struct supervisor *s, struct role_child *child)
{
	child->ready = true;
	if (s->phase == STARTING && role_set_ready(&s->set)) {
		become_ready(s);
	}
}

static void on_here(struct supervisor *s, struct role_child *child)
{
	(void)s;
	child->asked_ns = 0;
}

static void on_drained(struct supervisor *s, struct role_child *child)
{
	(void)child;
	if (s->phase == DRAINING) {
		end_set(s);
	}
}

/* What may be said by whom; anything else is a role that is no longer ours. */
static const struct {
	char word;
	unsigned roles;
	void (*take)(struct supervisor *s, struct role_child *child);
} words[] = {
	{ CONTROL_READY, (1u << ROLE_COUNT) - 1, on_ready },
	{ CONTROL_HERE, (1u << ROLE_COUNT) - 1, on_here },
	{ CONTROL_DRAINED, 1u << ROLE_FRONT, on_drained },
	{ CONTROL_TAKEN, 1u << ROLE_FRONT, on_taken },
	{ CONTROL_REFUSED, 1u << ROLE_FRONT, on_refused },
};

static void on_word(void *user, struct role_child *child, char word)
{
	struct supervisor *s = user;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (words[i].word == word && (words[i].roles & (1u << child->role))) {
			words[i].take(s, child);
			return;
		}
	}
	role_log(ROLE_ERROR, "unknown-word", "which=%s word=%x", role_name(child->role),
		 (unsigned)(unsigned char)word);
	role_set_kill(&s->set);
}

/* --- starting ----------------------------------------------------------------------------- */

/* What no operator says. Sockets and the state directory stay what they are until the end. */
static void complete(struct supervisor *s, struct serve_config *config)
{
	struct brig_error error = { 0 };

	config->listeners = s->listeners.count;
	config->broker = role_set_brokered();
	if (config->broker && !config->cache_dir && !s->state.fleeting &&
	    state_cache(&s->state, seal_id(ROLE_WARDEN), &config->cache_dir, &error) < 0) {
		role_log(ROLE_WARNING, "no-cache", "cause=%s", error.message);
	}
}

static void start_set(struct supervisor *s)
{
	struct brig_error error = { 0 };
	struct role_parts parts = { s->config, &s->listeners, &s->state, &s->tokens };

	s->started_ns = clock_now_ns();
	complete(s, s->config);
	enter(s, STARTING, START_NS);
	if (role_set_start(&s->set, &parts, &error) < 0) {
		role_log(ROLE_ERROR, "start-failed", "cause=%s", error.message);
		count_death(s);
		rest(s, delay_after(s));
	}
}

/* --- signals, deadlines ------------------------------------------------------------------- */

static void drain(struct supervisor *s)
{
	if (s->phase == RUNNING) {
		role_set_tell(&s->set, CONTROL_DRAIN);
		enter(s, DRAINING, s->config->drain_ns);
	} else if (s->phase == STARTING) {
		end_set(s);
	} else if (s->phase == RESTING) {
		rest(s, 0);
	}
}

static void on_stop(struct supervisor *s)
{
	if (s->stop) { /* asked twice: now */
		role_set_kill(&s->set);
		if (s->phase != ENDING) {
			enter(s, ENDING, GRACE_NS);
		}
		return;
	}
	role_log(ROLE_NOTICE, "stopping", "drain_ms=%lu",
		 (unsigned long)(s->config->drain_ns / MS));
	notify_send("STOPPING=1\nSTATUS=Answering what is under way");
	s->stop = true;
	drain(s);
}

/* What was read is in force, and with more in it than tokens the roles begin anew. */
static void apply(struct supervisor *s)
{
	reload_take(&s->reload, s->config, &s->tokens);
	s->quick = 0;
	role_log_open("supervisor", (enum role_level)s->config->log_level);
	role_log(ROLE_NOTICE, "reloaded", "restart=%s", s->reload.restart ? "true" : "false");
	if (s->reload.restart) {
		drain(s);
	} else {
		notify_send("READY=1");
	}
}

static void refuse_reload(struct supervisor *s, const char *cause)
{
	role_log(ROLE_ERROR, "reload-refused", "cause=%s", cause);
	if (s->phase == RUNNING) {
		notify_send("READY=1");
	}
}

static void on_reload(struct supervisor *s)
{
	struct reload *reload = &s->reload;
	struct brig_error error = { 0 };
	char text[96];

	reload->again = reload->waits;
	if (s->stop || !s->options->reload || reload->waits) {
		return;
	}
	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%lu",
		 (unsigned long)(clock_now_ns() / 1000));
	notify_send(text);
	if (reload_read(reload, s->options, &s->listeners, &error) < 0) {
		refuse_reload(s, error.message);
		return;
	}
	complete(s, &reload->config);
	role_log(ROLE_NOTICE, "reloading", NULL);
	if (!reload_has_tokens(reload, s->config, &s->tokens) || s->phase != RUNNING) {
		reload->restart = true;
		apply(s);
	} else if (reload_offer(reload, &s->set.children[ROLE_FRONT], &error) < 0) {
		reload_drop(reload);
		refuse_reload(s, error.message);
	}
}

static void on_taken(struct supervisor *s, struct role_child *child)
{
	(void)child;
	if (s->reload.waits) {
		apply(s);
	}
	if (s->reload.again) {
		on_reload(s);
	}
}

static void on_refused(struct supervisor *s, struct role_child *child)
{
	(void)child;
	if (s->reload.waits) {
		reload_drop(&s->reload);
		refuse_reload(s, "the tokens are wrong; the front's line says where");
	}
	if (s->reload.again) {
		on_reload(s);
	}
}

static void on_signal(void *user, uint32_t events)
{
	struct supervisor *s = user;
	struct signalfd_siginfo info;

	(void)events;
	if (read(s->signals, &info, sizeof(info)) != sizeof(info)) {
		return;
	}
	if (info.ssi_signo == SIGHUP) {
		on_reload(s);
	} else {
		on_stop(s);
	}
}

static void on_deadline(void *user)
{
	struct supervisor *s = user;

	switch (s->phase) {
	case STARTING:
		role_log(ROLE_ERROR, "start-hangs", "after_ms=%lu", (unsigned long)(START_NS / MS));
		role_set_kill(&s->set);
		break;
	case DRAINING:
		role_log(ROLE_WARNING, "drain-cut", NULL);
		end_set(s);
		break;
	case ENDING:
		/* The broker removes the warden's group, when that is empty. */
		if (role_set_kill_but(&s->set, ROLE_BROKER)) {
			enter(s, ENDING, GRACE_NS);
		} else {
			role_set_kill(&s->set);
		}
		break;
	case RESTING:
		start_set(s);
		break;
	case RUNNING:
		break;
	}
}

/* As pid 1 of a container it inherits what others leave behind. Roles are waited for elsewhere. */
static void reap_strangers(struct supervisor *s)
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

/* Are they all there? A role that hangs is as good as dead, and is made so. */
static void on_tick(void *user)
{
	struct supervisor *s = user;
	uint64_t now = clock_now_ns();

	for (int i = 0; s->phase == RUNNING && i < ROLE_COUNT; i++) {
		struct role_child *child = &s->set.children[i];
		if (!child->asked_ns) {
			child->asked_ns = now;
			role_child_tell(child, CONTROL_ASK);
		} else if (s->config->answer_ns && now - child->asked_ns > s->config->answer_ns) {
			role_log(ROLE_ERROR, "role-hangs", "which=%s", role_name(child->role));
			role_set_kill(&s->set);
			break;
		}
	}
	reap_strangers(s);
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

/* 0 is no wish. */
static uint64_t shorter(uint64_t a_ns, uint64_t b_ns)
{
	uint64_t least = b_ns && b_ns < a_ns ? b_ns : a_ns;

	return least < TICK_LEAST_NS ? TICK_LEAST_NS : least;
}

static int set_up_loop(struct supervisor *s, struct brig_error *err)
{
	uint64_t watchdog = notify_watchdog_ns();
	struct rlimit no_core = { 1, 1 };
	int r = loop_new(&s->loop);

	setrlimit(RLIMIT_CORE, &no_core);
	r = r < 0 ? r : hear_signals(s);
	s->phase_timer = (struct loop_timer){ .due = on_deadline, .user = s };
	s->tick = (struct loop_timer){ .due = on_tick, .user = s };
	s->tick_ns = shorter(shorter(TICK_NS, watchdog / 2), s->config->answer_ns / 2);
	r = r < 0 ? r : loop_timer_set(s->loop, &s->tick, clock_now_ns() + s->tick_ns);
	s->set = (struct role_set){ .loop = s->loop, .word = on_word, .died = on_died, .user = s };
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "event loop") : 0;
}

static int open_all(struct supervisor *s, struct brig_error *err)
{
	int r = config_prepare(s->config, &s->tokens, err);

	/* The lock before the socket: who does not have it must not touch another's. */
	r = r < 0 ? r
		  : state_open(&s->state, s->config->dev ? NULL : s->config->state_dir,
			       seal_id(ROLE_LEDGER), err);
	if (r == 0 && s->config->listen.count == 0) { /* a trial: beside its state */
		r = strlist_addf(&s->config->listen, "unix:%s/brig.sock", s->state.path);
		r = r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "listen") : 0;
	}
	r = r < 0 ? r : listeners_open(&s->listeners, s->config, err);
	return r < 0 ? r : set_up_loop(s, err);
}

static void close_all(struct supervisor *s)
{
	loop_timer_clear(&s->tick);
	loop_timer_clear(&s->phase_timer);
	loop_remove(s->signals_source);
	close_fd(&s->signals);
	listeners_done(&s->listeners);
	state_done(&s->state);
	loop_free(s->loop);
	if (s->reload.waits) {
		reload_drop(&s->reload);
	}
	if (s->tokens.data) {
		explicit_bzero(s->tokens.data, s->tokens.size);
	}
	buf_done(&s->tokens);
}

static void log_places(const struct supervisor *s)
{
	for (unsigned i = 0; i < s->listeners.count; i++) {
		const char *place = s->listeners.items[i].place;
		role_log(ROLE_NOTICE, "listening", "place=%s", place);
		if (strncmp(place, "unix:", 5) != 0 && !s->config->tokens) {
			role_log(ROLE_WARNING, "no-tokens", "place=%s remedy=%s", place,
				 "nobody can come in by TCP without --tokens FILE");
		}
	}
}

int serve(const struct serve_options *options, struct brig_error *err)
{
	struct supervisor s = { .options = options,
				.config = options->config,
				.signals = -1,
				.state = { .dir = -1, .lock = -1, .ledger = -1 },
				.err = err };

	role_log_open("supervisor", (enum role_level)s.config->log_level);
	int r = open_all(&s, err);
	if (r == 0) {
		log_places(&s);
		start_set(&s);
		r = loop_run(s.loop);
		r = r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "event loop") : s.result;
		role_log(ROLE_NOTICE, "stopped", NULL);
	}
	close_all(&s);
	return r;
}
