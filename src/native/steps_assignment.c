/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell that was made ahead: its payload waits, sealed on both sides, until an order says what to
 * run. It has had the file that the order will be in since its birth.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/write_all.h"
#include "kernel/sys.h"
#include "native/cell.h"
#include "native/init.h"

/* The working directory is /sandbox, empty but for out/: no link can be on the way. */
static int make_parents(const char *path)
{
	char part[4096];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		size_t length = (size_t)(slash - path);
		if (length >= sizeof(part)) {
			return -ENAMETOOLONG;
		}
		memcpy(part, path, length);
		part[length] = '\0';
		if (mkdirat(AT_FDCWD, part, 0700) < 0 && errno != EEXIST) {
			return -errno;
		}
	}
	return 0;
}

static int write_input(const struct assignment_input *input)
{
	int r = make_parents(input->name);

	if (r < 0) {
		return r;
	}
	_cleanup_close_ int fd =
		openat(AT_FDCWD, input->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       (mode_t)input->mode);
	return fd < 0 ? -errno : write_all(fd, input->data, input->size);
}

static int limit(const struct assignment_rlimit *limit)
{
	struct rlimit now, want;

	if (getrlimit((__rlimit_resource_t)limit->resource, &now) < 0) {
		return -errno;
	}
	/* Where the host's own hard limit is lower, that holds: it cannot be raised here. */
	want.rlim_max = limit->value < now.rlim_max ? limit->value : now.rlim_max;
	want.rlim_cur = want.rlim_max;
	return setrlimit((__rlimit_resource_t)limit->resource, &want) < 0 ? -errno : 0;
}

int step_assign(struct cell *cell, const struct step *step)
{
	struct stat info;
	int r = fstat(cell->assignment_fd, &info) < 0 ? -errno : 0;

	(void)step;
	if (r < 0 || info.st_size <= 0) {
		return r < 0 ? r : -EPROTO;
	}
	void *block = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE,
			   cell->assignment_fd, 0);
	if (block == MAP_FAILED) {
		return -errno;
	}
	close_fd(&cell->assignment_fd);
	r = assignment_read(block, (size_t)info.st_size, &cell->assignment);
	/* Files come first: a limit on the size of files is the program's, not ours. */
	for (uint64_t i = 0; r == 0 && i < cell->assignment.inputs_count; i++) {
		r = write_input(&cell->assignment.inputs[i]);
	}
	for (uint64_t i = 0; r == 0 && i < cell->assignment.rlimits_count; i++) {
		r = limit(&cell->assignment.rlimits[i]);
	}
	return r;
}

/*
 * The interpreter's own part of getting ready, with nobody waiting for it. It goes on with the
 * steps behind this one when it is done (cell_execute_rest).
 */
int step_resume(struct cell *cell, const struct step *step)
{
	(void)step;
	cell->resumed(cell);
	return -EIO;
}

/* What exec would close is closed here; brig-init sees the end of the pipe, as with exec. */
int step_letgo(struct cell *cell, const struct step *step)
{
	(void)step;
	if (cell->value_fd >= 0 && cell->value_fd != 3) {
		int fd = (int)sys_result(syscall(SYS_dup3, cell->value_fd, 3, O_CLOEXEC));
		if (fd < 0) {
			return fd;
		}
		cell->value_fd = fd;
	}
	return sys_close_range(cell->value_fd >= 0 ? 4 : 3, ~0u, 0);
}

/*
 * Pipes that exec leaves open. brig-init has a descriptor table of its own by now, so any number
 * can be taken but that of the pipe that tells it of a failure.
 */
int step_channel(struct cell *cell, const struct step *step)
{
	int number = (int)step->value;

	if (cell->note[1] == number) {
		int moved = fcntl(cell->note[1], F_DUPFD_CLOEXEC, DRIVER_FDS_END);
		if (moved < 0) {
			return -errno;
		}
		cell->note[1] = moved;
	}
	int r = sys_result(syscall(SYS_dup3, step->fd, number, 0));
	return r < 0 ? r : 0;
}
