/* SPDX-License-Identifier: Apache-2.0 */
/* The listener of a cell: see call_listener.h. */
#include "native/calls/call_listener.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "base/clock.h"

#define EXEC_SHOWN 100 /* bytes of the program's name */
/*
 * The pause between two answers to a program that calls sysinfo all the time: at most a hundred
 * turns of the loop a second.
 */
#define PAUSE_NS 10000000u

/* --- events of the run ------------------------------------------------------------------------ */

static void note_call(struct run *run, const struct watched_call *call, enum brig_event_kind kind,
		      const char *reason)
{
	char meaning[sizeof(((struct brig_denial *)0)->meaning)], path[WATCHED_PATH_MAX];

	syscall_describe(call->number, call->args, meaning, sizeof(meaning));
	if (kind == BRIG_EVENT_CALL_WATCHED && call->number == SYS_execve &&
	    watched_text(call, call->args[0], path, sizeof(path)) > 0) {
		snprintf(meaning, sizeof(meaning), "execve(%.*s, ...)", EXEC_SHOWN, path);
	}
	run_note_only(run, &(struct event){ .kind = kind,
					    .subject = meaning,
					    .subject_size = strlen(meaning),
					    .reason = reason });
}

static void note_watched(struct run *run, const struct monitor *monitor,
			 const struct watched_call *call)
{
	char path[WATCHED_PATH_MAX], reason[160];
	const char *pattern = monitor_file(monitor, call, path);

	if (pattern) {
		snprintf(reason, sizeof(reason), "monitor.files: %s", pattern);
		run_note_only(run, &(struct event){ .kind = BRIG_EVENT_FILE_WATCHED,
						    .subject = path,
						    .subject_size = strlen(path),
						    .reason = reason });
	}
	if (call_set_has(&monitor->calls, call->number)) {
		note_call(run, call, BRIG_EVENT_CALL_WATCHED,
			  call->decision.action == FILTER_ALLOW
				  ? "monitor.calls"
				  : "monitor.calls; the policy answers it with an error");
	}
}

/* The exec that starts the program is not an action of the program. */
static bool is_beginning(struct call_listener *calls, const struct watched_call *call)
{
	bool first = !calls->execed && spec_traits(calls->run->options.spec)->executes &&
		     call->number == SYS_execve;

	calls->execed |= first;
	return first;
}

static void on_call(void *user, const struct watched_call *call)
{
	struct call_listener *calls = user;
	const struct filter_rule *rule = call->decision.rule;
	const struct monitor *monitor = calls->denials.monitor;

	if (rule && rule->watch) {
		if (monitor && !is_beginning(calls, call)) {
			note_watched(calls->run, monitor, call);
		}
	} else if (call->number != SYS_sysinfo) { /* it is answered: see denials.c */
		note_call(calls->run, call, BRIG_EVENT_CALL_DENIED,
			  rule ? rule->reason : "not on the policy's list");
	}
}

/* --- its life --------------------------------------------------------------------------------- */

void call_listener_init(struct call_listener *calls, struct run *run, unsigned event)
{
	*calls = (struct call_listener){
		.run = run,
		.event = RUN_EVENT_CELL + event,
		.denials = { .listener = -1, .noted = on_call, .noted_user = calls },
	};
	call_listener_take_options(calls);
}

void call_listener_take_options(struct call_listener *calls)
{
	const struct run_options *options = &calls->run->options;

	calls->denials.spec = options->spec;
	calls->denials.filter = options->filter;
	calls->denials.watch = options->watch;
	calls->denials.monitor = options->monitor;
}

void call_listener_next_round(struct call_listener *calls)
{
	calls->denials.any = false;
	calls->denials.first = (struct brig_denial){ 0 };
	calls->denials.remedy = NULL;
	calls->denials.received = calls->denials.answered = 0;
}

void call_listener_report(const struct call_listener *calls)
{
	struct run *run = calls->run;

	run->result->denied = calls->denials.any;
	run->result->denial = calls->denials.first;
	run->facts.denial_remedy = calls->denials.remedy;
	filter_kill_calls(run->options.filter, run->facts.kill_calls,
			  sizeof(run->facts.kill_calls));
}

/* --- the run's set ---------------------------------------------------------------------------- */

int call_listener_add(struct call_listener *calls)
{
	return calls->denials.listener < 0 ? 0
					   : run_listen(calls->run, calls->denials.listener,
							calls->event, calls->paused ? 0 : EPOLLIN);
}

static int listen_for(struct call_listener *calls, uint32_t events)
{
	struct epoll_event want = { .events = events, .data = { .u32 = calls->event } };

	calls->paused = events == 0;
	return epoll_ctl(calls->run->epoll, EPOLL_CTL_MOD, calls->denials.listener, &want) < 0
		       ? -errno
		       : 0;
}

/* Calls that arrive meanwhile wait. */
static int stop_listening(struct call_listener *calls)
{
	calls->denials.pause_due = false;
	calls->run->cell_alarm_ns = clock_now_ns() + PAUSE_NS;
	int r = listen_for(calls, 0);
	return r < 0 ? r : run_arm(calls->run);
}

int call_listener_resume(struct call_listener *calls)
{
	calls->run->cell_alarm_ns = 0;
	return calls->denials.listener < 0 ? 0 : listen_for(calls, EPOLLIN);
}

int call_listener_settle(struct call_listener *calls, bool open)
{
	struct run *run = calls->run;

	if (!open) {
		/*
		 * Removed explicitly: brig-init may hold a copy, and then closing alone would not
		 * remove it.
		 */
		epoll_ctl(run->epoll, EPOLL_CTL_DEL, calls->denials.listener, NULL);
		denials_done(&calls->denials);
	}
	run_end_over(run);
	return open && calls->denials.pause_due && run->state < RUN_ENDING ? stop_listening(calls)
									   : 0;
}
