/* SPDX-License-Identifier: Apache-2.0 */
/* The set of roles: started together, connected to each other, ended together. */
#ifndef BRIG_SERVE_ROLE_SET_H
#define BRIG_SERVE_ROLE_SET_H

#include "base/invariant.h"
#include "loop/loop.h"
#include "role/control.h"
#include "role/seal.h"
#include "serve/config.h"
#include "serve/listen/listen.h"
#include "serve/supervisor/state.h"

struct role_set;

/* The life of a role in a set: role_child_enter() is the only function that changes it. */
enum role_child_state {
	CHILD_ABSENT, /* not started; not every set has all roles */
	CHILD_STARTING,
	CHILD_READY,
	CHILD_ENDED,
	CHILD_STATES
};

struct role_child {
	enum role_name role;
	enum role_child_state state;
	struct role_set *set;
	pid_t pid;
	int pidfd, control; /* owned */
	struct loop_source *death, *messages;
	uint64_t asked_ns; /* time of a ping without a reply; 0: none */
};

static inline bool role_child_alive(const struct role_child *child)
{
	return child->state == CHILD_STARTING || child->state == CHILD_READY;
}

struct role_set {
	struct loop *loop;
	struct role_child children[ROLE_COUNT];
	/* Called from the loop. */
	void (*message)(void *user, struct role_child *child, char message);
	void (*died)(void *user, struct role_child *child, int status); /* as in waitpid(2) */
	void *user;
};

/* Input for the roles; the caller owns all of it. */
struct role_parts {
	const struct serve_config *config;
	const struct listeners *listeners;
	const struct state *state;
	const struct buf *tokens; /* the file's text; empty: there are none */
};

/* Does the set have a broker? As root, if its program is built in. */
bool role_set_brokered(void);
/* All, or none. */
int role_set_start(struct role_set *set, const struct role_parts *parts, struct brig_error *err);
void role_child_enter(struct role_child *child, enum role_child_state state);
bool role_set_alive(const struct role_set *set); /* any */
bool role_set_ready(const struct role_set *set); /* all */
void role_child_send(struct role_child *child, enum control_message message);
/* Sends a message with a descriptor, which the caller still owns. 0 or -errno. */
int role_child_send_fd(struct role_child *child, enum control_message message, int fd);
void role_set_send(struct role_set *set, enum control_message message);
void role_set_kill(struct role_set *set);
bool role_set_kill_but(struct role_set *set, enum role_name last); /* true: there were others */
#endif
