/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel before Linux 6.16, whose sockets cannot refuse descriptors: for one source of a test. */
#ifndef BRIG_TESTS_UNIT_OLD_SOCKET_H
#define BRIG_TESTS_UNIT_OLD_SOCKET_H

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

static bool old_socket;

/* In the place of the C library's. */
int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	if (old_socket && level == SOL_SOCKET && name == SO_PASSRIGHTS) {
		errno = ENOPROTOOPT;
		return -1;
	}
	return (int)syscall(SYS_setsockopt, fd, level, name, value, size);
}
#endif
