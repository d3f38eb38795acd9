/* SPDX-License-Identifier: Apache-2.0 */
/* Records system calls that the listener reports as events of the run. */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "native/native_internal.h"

#define EXEC_SHOWN 100 /* bytes of the program's name */

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

static void note_watched(struct run *run, const struct watched_call *call)
{
	const struct monitor *monitor = native_of(run)->denials.monitor;
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
static bool is_beginning(struct run *run, const struct watched_call *call)
{
	struct native_cell *native = native_of(run);
	bool first = !native->execed && !run->options.spec->cloned && call->number == SYS_execve;

	native->execed |= first;
	return first;
}

static void on_call(void *user, const struct watched_call *call)
{
	struct run *run = user;
	const struct filter_rule *rule = call->decision.rule;
	bool monitored = native_of(run)->denials.monitor != NULL;

	if (rule && rule->watch) {
		if (monitored && !is_beginning(run, call)) {
			note_watched(run, call);
		}
	} else if (call->number != SYS_sysinfo) { /* it is answered: see denials.c */
		note_call(run, call, BRIG_EVENT_CALL_DENIED,
			  rule ? rule->reason : "not on the policy's list");
	}
}

void native_note_begin(struct run *run)
{
	struct native_cell *native = native_of(run);

	native->denials.noted = on_call;
	native->denials.noted_user = run;
}
