/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection to a service: unix:PATH or PATH, http://HOST[:PORT], https://HOST[:PORT]. Blocking,
 * for commands with a single request.
 */
#ifndef BRIG_CLI_SERVICE_SERVICE_LINK_H
#define BRIG_CLI_SERVICE_SERVICE_LINK_H

#include <sys/types.h>

#include "base/error.h"
#include "serve/tls/tls_program.h"

struct service_link {
	int fd;               /* owned */
	struct tls_child tls; /* owned; all zero: no TLS. Its line is what we talk to then */
	char host[256];       /* for the Host header */
	bool remote;          /* by TCP: needs a token */
	bool exposed;         /* without TLS, to another host: no token may be sent */
};

/* `where` NULL: $BRIG_URL, $BRIG_SOCKET, or the default location. */
int service_link_open(const char *where, struct service_link *ret, struct brig_error *err);
void service_link_close(struct service_link *link);
int service_link_send(struct service_link *link, const char *data, size_t size,
		      struct brig_error *err);
/* Bytes, 0 at the end, or -errno. */
ssize_t service_link_receive(struct service_link *link, char *data, size_t size);
#endif
