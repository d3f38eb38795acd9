/* SPDX-License-Identifier: Apache-2.0 */
/* Writes until everything is written. */
#ifndef BRIG_BASE_WRITE_ALL_H
#define BRIG_BASE_WRITE_ALL_H

#include <stddef.h>

/* 0 or -errno; for blocking descriptors, and files. Async-signal-safe. */
int write_all(int fd, const void *data, size_t size);
#endif
