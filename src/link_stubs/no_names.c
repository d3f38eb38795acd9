/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtls and OpenSSL can be clients too, and would look up names for it, by libraries that a static
 * program has to load. Nobody here asks them to. The linker gives them ours (see mk/flags.mk).
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
