/* SPDX-License-Identifier: Apache-2.0 */
/* Names and numbers of system calls, from the kernel's headers at build time. */
#include <string.h>

#include "kernel/filter/filter.h"
#include "syscall_names.h"

int syscall_number(const char *name)
{
	unsigned hash = 0;

	for (const char *c = name; *c != '\0'; c++) {
		hash = SYSCALL_HASH_STEP(hash, (unsigned char)*c);
	}
	/* The table is less than half full: the next free slot is always near. */
	for (; syscall_hash[hash] != 0; hash = (hash + 1) % SYSCALL_HASH_SIZE) {
		unsigned number = syscall_hash[hash] - 1u;

		if (strcmp(name, syscall_text + syscall_offsets[number]) == 0) {
			return (int)number;
		}
	}
	return -1;
}

const char *syscall_name(unsigned number)
{
	if (number >= SYSCALL_NUMBERS_COUNT || syscall_offsets[number] == 0) {
		return NULL;
	}
	return syscall_text + syscall_offsets[number];
}
