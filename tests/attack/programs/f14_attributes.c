/* SPDX-License-Identifier: Apache-2.0 */
/* F14: times, owner, attributes and lists of the files in the arguments. */
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "say.h"

int main(int argc, char **argv)
{
	char name[600];

#define TRY(what, call) (snprintf(name, sizeof(name), what " %s", argv[i]), try(name, call))
	for (int i = 1; i < argc; i++) {
		const char *path = argv[i];
		struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
		int fd = open(path, O_RDONLY), flags = FS_NODUMP_FL;

		TRY("times", utimensat(AT_FDCWD, path, times, 0));
		TRY("now", utimensat(AT_FDCWD, path, NULL, 0));
		TRY("chmod", chmod(path, 0600));
		TRY("fchmod", fchmod(fd, 0600));
		TRY("chown", chown(path, getuid(), getgid()));
		TRY("xattr", setxattr(path, "user.brig", "x", 1, 0));
		TRY("fxattr", fsetxattr(fd, "user.brig", "x", 1, 0));
		TRY("acl", setxattr(path, "system.posix_acl_access", "\2\0\0\0", 4, 0));
		TRY("flags", ioctl(fd, FS_IOC_SETFLAGS, &flags));
		TRY("reopen", open(path, O_WRONLY));
	}
}
