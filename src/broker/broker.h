/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the broker: its requests and its state. */
#ifndef BRIG_BROKER_BROKER_H
#define BRIG_BROKER_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/cgroup/cgroup.h"

enum broker_phase {
	PHASE_NEW,    /* no request yet */
	PHASE_MAPPED, /* the warden is in its namespace */
	PHASE_COUNT,
};

struct broker_state {
	enum broker_phase phase;
	uid_t warden_id;               /* the id that the warden takes */
	pid_t supervisor;              /* the parent that the warden must have */
	struct cgroup_manager *groups; /* owned; NULL: none */
	bool delegated;                /* a group was made for the warden */
};

/* One request. The pid is set by the kernel (unix(7), SCM_CREDENTIALS), the rest by the warden. */
struct broker_request {
	uint32_t kind; /* enum broker_kind */
	pid_t pid;
	int fd; /* the descriptor that was sent, or -1; owned by the caller */
};

/*
 * The result: 0 or more, or -errno, with a descriptor in `ret_fd` or -1. -EPROTO: the request is
 * not valid, or not in this phase; its sender can no longer be trusted.
 */
int broker_handle(struct broker_state *state, const struct broker_request *request, int *ret_fd);
/*
 * Removes everything that was made for the warden. Bounded in time; the next start removes the
 * rest.
 */
void broker_state_done(struct broker_state *state);

/* The next request. 1; 0: the other end was closed; -errno: the protocol was violated. */
int broker_request_read(int line, struct broker_request *ret);
int broker_request_reply(int line, uint32_t kind, int result, int fd);
#endif
