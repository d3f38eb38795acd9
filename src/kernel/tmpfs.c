/* SPDX-License-Identifier: Apache-2.0 */
/* A file system in memory: see tmpfs.h. */
#include "kernel/tmpfs.h"

#include <sys/mount.h>

#include "base/cleanup.h"
#include "kernel/sys.h"

int tmpfs_new(const char *size, const char *inodes, const char *mode)
{
	const struct {
		const char *name, *value;
	} options[] = { { "size", size }, { "nr_inodes", inodes }, { "mode", mode } };
	_cleanup_close_ int fs = sys_fsopen("tmpfs");

	if (fs < 0) {
		return fs;
	}
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		int r = sys_fsconfig(fs, FSCONFIG_SET_STRING, options[i].name, options[i].value);
		if (r < 0) {
			return r;
		}
	}
	int r = sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL);
	return r < 0 ? r : sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}
