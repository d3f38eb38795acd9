/* SPDX-License-Identifier: Apache-2.0 */
/* F13: every way to give a file a set-user-id bit or capabilities, in the directory argv[1]. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "say.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

int main(int argc, char **argv)
{
	/* VFS_CAP_REVISION_2, everything permitted and effective */
	static const unsigned caps[5] = { 0x02000001, ~0u, 0, ~0u, 0 };
	struct stat info;

	if (argc > 1 && chdir(argv[1]) < 0) {
		return 2;
	}
	int fd = open("plain", O_RDWR | O_CREAT, 0755);
	try("chmod", chmod("plain", 04755));
	try("chmod-gid", chmod("plain", 02755));
	try("fchmod", fchmod(fd, 04755));
	try("fchmodat", fchmodat(AT_FDCWD, "plain", 04755, 0));
	try("fchmodat2", syscall(SYS_fchmodat2, AT_FDCWD, "plain", 04755, 0));
	try("open", syscall(SYS_open, "by-open", O_CREAT | O_WRONLY, 04755));
	try("openat", openat(AT_FDCWD, "by-openat", O_CREAT | O_WRONLY, 06755));
	try("openat2", syscall(SYS_openat2, AT_FDCWD, "by-openat2",
			       (unsigned long[3]){ O_CREAT | O_WRONLY, 04755, 0 }, 24));
	try("creat", syscall(SYS_creat, "by-creat", 04755));
	try("mknod", mknod("by-mknod", S_IFREG | 04755, 0));
	try("mkdir-gid", syscall(SYS_mkdir, "by-mkdir", 02755));
	try("tmpfile", open(".", O_TMPFILE | O_RDWR, 04755));
	try("capability", setxattr("plain", "security.capability", caps, sizeof(caps), 0));
	stat("plain", &info);
	say("mode", "%o", info.st_mode & 07777);
}
