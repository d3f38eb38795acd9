/* SPDX-License-Identifier: Apache-2.0 */
/* TLS to a service; blocking, as the rest of service_link.h. */
#ifndef BRIG_CLI_SERVICE_SERVICE_TLS_H
#define BRIG_CLI_SERVICE_SERVICE_TLS_H

#include <sys/types.h>

#include "base/error.h"

struct service_tls;

/*
 * Shakes hands over a connected socket, which remains the caller's. The service must prove to be
 * `name`, by an authority of $BRIG_CA or of this host. `where` is for the messages.
 */
int service_tls_open(int fd, const char *name, const char *where, struct service_tls **ret,
		     struct brig_error *err);
/* NULL does nothing. */
void service_tls_close(struct service_tls *tls);
/* Both: bytes, or -EPROTO; 0: the service has ended its side. */
ssize_t service_tls_send(struct service_tls *tls, const char *data, size_t size);
ssize_t service_tls_receive(struct service_tls *tls, char *data, size_t size);
#endif
