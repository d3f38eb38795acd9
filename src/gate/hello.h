/* The start of a TLS connection: for whom is it? Pure. */
#ifndef BRIG_GATE_HELLO_H
#define BRIG_GATE_HELLO_H

#include "net/name.h"

/* Records of a ClientHello together; those of today have 2 KiB at most. */
#define HELLO_MAX 16384

/*
 * The server name that a ClientHello asks for, in its one spelling; "" when it has none. 0;
 * -EAGAIN: it goes on; -EBADMSG: it is no ClientHello, or its name is no name of a host.
 */
int hello_parse(const unsigned char *data, size_t size, char ret[NET_NAME_MAX + 1]);
#endif
