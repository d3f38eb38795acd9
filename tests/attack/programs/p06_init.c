/* SPDX-License-Identifier: Apache-2.0 */
/* P6: the visible files of the process of the first argument. */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "say.h"

int main(int argc, char **argv)
{
	static const char *const files[] = { "environ", "mem",    "maps",    "root", "cwd",
					     "fd",      "auxv",   "pagemap", "exe",  "cmdline",
					     "status",  "ns/net", "syscall", "stack" };
	char path[64];

	for (size_t i = 0; argc > 1 && i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "/proc/%s/%s", argv[1], files[i]);
		try(files[i], open(path, O_RDONLY | O_NONBLOCK));
	}
}
