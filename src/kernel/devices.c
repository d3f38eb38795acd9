/* SPDX-License-Identifier: Apache-2.0 */
/* Device nodes: see devices.h. */
#include "kernel/devices.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/sys.h"

static const struct {
	const char *name;
	unsigned minor;
} nodes[] = { { "null", 3 }, { "zero", 5 }, { "full", 7 }, { "random", 8 }, { "urandom", 9 } };
#define MEMORY_MAJOR 1

static const struct {
	const char *name, *target;
} links[] = { { "fd", "/proc/self/fd" },
	      { "stdin", "/proc/self/fd/0" },
	      { "stdout", "/proc/self/fd/1" },
	      { "stderr", "/proc/self/fd/2" } };

static int fill(int dir)
{
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		/* The modes are set again: the host program's umask must not be changed. */
		if (mknodat(dir, nodes[i].name, S_IFCHR | 0666,
			    makedev(MEMORY_MAJOR, nodes[i].minor)) < 0 ||
		    fchmodat(dir, nodes[i].name, 0666, 0) < 0) {
			return -errno;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		if (symlinkat(links[i].target, dir, links[i].name) < 0) {
			return -errno;
		}
	}
	return mkdirat(dir, "shm", 0755) < 0 ? -errno : 0;
}

int devices_make(void)
{
	_cleanup_close_ int fs = sys_fsopen("tmpfs");
	int r = fs;

	if (r >= 0) {
		r = sys_fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0755");
	}
	if (r >= 0) {
		r = sys_fsconfig(fs, FSCONFIG_SET_STRING, "size", "4096");
	}
	if (r >= 0) {
		r = sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL);
	}
	_cleanup_close_ int mount =
		r < 0 ? r : sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	if (mount < 0) {
		return mount;
	}
	r = fill(mount);
	return r < 0 ? r : TAKE_FD(mount);
}
