/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets: opened here, or passed by systemd. */
#ifndef BRIG_SERVE_LISTEN_H
#define BRIG_SERVE_LISTEN_H

#include <sys/types.h>

#include "serve/config.h"

#define LISTENERS_MAX 16

struct listen_socket {
	int fd;      /* owned */
	char *place; /* owned; "unix:/path" or "127.0.0.1:8080", with the actual port */
	/* Of a socket file that we have made, so that no other is removed. */
	char *path; /* owned; or NULL */
	dev_t device;
	ino_t inode;
};

struct listeners {
	struct listen_socket items[LISTENERS_MAX];
	unsigned count;
	bool tls; /* TCP was encrypted at the start */
};

/* From $LISTEN_FDS if it is for this process, else from the configuration. */
int listeners_open(struct listeners *listeners, const struct serve_config *config,
		   struct brig_error *err);
/* Checks whether the addresses of a configuration may be listened on. Opens nothing. */
int listen_check_places(const struct serve_config *config, struct brig_error *err);
/* May the sockets stay as they are with another configuration? */
int listeners_check(const struct listeners *listeners, const struct serve_config *config,
		    struct brig_error *err);
/* Also removes our socket files. */
void listeners_done(struct listeners *listeners);
#endif
