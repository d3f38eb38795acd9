/* SPDX-License-Identifier: Apache-2.0 */
/* TLS to a service, by the program that has OpenSSL (serve/tls/tls_program.h). */
#ifndef BRIG_CLI_SERVICE_SERVICE_TLS_H
#define BRIG_CLI_SERVICE_SERVICE_TLS_H

#include "base/error.h"
#include "serve/tls/tls_program.h"

/*
 * Shakes hands over a connected socket, which remains the caller's; from then on the child's line
 * has the content in clear. The service must prove to be `name`, by an authority of $BRIG_CA or of
 * this host. `where` is for the messages. tls_child_end() tells whether the service ended its side,
 * or was cut off.
 */
int service_tls_open(int fd, const char *name, const char *where, struct tls_child *ret,
		     struct brig_error *err);
#endif
