/* SPDX-License-Identifier: Apache-2.0 */
/* P1, P3, P4, P7, D3: opens each file of the arguments, for writing and for reading. */
#include <fcntl.h>
#include <unistd.h>

#include "say.h"

int main(int argc, char **argv)
{
	char name[600], text[128];

	for (int i = 1; i < argc; i++) {
		snprintf(name, sizeof(name), "write %s", argv[i]);
		int fd = open(argv[i], O_WRONLY | O_NONBLOCK);
		try(name, fd);
		close(fd);
		snprintf(name, sizeof(name), "read %s", argv[i]);
		fd = open(argv[i], O_RDONLY | O_NONBLOCK);
		if (fd < 0) {
			try(name, fd);
			continue;
		}
		ssize_t n = read(fd, text, sizeof(text) - 1);
		for (ssize_t at = 0; at < n; at++) {
			text[at] = text[at] < ' ' || text[at] > '~' ? '.' : text[at];
		}
		say(name, "%s %.*s", outcome(n), n < 0 ? 0 : (int)n, text);
		close(fd);
	}
}
