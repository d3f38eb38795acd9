/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The label of a container: the process that made it, and the number of its cell there, as
 * "boot:namespace:pid:start:cell". A container is removed only if this process is certainly dead: on
 * this host, since the same start of it, in the same pid namespace; or if it is this process, and
 * the cell is closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/daemon.h"

#define START_FIELD 22 /* of /proc/PID/stat */

static int read_text(const char *path, char *ret, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);

	if (n < 0) {
		return -errno;
	}
	ret[n] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	return 0;
}

/* The start time of a process, in ticks. -ENOENT: there is none. */
static int read_start(long pid, uint64_t *ret)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	int r = read_text(path, text, sizeof(text));
	char *at = r < 0 ? NULL : strrchr(text, ')'); /* a name may have blanks */
	for (int field = 2; at && field < START_FIELD; field++) {
		at = strchr(at + 1, ' ');
	}
	if (!at) {
		return r < 0 ? r : -EIO;
	}
	*ret = strtoull(at + 1, NULL, 10);
	return 0;
}

/* --- the cells of this process ---------------------------------------------------------------- */

/*
 * A cell has an open file as long as it lives; its number is that of the descriptor and that of the
 * file. So this process knows its cells without a list of them.
 */
#define FILE_BITS 40u
#define FILE_MASK ((1ull << FILE_BITS) - 1)

static int enter(struct daemon_owner *owner)
{
	struct stat info;
	_cleanup_close_ int fd = memfd_create("brig-cell", MFD_CLOEXEC);

	if (fd < 0 || fstat(fd, &info) < 0) {
		return -errno;
	}
	owner->fd = TAKE_FD(fd);
	owner->serial = (uint64_t)owner->fd << FILE_BITS | (info.st_ino & FILE_MASK);
	return 0;
}

void daemon_owner_end(struct daemon_owner *owner)
{
	if (owner->serial) {
		close_fd(&owner->fd);
		owner->serial = 0;
	}
}

static bool is_open(uint64_t serial)
{
	struct stat info;

	return fstat((int)(serial >> FILE_BITS), &info) == 0 &&
	       (info.st_ino & FILE_MASK) == (serial & FILE_MASK);
}

/* --- the label -------------------------------------------------------------------------------- */

int daemon_owner_begin(struct daemon_owner *ret)
{
	char boot[48], space[48] = "";
	uint64_t start = 0;
	int r = read_text("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));

	r = r < 0 ? r : read_start((long)getpid(), &start);
	ssize_t n = r < 0 ? -1 : readlink("/proc/self/ns/pid", space, sizeof(space) - 1);
	if (n <= 0) {
		return r < 0 ? r : -EIO;
	}
	r = enter(ret);
	if (r < 0) {
		return r;
	}
	/* "pid:[4026531836]" */
	snprintf(ret->text, sizeof(ret->text), "%s:%" PRIu64 ":%ld:%" PRIu64 ":%" PRIu64, boot,
		 (uint64_t)strtoull(space + strcspn(space, "0123456789"), NULL, 10), (long)getpid(),
		 start, ret->serial);
	return 0;
}

bool daemon_owner_is_closed(const char *owner, const char *own)
{
	const char *last = strrchr(own, ':');
	size_t common = last ? (size_t)(last + 1 - own) : 0;

	return common > 0 && strncmp(owner, own, common) == 0 &&
	       !is_open(strtoull(owner + common, NULL, 10));
}

bool daemon_owner_is_dead(const char *owner, const char *own)
{
	const char *second = strchr(own, ':');
	const char *third = second ? strchr(second + 1, ':') : NULL;
	size_t common = third ? (size_t)(third + 1 - own) : 0;
	char *end = NULL;
	uint64_t start = 0;

	if (common == 0 || strncmp(owner, own, common) != 0) {
		return false;
	}
	long pid = strtol(owner + common, &end, 10);
	if (pid <= 1 || !end || *end != ':') {
		return false;
	}
	int r = kill((pid_t)pid, 0) < 0 ? -errno : read_start(pid, &start);
	if (r == -ESRCH || r == -ENOENT) {
		return true;
	}
	return r == 0 && start != strtoull(end + 1, NULL, 10);
}
