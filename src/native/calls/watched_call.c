/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads from a caller that waits: see watched_call.h. The pid of a dead process may have been
 * reused, so the bytes count only if the call still waits after the read.
 */
#include "native/calls/watched_call.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PAGE_BYTES 4096u

bool watched_is_waiting(const struct watched_call *call)
{
	uint64_t id = call->id;

	return ioctl(call->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static int open_memory(const struct watched_call *call)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", call->pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

/* Page by page: the page after the end of a string need not be mapped. */
static ssize_t read_memory(int fd, uint64_t address, char *ret, size_t size, bool text)
{
	size_t done = 0;

	while (done < size) {
		size_t part = PAGE_BYTES - (address + done) % PAGE_BYTES;
		part = part < size - done ? part : size - done;
		ssize_t n = pread(fd, ret + done, part, (off_t)(address + done));
		if (n <= 0) {
			break;
		}
		bool ended = text && memchr(ret + done, 0, (size_t)n);
		done += (size_t)n;
		if (ended) {
			break;
		}
	}
	return done ? (ssize_t)done : -EFAULT;
}

static ssize_t read_waiting(const struct watched_call *call, uint64_t address, char *ret,
			    size_t size, bool text)
{
	_cleanup_close_ int fd = open_memory(call);

	if (fd < 0) {
		return fd;
	}
	if (address > INT64_MAX - size) {
		return -EFAULT;
	}
	ssize_t n = read_memory(fd, address, ret, size, text);
	return watched_is_waiting(call) ? n : -ESRCH;
}

ssize_t watched_read(const struct watched_call *call, uint64_t address, void *ret, size_t size)
{
	return read_waiting(call, address, ret, size, false);
}

int watched_text(const struct watched_call *call, uint64_t address, char *ret, size_t size)
{
	ssize_t n = read_waiting(call, address, ret, size, true);

	if (n < 0) {
		return (int)n;
	}
	const char *end = memchr(ret, 0, (size_t)n);
	return end ? (int)(end - ret) : (size_t)n == size ? -ENAMETOOLONG : -EFAULT;
}

/* The directory at which a relative path of the caller's begins. */
static int directory_of(const struct watched_call *call, int dirfd, char *ret, size_t size)
{
	char link[48];

	if (dirfd == AT_FDCWD) {
		snprintf(link, sizeof(link), "/proc/%d/cwd", call->pid);
	} else {
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", call->pid, dirfd);
	}
	ssize_t n = readlink(link, ret, size - 1);
	if (n < 0) {
		return -errno;
	}
	ret[n] = '\0';
	return watched_is_waiting(call) ? (int)n : -ESRCH;
}

int watched_path(const struct watched_call *call, int dirfd, uint64_t address, char *ret,
		 size_t size)
{
	char text[WATCHED_PATH_MAX];
	int length = watched_text(call, address, text, sizeof(text));

	if (length < 0) {
		return length;
	}
	int base = text[0] == '/' ? 0 : directory_of(call, dirfd, ret, size);
	if (base < 0) {
		return base;
	}
	if ((size_t)base + (size_t)length + 2 > size) {
		return -ENAMETOOLONG;
	}
	/* The root directory already ends in a slash. */
	bool joined = base > 0 && length > 0 && ret[base - 1] != '/';
	if (joined) {
		ret[base++] = '/';
	}
	memcpy(ret + base, text, (size_t)length + 1);
	return base + length;
}
