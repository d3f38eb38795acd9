/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's parts: what it may be asked, and what it holds meanwhile. */
#ifndef BRIG_BROKER_BROKER_H
#define BRIG_BROKER_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/cgroup/cgroup.h"

enum broker_phase {
	PHASE_NEW,    /* nothing was asked yet */
	PHASE_MAPPED, /* the warden is in its namespace */
	PHASE_COUNT,
};

struct broker_state {
	enum broker_phase phase;
	uid_t warden_id;               /* whom the warden becomes */
	pid_t supervisor;              /* whose child the warden must be */
	struct cgroup_manager *groups; /* owned; NULL: none */
	bool delegated;                /* a group was made for the warden */
};

/* One request, as the kernel and the warden have it: who asks is the kernel's word. */
struct broker_request {
	uint32_t kind; /* enum broker_kind */
	pid_t pid;
	int fd; /* what came along, or -1; stays the caller's */
};

/*
 * What to answer: 0 or more, or -errno, with a descriptor in `ret_fd` or -1. -EPROTO: not to be
 * asked like this, or not now; whoever asks is no longer ours.
 */
int broker_handle(struct broker_state *state, const struct broker_request *request, int *ret_fd);
/* Whatever was made for the warden goes. Bounded; what is still busy then is left to the next. */
void broker_state_done(struct broker_state *state);

/* The next request. 1; 0: the other end has gone; -errno: it broke the rules. */
int broker_request_read(int line, struct broker_request *ret);
int broker_request_reply(int line, uint32_t kind, int result, int fd);
#endif
