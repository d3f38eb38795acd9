/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refused system calls, as the kernel's listener reports them. The call waits while we look, and is
 * answered with an errno of our own. "Continue" is said only to calls that the filter allows by
 * their registers and that somebody watches: kernel/filter/filter_watch.c. What a pointer points to
 * could change behind our back, so it never has a say.
 */
#ifndef BRIG_NATIVE_DENIALS_H
#define BRIG_NATIVE_DENIALS_H

#include "kernel/filter/filter.h"
#include "native/done.h"
#include "native/monitor.h"
#include "run/spec.h"

/*
 * After so many the listener is closed: the kernel then answers ENOSYS at once, at no cost to us.
 * Not where allowed calls are watched, which would fail with it: there each costs its turn of the
 * loop, one call each, and `denials_max` or the limits end the run.
 */
#define DENIALS_HEARD_MAX 20000
/*
 * So often sysinfo(2) is answered at once. Then whoever asks has to wait for its turn: it is not a
 * refusal that would end the run or close the listener, and must not cost us what it likes.
 */
#define SYSINFO_ANSWERS_MAX 1000
/* So often it is worth a look whether a program that says so is done. */
#define DONE_LOOKS_MAX 8

struct denials {
	int listener;                   /* owned; -1: none */
	const struct filter *filter;    /* borrowed */
	const struct spec *spec;        /* borrowed: what sysinfo(2) is told */
	const struct call_watch *watch; /* borrowed; NULL: nobody watches */
	const struct monitor *monitor;  /* borrowed; NULL: the policy watches nothing */
	/* Told of each call that is heard; must not end the run. */
	void (*noted)(void *user, const struct watched_call *call);
	void *noted_user;
	bool any;
	struct brig_denial first;
	const char *remedy; /* of the first, for the operator; NULL: allow it in the policy */
	unsigned heard;
	uint64_t watched;  /* calls that were told of, and not refused */
	unsigned answered; /* sysinfo: counted apart, so that it cannot use up the others */
	bool tired;        /* of answering it: the next one should wait */
	bool parks;        /* who says that it is done can be believed: see done.h */
	bool done;         /* a caller says that it is done, and sleeps... */
	int done_status;   /* ...with this exit status */
	uint64_t done_id;
	pid_t done_pid;
	unsigned done_count;
};

void denials_done(struct denials *denials);
/* Call when the listener is readable. False: it is of no more use; denials_done() it. */
bool denials_hear(struct denials *denials);
/* Who said `done` is still in that call. */
bool denials_is_asleep(const struct denials *denials);
/* It said `done`, but it has to end by itself. As above. */
bool denials_dismiss(struct denials *denials);
#endif
