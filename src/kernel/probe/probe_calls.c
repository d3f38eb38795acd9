/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks which of the newer system calls exist. Each is made in a way that cannot succeed, or does
 * nothing, and recognised by its errno: a missing call returns ENOSYS, or EPERM from a filter.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/probe/probe_internal.h"
#include "kernel/sys.h"

const struct probe_call_info probe_call_table[PROBE_CALLS] = {
	[PROBE_CALL_CLONE3] = { "clone3", "5.3", false,
				"no cell can be born in a cgroup v2: those limits are missing" },
	[PROBE_CALL_INTO_CGROUP] = { "clone-into-cgroup", "5.7", false,
				     "no cell can be born in a cgroup v2: those limits are "
				     "missing" },
	[PROBE_CALL_PIDFD] = { "pidfd", "5.4", true, "a cell could not be watched and killed" },
	[PROBE_CALL_CLOSE_RANGE] = { "close_range", "5.11", true,
				     "open files of the caller would be inherited" },
	[PROBE_CALL_MOUNT_API] = { "fsopen", "5.2", false, "no root of its own can be built" },
	[PROBE_CALL_MOUNT_SETATTR] = { "mount_setattr", "5.12", false,
				       "no read-only root can be built" },
	[PROBE_CALL_OPENAT2] = { "openat2", "5.6", false,
				 "files are collected name by name with O_NOFOLLOW instead" },
};

/* Not an open fd: EBADF comes from the call itself. */
#define NO_FD 0x3fffffff

static int clone3_with(uint64_t flags)
{
	struct clone_args args = { .flags = flags, .cgroup = NO_FD };
	/* CLONE_FS with a new mount namespace is rejected by every kernel: never a child. */
	int r = sys_clone3(&args, sizeof(args));

	if (r == 0) {
		_exit(1);
	}
	return r;
}

static int try_clone3(void)
{
	int r = clone3_with(CLONE_FS | CLONE_NEWNS);

	return r == -EINVAL ? 0 : r;
}

static int try_into_cgroup(void)
{
	int r = clone3_with(CLONE_INTO_CGROUP);

	return r == -EBADF ? 0 : r;
}

static int try_pidfd(void)
{
	_cleanup_close_ int fd = sys_pidfd_open(getpid(), 0);

	return fd < 0 ? fd : sys_pidfd_send_signal(fd, 0);
}

static int try_close_range(void)
{
	int r = sys_close_range(NO_FD, NO_FD, 0);

	return r < 0 ? r : sys_close_range(NO_FD, NO_FD, CLOSE_RANGE_CLOEXEC);
}

/*
 * Without privilege the first two fail before they check their arguments: EPERM means that they
 * exist.
 */
static int try_mount_api(void)
{
	_cleanup_close_ int fs = sys_fsopen("tmpfs");
	int r = fs < 0 && fs != -EPERM ? fs : sys_fsmount(NO_FD, 0);

	if (r == -EBADF || r == -EPERM) {
		r = sys_fsconfig(NO_FD, FSCONFIG_CMD_CREATE, NULL, NULL);
	}
	if (r == -EBADF) {
		r = sys_open_tree(NO_FD, "", AT_EMPTY_PATH);
	}
	return r == -EBADF ? 0 : r;
}

static int try_mount_setattr(void)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	int r = sys_mount_setattr(NO_FD, "", AT_EMPTY_PATH, &attr);

	/*
	 * Without privilege it may fail before it checks the fd; the rootfs layer covers the rest.
	 */
	return r == -EBADF || r == -EPERM ? 0 : r;
}

static int try_openat2(void)
{
	struct open_how how = {
		.flags = O_NOFOLLOW | O_CLOEXEC | O_PATH,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV,
	};
	_cleanup_close_ int fd = sys_openat2(NO_FD, "x", &how);

	return fd == -EBADF ? 0 : fd;
}

static int (*const tries[PROBE_CALLS])(void) = {
	[PROBE_CALL_CLONE3] = try_clone3,       [PROBE_CALL_INTO_CGROUP] = try_into_cgroup,
	[PROBE_CALL_PIDFD] = try_pidfd,         [PROBE_CALL_CLOSE_RANGE] = try_close_range,
	[PROBE_CALL_MOUNT_API] = try_mount_api, [PROBE_CALL_MOUNT_SETATTR] = try_mount_setattr,
	[PROBE_CALL_OPENAT2] = try_openat2,
};

int probe_calls(const struct probe_attempt *attempt, struct probe_note *note)
{
	(void)attempt;
	for (int i = 0; i < PROBE_CALLS; i++) {
		int r = tries[i]();
		note->values[i] = r < 0 ? -r : 0;
	}
	return 0;
}

bool probe_required_calls(const struct probe_report *report, struct probe_finding *ret)
{
	*ret = (struct probe_finding){ .state = PROBE_OK };
	for (int i = 0; i < PROBE_CALLS; i++) {
		const struct probe_finding *call = &report->calls[i];

		if (probe_call_table[i].required && call->state == PROBE_MISSING) {
			*ret = *call;
			snprintf(ret->detail, sizeof(ret->detail), "the system call %s is missing",
				 probe_call_table[i].name);
			return false;
		}
	}
	return true;
}
