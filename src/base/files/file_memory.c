/* SPDX-License-Identifier: Apache-2.0 */
#include "base/files/file_memory.h"

bool file_memory_has(const struct file_memory *memory, const struct stat *info)
{
	for (size_t i = 0; i < FILE_MEMORY_MAX; i++) {
		const struct known_file *file = &memory->files[i];
		if (file->device == info->st_dev && file->inode == info->st_ino &&
		    file->modified.tv_sec == info->st_mtim.tv_sec &&
		    file->modified.tv_nsec == info->st_mtim.tv_nsec) {
			return true;
		}
	}
	return false;
}

void file_memory_add(struct file_memory *memory, const struct stat *info)
{
	memory->files[memory->next] = (struct known_file){
		.device = info->st_dev,
		.inode = info->st_ino,
		.modified = info->st_mtim,
	};
	memory->next = (memory->next + 1) % FILE_MEMORY_MAX;
}
