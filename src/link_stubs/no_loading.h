/* SPDX-License-Identifier: Apache-2.0 */
/* Replacements for the C library's loader in a static program: see no_loading.c. */
#ifndef BRIG_LINK_STUBS_NO_LOADING_H
#define BRIG_LINK_STUBS_NO_LOADING_H

void *__wrap_dlopen(const char *file, int mode);
void *__wrap_dlsym(void *handle, const char *name);
int __wrap_dlclose(void *handle);
const char *__wrap_dlerror(void);
#endif
