/* SPDX-License-Identifier: Apache-2.0 */
/* F1: opens each path of the arguments directly, by "..", and by the links of /proc. */
#include <fcntl.h>
#include <unistd.h>

#include "say.h"

static void look(const char *way, const char *path)
{
	char full[4200], name[4300], byte;

	snprintf(full, sizeof(full), "%s%s", way, path);
	snprintf(name, sizeof(name), "%s:%s", way, path);
	int fd = open(full, O_RDONLY | O_NONBLOCK);
	/* A directory that opens but cannot be read is a sight of the host as well. */
	if (try(name, fd) >= 0) {
		say("seen", "%s", read(fd, &byte, 1) == 1 ? "content" : "entry");
		close(fd);
	}
}

int main(int argc, char **argv)
{
	static const char *const ways[] = { "",
					    "../../../../../../../../..",
					    "/proc/self/root",
					    "/proc/self/cwd/../../../../../../../..",
					    "/proc/thread-self/root",
					    "/proc/1/root",
					    "/proc/1/cwd",
					    "/dev/fd/../root" };

	for (int i = 1; i < argc; i++) {
		for (size_t j = 0; j < sizeof(ways) / sizeof(ways[0]); j++) {
			look(ways[j], argv[i]);
		}
	}
}
