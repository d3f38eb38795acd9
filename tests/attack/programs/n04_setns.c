/* SPDX-License-Identifier: Apache-2.0 */
/* N4: entering a namespace by every kind of descriptor: its own links, a pidfd, and other files. */
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "say.h"

int main(void)
{
	static const char *const names[] = { "user", "mnt", "net", "ipc", "uts", "cgroup", "time" };
	char path[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		int fd = open(path, O_RDONLY);
		try(names[i], setns(fd, 0));
	}
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	try("pidfd", setns(self, CLONE_NEWUTS));
	try("stdin", setns(0, 0));
	try("none", setns(-1, 0));
}
