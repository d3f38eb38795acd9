/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets: made here, or handed over by systemd. */
#ifndef BRIG_SERVE_LISTEN_H
#define BRIG_SERVE_LISTEN_H

#include <sys/types.h>

#include "serve/config.h"

#define LISTENERS_MAX 16

struct listen_socket {
	int fd;      /* owned */
	char *place; /* owned; "unix:/path" or "127.0.0.1:8080", the port as it really is */
	/* Of a socket file that we have made, so that we remove no other. */
	char *path; /* owned; or NULL */
	dev_t device;
	ino_t inode;
};

struct listeners {
	struct listen_socket items[LISTENERS_MAX];
	unsigned count;
	bool tls; /* TCP was encrypted at the start */
};

/* By $LISTEN_FDS if it is for us, else as the configuration says. */
int listeners_open(struct listeners *listeners, const struct serve_config *config,
		   struct brig_error *err);
/* The addresses of a configuration alone: could they be listened on? Nothing is opened. */
int listen_check_places(const struct serve_config *config, struct brig_error *err);
/* May they stay what they are with another configuration? */
int listeners_check(const struct listeners *listeners, const struct serve_config *config,
		    struct brig_error *err);
/* Socket files of ours go as well. */
void listeners_done(struct listeners *listeners);
#endif
