/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell that was made ahead: its payload waits, sealed on both sides, for its assignment. It has
 * had the file for the assignment since it was made.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/write_all.h"
#include "kernel/sys.h"
#include "native/cell/cell.h"
#include "native/cell/init.h"

/* The working directory is /sandbox, empty except for out/: the path can have no link in it. */
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

static int lower_limit(const struct assignment_rlimit *limit)
{
	struct rlimit now, want;

	if (getrlimit((__rlimit_resource_t)limit->resource, &now) < 0) {
		return -errno;
	}
	/* Where the host's own hard limit is lower, it stays: it cannot be raised here. */
	want.rlim_max = limit->value < now.rlim_max ? limit->value : now.rlim_max;
	want.rlim_cur = want.rlim_max;
	return setrlimit((__rlimit_resource_t)limit->resource, &want) < 0 ? -errno : 0;
}

int step_assign(struct cell *cell, const struct step *step)
{
	struct stat info;

	(void)step;
	if (fstat(cell->assignment_fd, &info) < 0) {
		return -errno;
	}
	if (info.st_size <= 0) {
		return -EPROTO;
	}
	void *block = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE,
			   cell->assignment_fd, 0);
	if (block == MAP_FAILED) {
		return -errno;
	}
	close_fd(&cell->assignment_fd);
	int r = assignment_read(block, (size_t)info.st_size, &cell->assignment);
	if (r < 0) {
		return r;
	}
	/*
	 * Files come first: the limit on the size of files applies to the program, not to its
	 * inputs.
	 */
	for (uint64_t i = 0; i < cell->assignment.inputs_count; i++) {
		r = write_input(&cell->assignment.inputs[i]);
		if (r < 0) {
			return r;
		}
	}
	for (uint64_t i = 0; i < cell->assignment.rlimits_count; i++) {
		r = lower_limit(&cell->assignment.rlimits[i]);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/*
 * The interpreter prepares itself here, before any request waits for it. Then it continues with the
 * steps after this one (cell_execute_rest).
 */
int step_resume(struct cell *cell, const struct step *step)
{
	(void)step;
	cell->resumed(cell);
	return -EIO;
}

/*
 * Closes the descriptors that exec would close; brig-init sees the end of the pipe, as with exec.
 */
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
 * Pipes that exec leaves open. brig-init has a separate descriptor table by now, so any number can
 * be used except that of the pipe on which failures are reported to it.
 */
int step_channel(struct cell *cell, const struct step *step)
{
	int number = step->channel.number;

	if (cell->report_pipe[1] == number) {
		int moved = fcntl(cell->report_pipe[1], F_DUPFD_CLOEXEC, DRIVER_FDS_END);
		if (moved < 0) {
			return -errno;
		}
		cell->report_pipe[1] = moved;
	}
	int r = sys_result(syscall(SYS_dup3, step->channel.fd, number, 0));
	return r < 0 ? r : 0;
}
