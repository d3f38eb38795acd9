/* SPDX-License-Identifier: Apache-2.0 */
/* Sealed files in memory: see memfile.h. */
#include "base/files/memfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/write_all.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

int memfile_seal(int fd)
{
	int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

	return fcntl(fd, F_ADD_SEALS, seals) < 0 ? -errno : 0;
}

int memfile_open(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL) { /* before 6.3 */
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	}
	return fd < 0 ? -errno : fd;
}

/* Owns the descriptor. */
static int fill(int made, const void *data, size_t size)
{
	_cleanup_close_ int fd = made;
	int r = write_all(fd, data, size);

	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0) {
		r = -errno;
	}
	r = r < 0 ? r : memfile_seal(fd);
	return r < 0 ? r : TAKE_FD(fd);
}

int memfile_make(const char *name, const void *data, size_t size)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 ? -errno : fill(fd, data, size);
}

/* From Linux 6.3 on, a host may require the flag for files that are executed, or forbid them. */
int memfile_program(const char *name, const void *image, size_t size)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create(name, flags | MFD_EXEC);

	if (fd < 0 && errno == EINVAL) { /* an older kernel */
		fd = memfd_create(name, flags);
	}
	return fd < 0 ? -errno : fill(fd, image, size);
}
