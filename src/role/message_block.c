/* SPDX-License-Identifier: Apache-2.0 */
/* Data that is too long for a record is sent in memory files: see message.h. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/memfile.h"
#include "base/files/write_all.h"
#include "kernel/sys.h"
#include "role/message.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

int message_block_open(size_t size)
{
	_cleanup_close_ int fd = memfile_open("brig");

	if (fd < 0) {
		return fd;
	}
	return ftruncate(fd, (off_t)size) < 0 ? -errno : TAKE_FD(fd);
}

int message_block_make(const void *data, size_t size)
{
	_cleanup_close_ int fd = message_block_open(0);
	if (fd < 0) {
		return fd;
	}
	int r = write_all(fd, data, size);
	r = r < 0 ? r : memfile_seal(fd);
	return r < 0 ? r : TAKE_FD(fd);
}

/* Sealed, so that it cannot change after it was checked, and reading it cannot fault. */
int message_block_map(int fd, size_t max, void **ret, size_t *ret_size)
{
	struct stat info;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & (SEALS & ~F_SEAL_SEAL)) != (SEALS & ~F_SEAL_SEAL) ||
	    fstat(fd, &info) < 0 || info.st_size < 0 || (uint64_t)info.st_size > max) {
		return -EPROTO;
	}
	*ret_size = (size_t)info.st_size;
	*ret = NULL;
	if (info.st_size == 0) {
		return 0;
	}
	void *data = mmap(NULL, *ret_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED) {
		return -errno;
	}
	*ret = data;
	return 0;
}

void message_block_unmap(void *data, size_t size)
{
	if (data) {
		munmap(data, size);
	}
}
