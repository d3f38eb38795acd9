/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIG_SERVE_LISTEN_INTERNAL_H
#define BRIG_SERVE_LISTEN_INTERNAL_H

#include "serve/listen/listen.h"

#define LISTEN_BACKLOG 4096

/* One socket each, into a zeroed listener. */
int listen_unix(struct listen_socket *listener, const char *path, const struct serve_config *config,
		struct brig_error *err);
int listen_tcp(struct listen_socket *listener, const char *text, const struct serve_config *config,
	       struct brig_error *err);
/* A TCP socket that exists: may its address be listened on? Sets `place`. */
int listen_check(struct listen_socket *listener, const struct serve_config *config,
		 struct brig_error *err);
#endif
