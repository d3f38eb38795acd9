/* SPDX-License-Identifier: Apache-2.0 */
/* F4: where the program starts, and whether that is inside its root. */
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "say.h"

int main(void)
{
	char path[PATH_MAX] = "";
	struct stat root, up;

	/* The system call itself: the C library hides "(unreachable)". */
	if (syscall(SYS_getcwd, path, sizeof(path)) < 0) {
		say("cwd", "%s", outcome(-1));
	} else {
		say("cwd", "%s", path);
	}
	for (int i = 0; i < 64; i++) {
		if (chdir("..") < 0) {
			break;
		}
	}
	stat("/", &root);
	stat(".", &up);
	say("top", "%s", root.st_dev == up.st_dev && root.st_ino == up.st_ino ? "root" : "beyond");
	ssize_t n = readlink("/proc/self/root", path, sizeof(path) - 1);
	say("root", "%.*s", n < 0 ? 0 : (int)n, path);
}
