/* SPDX-License-Identifier: Apache-2.0 */
/* New entropy for the kernel's generator, for the root of a virtual machine. */
#ifndef BRIG_BASE_RESEED_H
#define BRIG_BASE_RESEED_H

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"

#define RESEED_BYTES_MAX 512u

/* Machines that were restored from one state have one generator, until this. 0 or -errno. */
static inline int reseed_kernel(const void *data, size_t size)
{
	union {
		struct rand_pool_info info;
		unsigned char bytes[sizeof(struct rand_pool_info) + RESEED_BYTES_MAX];
	} pool;
	_cleanup_close_ int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);

	if (fd < 0 || size > RESEED_BYTES_MAX) {
		return fd < 0 ? -errno : -E2BIG;
	}
	pool.info.entropy_count = (int)size * 8;
	pool.info.buf_size = (int)size;
	memcpy(pool.bytes + sizeof(pool.info), data, size);
	if (ioctl(fd, RNDADDENTROPY, &pool) < 0 || ioctl(fd, RNDRESEEDCRNG) < 0) {
		return -errno;
	}
	return 0;
}
#endif
