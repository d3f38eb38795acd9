/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite asks for these to load extensions, OpenSSL to load modules, which nobody here does. The
 * linker gives them ours (see mk/flags.mk), so that nothing could be loaded if someone tried.
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
	return "nothing is loaded here";
}
