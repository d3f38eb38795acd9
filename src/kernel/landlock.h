/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: rules for files; signals and abstract sockets scoped, as far as the kernel's ABI
 * allows.
 */
#ifndef BRIG_KERNEL_LANDLOCK_H
#define BRIG_KERNEL_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>

struct landlock_place {
	const char *path;
	bool writable; /* else read and execute only */
	bool device;   /* writes to existing files, no new ones */
};

/* 0: the kernel has none, or it is disabled. */
int landlock_abi(void);
/* Restricts the calling thread and its children permanently. Async-signal-safe. 0 or -errno. */
int landlock_enforce(int abi, const struct landlock_place *places, size_t count);
#endif
