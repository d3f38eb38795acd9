/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the address of a service as users write it, and connects to its host. */
#ifndef BRIG_CLI_SERVICE_SERVICE_NAME_H
#define BRIG_CLI_SERVICE_SERVICE_NAME_H

#include <stdbool.h>

#include "base/error.h"

struct service_name {
	enum { SERVICE_UNIX, SERVICE_TCP } kind;
	const char *path; /* of a socket; borrowed */
	bool tls;
	bool literal6;  /* the host is an IPv6 address */
	char host[200]; /* of TCP: a name or an address */
	char port[6];
};

int service_name_parse(const char *text, struct service_name *ret, struct brig_error *err);
/* A connected socket, or -errno. Names are resolved by the host's own getent. */
int service_name_connect(const struct service_name *name, struct brig_error *err);
#endif
