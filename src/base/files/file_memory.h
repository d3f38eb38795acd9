/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers the last few files that were checked, so that a large one is not read for each run. */
#ifndef BRIG_BASE_FILES_FILE_MEMORY_H
#define BRIG_BASE_FILES_FILE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#define FILE_MEMORY_MAX 16

/* All zero: none is known. */
struct file_memory {
	struct known_file {
		dev_t device;
		ino_t inode;
		struct timespec modified;
	} files[FILE_MEMORY_MAX];
	size_t next; /* to be replaced */
};
bool file_memory_has(const struct file_memory *memory, const struct stat *info);
void file_memory_add(struct file_memory *memory, const struct stat *info);
#endif
