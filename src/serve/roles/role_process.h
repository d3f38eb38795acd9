/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of the roles' main functions. */
#ifndef BRIG_SERVE_ROLE_PROCESS_H
#define BRIG_SERVE_ROLE_PROCESS_H

#include "http_tls/endpoint.h"
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
	/* The front: installs new tokens, or -errno, and the old ones stay. */
	int (*tokens)(void *user, int block);
	/* The same for the certificate of new connections. */
	int (*certificate)(void *user, int block);
	void *user;          /* of all three */
	bool own_root;       /* the warden: it is no longer the host's root */
	bool lost_peer;      /* ended because another role did */
	unsigned open_files; /* the limit after sealing */
	bool draining;       /* all roles are ending: a peer that has already ended is no error */
};

/*
 * Gives up the privileges of the role's table; then the role's own function runs. Each: 0 or -errno
 * with the error.
 */
int role_seal(struct role_process *process, int directory, unsigned open_files,
	      struct brig_error *err);
int role_front(struct role_process *process, struct brig_error *err);
/* The same with TLS, for the program that has OpenSSL. NULL: TCP is in clear. */
struct front_tls {
	int (*make)(const struct endpoint_texts *texts, struct endpoint **ret,
		    struct brig_error *err);
	int (*renew)(struct endpoint *endpoint, const struct endpoint_texts *texts,
		     struct brig_error *err);
	const struct http_transport *(*transport)(const struct endpoint *endpoint);
	void (*free)(struct endpoint *endpoint);
};
int role_front_with(const struct front_tls *tls, struct role_process *process,
		    struct brig_error *err);
int role_warden(struct role_process *process, struct brig_error *err);
int role_ledger(struct role_process *process, struct brig_error *err);

typedef int (*role_main)(struct role_process *process, struct brig_error *err);
/*
 * The whole life of a role of this program, NULL for those of another one: the exit status. -1: the
 * command line is not a role's.
 */
int role_process_main(int argc, char **argv, const role_main mains[ROLE_COUNT]);

/*
 * The role is ready: reports it to the supervisor and runs the loop until the supervisor sends
 * CONTROL_QUIT. `drain` (or NULL) is the front's: it accepts no new requests, and calls
 * role_drained() at the end.
 */
int role_run(struct role_process *process, void (*drain)(void *user), void *user,
	     struct brig_error *err);
void role_drained(void *user);
/* Reports to the supervisor that the operator has decided about a held queue. */
void role_queue_released(void *user);
/*
 * Called when a peer has closed its line or violated the protocol. The role cannot work without it,
 * and ends.
 */
void role_peer_gone(void *user, const char *why);
#endif
