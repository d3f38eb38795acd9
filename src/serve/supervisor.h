/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the roles, connects them, and starts them again when one has died. It reads nothing that
 * comes from outside but its own configuration.
 */
#ifndef BRIG_SERVE_SUPERVISOR_H
#define BRIG_SERVE_SUPERVISOR_H

#include "serve/config.h"
#include "serve/listen.h"

struct serve_options {
	struct serve_config *config; /* places filled in; taken over */
	/* On SIGHUP: a whole new configuration. An error leaves the old one in force. */
	int (*reload)(void *user, struct serve_config *ret, struct brig_error *err);
	/* All roles are there for the first time. */
	void (*ready)(void *user, const struct listeners *listeners);
	void *user;
};

/* Until SIGTERM or SIGINT. 0, or -errno when it could not start or has given up. */
int serve(const struct serve_options *options, struct brig_error *err);

/* `brig-ROLE --role`, as the supervisor starts it: the exit status. -1: it is something else. */
int serve_role_main(int argc, char **argv);
#endif
