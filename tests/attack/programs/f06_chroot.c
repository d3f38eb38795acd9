/* SPDX-License-Identifier: Apache-2.0 */
/* F6: out of the root by chroot, by a second chroot above it, and by a directory kept open. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "say.h"

static void say_root(const char *name)
{
	struct stat root;

	stat("/", &root);
	say(name, "%lu:%lu", (unsigned long)root.st_dev, (unsigned long)root.st_ino);
}

int main(void)
{
	say_root("before");
	int top = open("/", O_RDONLY | O_DIRECTORY);
	mkdir("jail", 0755);
	try("chroot", chroot("jail"));
	try("fchdir", fchdir(top));
	for (int i = 0; i < 64; i++) {
		if (chdir("..") < 0) {
			break;
		}
	}
	try("chroot-again", chroot("."));
	say_root("after");
}
