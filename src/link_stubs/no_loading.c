/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite calls these functions to load extensions, OpenSSL to load modules. brig uses neither. The
 * linker replaces them (see mk/flags.mk), so that loading always fails.
 */
#include "link_stubs/no_loading.h"

#include <stddef.h>

void *__wrap_dlopen(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return NULL;
}

void *__wrap_dlsym(void *handle, const char *name)
{
	(void)handle;
	(void)name;
	return NULL;
}

int __wrap_dlclose(void *handle)
{
	(void)handle;
	return -1;
}

const char *__wrap_dlerror(void)
{
	return "loading is disabled";
}
