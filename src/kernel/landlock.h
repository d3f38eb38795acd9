/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock: files by rule; signals and abstract sockets scoped, as far as the kernel's ABI goes. */
#ifndef BRIG_KERNEL_LANDLOCK_H
#define BRIG_KERNEL_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>

struct landlock_place {
	const char *path;
	bool writable; /* else read and execute only */
	bool device;   /* writes to what is there, nothing new */
};

/* 0: the kernel has none, or it is switched off. */
int landlock_abi(void);
/* Restricts the calling thread and its children for good. Async-signal-safe. 0 or -errno. */
int landlock_enforce(int abi, const struct landlock_place *places, size_t count);
#endif
