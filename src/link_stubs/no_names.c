/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenSSL's own sockets would look up names, and a static program would have to load libraries for
 * that. brig does not use these sockets. The linker replaces the functions (see mk/flags.mk).
 */
#include "link_stubs/no_names.h"

#include <stddef.h>

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *wanted,
		       struct addrinfo **ret)
{
	(void)host;
	(void)service;
	(void)wanted;
	*ret = NULL;
	return EAI_FAIL;
}

void __wrap_freeaddrinfo(struct addrinfo *list)
{
	(void)list;
}

struct hostent *__wrap_gethostbyname(const char *host)
{
	(void)host;
	return NULL;
}
