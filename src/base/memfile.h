/* SPDX-License-Identifier: Apache-2.0 */
/* Files in memory that nobody can change any more. */
#ifndef BRIG_BASE_MEMFILE_H
#define BRIG_BASE_MEMFILE_H

#include <stddef.h>

/* Empty, to be filled and then sealed; nothing in it can be run. The descriptor, or -errno. */
int memfile_open(const char *name);
/* With these bytes, to be read from the beginning. The descriptor, or -errno. */
int memfile_make(const char *name, const void *data, size_t size);
/* What was checked stays what it is; and reading it cannot fault, since it cannot shrink. */
int memfile_seal(int fd);
#endif
