/* SPDX-License-Identifier: Apache-2.0 */
/* Immutable files in memory. */
#ifndef BRIG_BASE_MEMFILE_H
#define BRIG_BASE_MEMFILE_H

#include <stddef.h>

/* Empty, to be filled and then sealed; it cannot be executed. The descriptor, or -errno. */
int memfile_open(const char *name);
/* With these bytes, positioned at the beginning. The descriptor, or -errno. */
int memfile_make(const char *name, const void *data, size_t size);
/*
 * The same for a program that is embedded in this one, to be executed by its descriptor. -EACCES:
 * this host forbids that (vm.memfd_noexec=2).
 */
int memfile_program(const char *name, const void *image, size_t size);
/* Checked data cannot change any more; and reading it cannot fault, since it cannot shrink. */
int memfile_seal(int fd);
#endif
