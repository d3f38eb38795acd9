/* SPDX-License-Identifier: Apache-2.0 */
/* brig-init becomes a program of its own: see init_program.h. */
#include "native/cell/init_program.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "kernel/sys.h"

#define DIGITS_MAX 12

/* Decimal without stdio: the C library's state is the payload's. */
static const char *digits(char text[DIGITS_MAX], unsigned value)
{
	char *at = text + DIGITS_MAX - 1;

	*at = '\0';
	do {
		*--at = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return at;
}

static int place(int *from, int to)
{
	int r = sys_result(syscall(SYS_dup3, *from, to, 0));

	*from = to;
	return r < 0 ? r : 0;
}

/* Above the numbers that are about to be replaced. */
static int lift(int *fd)
{
	int high = fcntl(*fd, F_DUPFD_CLOEXEC, INIT_PROGRAM_FDS_END);

	if (high < 0) {
		return -errno;
	}
	*fd = high;
	return 0;
}

/* In a table of our own: the payload has not yet closed what we close. */
static int arrange(struct cell *cell)
{
	int *own[] = { &cell->control, &cell->report_pipe[0], &cell->left[1], &cell->init_image };

	if (unshare(CLONE_FILES) < 0) {
		return -errno;
	}
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		int r = lift(own[i]);
		if (r < 0) {
			return r;
		}
	}
	int r = place(&cell->control, INIT_PROGRAM_CONTROL);
	if (r < 0) {
		return r;
	}
	r = place(&cell->report_pipe[0], INIT_PROGRAM_REPORTS);
	if (r < 0) {
		return r;
	}
	r = place(&cell->left[1], INIT_PROGRAM_LEFT);
	if (r < 0) {
		return r;
	}
	r = sys_close_range(0, INIT_PROGRAM_CONTROL - 1, 0);
	return r < 0 ? r : sys_close_range(INIT_PROGRAM_FDS_END, ~0u, CLOSE_RANGE_CLOEXEC);
}

int init_become_program(struct cell *cell, enum payload_report_state state)
{
	char pid[DIGITS_MAX], steps[DIGITS_MAX], failed[DIGITS_MAX], reports[DIGITS_MAX];
	const char *const argv[INIT_PROGRAM_ARGS + 1] = {
		"brig-init",
		digits(pid, (unsigned)cell->payload),
		digits(steps, cell->plan->count),
		digits(failed, cell->failed),
		digits(reports, (unsigned)state),
	};
	const char *const envp[] = { NULL };
	int r = arrange(cell);

	if (r < 0) {
		return r;
	}
	return sys_result(syscall(SYS_execveat, cell->init_image, "", argv, envp, AT_EMPTY_PATH));
}
