/* SPDX-License-Identifier: Apache-2.0 */
/* What the roles' main functions have in common. */
#ifndef BRIG_SERVE_ROLE_PROCESS_H
#define BRIG_SERVE_ROLE_PROCESS_H

#include "loop/loop.h"
#include "role/control.h"
#include "role/seal.h"
#include "serve/config.h"

#define TOKENS_BYTES_MAX (1 << 20) /* of the operator's list of tokens */

struct role_process {
	enum role_name role;
	struct serve_config config;
	struct loop *loop;
	struct loop_source *control;
	void (*drain)(void *user);
	/* The front's: other tokens hold from now on, or -errno and the old ones stay. */
	int (*tokens)(void *user, int block);
	/* The same for the certificate of new connections. */
	int (*certificate)(void *user, int block);
	void *user;          /* of all three */
	bool own_root;       /* the warden: no longer the host's root */
	bool lost_peer;      /* ended because another role did */
	unsigned open_files; /* that it may have, since it is sealed */
	bool draining;       /* all are to end: one that has ended already is no loss */
};

/* Gives up what the role's table says; then runs its parts. Each: 0 or -errno with the error. */
int role_seal(struct role_process *process, int directory, unsigned open_files,
	      struct brig_error *err);
int role_front(struct role_process *process, struct brig_error *err);
int role_warden(struct role_process *process, struct brig_error *err);
int role_ledger(struct role_process *process, struct brig_error *err);

/*
 * All parts are there: says so and turns the loop until the supervisor has said "quit". `drain` (or
 * NULL) is the front's: take nothing new, then call role_drained().
 */
int role_run(struct role_process *process, void (*drain)(void *user), void *user,
	     struct brig_error *err);
void role_drained(void *user);
/* Tells the supervisor that the operator has decided about a held queue. */
void role_queue_released(void *user);
/* For the parts: a peer has left, or has broken a rule. Without it there is nothing to do. */
void role_peer_gone(void *user, const char *why);
#endif
