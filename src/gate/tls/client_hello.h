/* SPDX-License-Identifier: Apache-2.0 */
/* The start of a TLS connection: finds the host that it is for. Pure. */
#ifndef BRIG_GATE_CLIENT_HELLO_H
#define BRIG_GATE_CLIENT_HELLO_H

#include "net/name.h"

/* All records of a ClientHello together; those of today have 2 KiB at most. */
#define HELLO_MAX 16384

/*
 * Returns the server name of a ClientHello in its normal form ("" when it has none), and the size
 * of the ClientHello with its records, which may contain nothing else. 0; -EAGAIN: more must come;
 * -EBADMSG: not a ClientHello, or the name is not a valid host name.
 */
int client_hello_parse(const unsigned char *data, size_t size, char ret[NET_NAME_MAX + 1],
		       size_t *ret_size);
/* The same for the extension "server_name" alone. 0 or -EBADMSG. */
int hello_name_parse(const unsigned char *data, size_t size, char ret[NET_NAME_MAX + 1]);
#endif
