/* SPDX-License-Identifier: Apache-2.0 */
/* D2: a device of its own, in each directory of the arguments; in a nested namespace too. */
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "say.h"

int main(int argc, char **argv)
{
	char name[600];

	for (int i = 1; i < argc; i++) {
		if (chdir(argv[i]) < 0) {
			continue;
		}
		snprintf(name, sizeof(name), "char %s", argv[i]);
		try(name, mknod("char", S_IFCHR | 0666, makedev(1, 3)));
		snprintf(name, sizeof(name), "block %s", argv[i]);
		try(name, mknod("block", S_IFBLK | 0600, makedev(7, 200)));
		snprintf(name, sizeof(name), "at %s", argv[i]);
		try(name, mknodat(AT_FDCWD, "at", S_IFCHR | 0666, makedev(1, 3)));
		/*
		 * Allowed nodes must stay possible: a test in which everything fails proves
		 * nothing.
		 */
		snprintf(name, sizeof(name), "fifo %s", argv[i]);
		try(name, mknod("fifo", S_IFIFO | 0600, 0));
	}
	try("unshare", unshare(CLONE_NEWUSER | CLONE_NEWNS));
	try("nested", mknod("nested", S_IFCHR | 0666, makedev(1, 3)));
}
