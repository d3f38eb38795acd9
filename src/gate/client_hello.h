/* SPDX-License-Identifier: Apache-2.0 */
/* The start of a TLS connection: for whom is it? Pure. */
#ifndef BRIG_GATE_CLIENT_HELLO_H
#define BRIG_GATE_CLIENT_HELLO_H

#include "net/name.h"

/* Records of a ClientHello together; those of today have 2 KiB at most. */
#define HELLO_MAX 16384

/*
 * The server name that a ClientHello asks for, in its one spelling; "" when it has none; and how
 * many bytes it has, with its records, in which nothing else may be. 0; -EAGAIN: it goes on;
 * -EBADMSG: it is no ClientHello, or its name is no name of a host.
 */
int client_hello_parse(const unsigned char *data, size_t size, char ret[NET_NAME_MAX + 1],
		       size_t *ret_size);
/* The same of its extension "server_name" alone. 0 or -EBADMSG. */
int hello_name_parse(const unsigned char *data, size_t size, char ret[NET_NAME_MAX + 1]);
#endif
