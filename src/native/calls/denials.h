/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refused system calls, as the kernel's listener reports them. The call waits while it is handled,
 * and is answered with an errno of our own. "Continue" is the answer only to calls that the filter
 * allows by their registers and that are watched: kernel/filter/filter_watch.c. Memory behind a
 * pointer can change at any time, so it decides nothing.
 */
#ifndef BRIG_NATIVE_CALLS_DENIALS_H
#define BRIG_NATIVE_CALLS_DENIALS_H

#include "kernel/filter/filter.h"
#include "native/calls/done_call.h"
#include "native/calls/monitor.h"
#include "run/spec/spec.h"

/*
 * After this many the listener is closed: the kernel then answers ENOSYS at once, at no cost to us.
 * It stays open where allowed calls are watched, which would fail without it: there each call costs
 * a turn of the loop, and `denials_max` or the limits end the run.
 */
#define DENIALS_RECEIVED_MAX 20000
/*
 * How often sysinfo(2) is answered at once. After that its callers have to wait: the call is no
 * refusal that would end the run or close the listener, so its cost must be bounded in another way.
 */
#define SYSINFO_ANSWERS_MAX 1000
/* How many reports of a program that it is done are checked. */
#define DONE_CHECKS_MAX 8

struct denials {
	int listener;                   /* owned; -1: none */
	const struct filter *filter;    /* borrowed */
	const struct spec *spec;        /* borrowed: for the answers to sysinfo(2) */
	const struct call_watch *watch; /* borrowed; NULL: calls are not watched */
	const struct monitor *monitor;  /* borrowed; NULL: the policy watches nothing */
	/* Called for each received call; must not end the run. */
	void (*noted)(void *user, const struct watched_call *call);
	void *noted_user;
	bool any;
	struct brig_denial first;
	const char *remedy; /* for the first, for the operator; NULL: allow it in the policy */
	unsigned received;
	uint64_t watched;  /* calls that were reported, and not refused */
	unsigned answered; /* sysinfo: counted separately, so that it cannot use up `received` */
	bool pause_due;    /* too many sysinfo calls: the next one should wait */
	bool parks;        /* a report of being done can be relied on: see done_call.h */
	bool done;         /* a caller has reported that it is done, and sleeps... */
	int done_status;   /* ...with this exit status */
	uint64_t done_id;
	pid_t done_pid;
	unsigned done_count;
};

void denials_done(struct denials *denials);
/* Call when the listener is readable. False: it cannot be used any more; call denials_done(). */
bool denials_receive(struct denials *denials);
/* The caller that reported `done` is still in that call. */
bool denials_is_asleep(const struct denials *denials);
/* The caller reported `done`, but has to end by itself. Returns as denials_receive(). */
bool denials_dismiss(struct denials *denials);
#endif
