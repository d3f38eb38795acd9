/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BRIG_LINK_STUBS_NO_NAMES_H
#define BRIG_LINK_STUBS_NO_NAMES_H

#include <netdb.h>

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *wanted,
		       struct addrinfo **ret);
void __wrap_freeaddrinfo(struct addrinfo *list);
struct hostent *__wrap_gethostbyname(const char *host);
#endif
