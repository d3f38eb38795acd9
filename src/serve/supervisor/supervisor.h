/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the roles, connects them, and restarts them when one has died. Its configuration is the
 * only outside input that it reads.
 */
#ifndef BRIG_SERVE_SUPERVISOR_H
#define BRIG_SERVE_SUPERVISOR_H

#include "serve/config.h"
#include "serve/listen/listen.h"

struct serve_options {
	struct serve_config *config; /* paths filled in; ownership is transferred */
	/* On SIGHUP: reads a new configuration. After an error the old one stays in force. */
	int (*reload)(void *user, struct serve_config *ret, struct brig_error *err);
	/* All roles are ready for the first time. */
	void (*ready)(void *user, const struct listeners *listeners);
	void *user;
};

/* Until SIGTERM or SIGINT. 0, or -errno when it could not start or has given up. */
int serve(const struct serve_options *options, struct brig_error *err);

/* `brig-ROLE --role`, started by the supervisor: the exit status. -1: another command. */
int serve_role_main(int argc, char **argv);
#endif
