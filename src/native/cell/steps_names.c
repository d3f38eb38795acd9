/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without a network no resolver answers the cell's DNS queries. The cell's kernel refuses each by
 * ICMP, with the query in it, so the program's lookup fails at once. A raw socket receives these
 * refusals as well, and the warden reads them at the run's end (native_names.c). Its buffer is
 * small, so a flood is only counted. The program never has this socket, and cannot send through it.
 */
#include <linux/icmp.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "native/cell/cell.h"
#include "net/gate_messages.h"

#define NAMES_BYTES 8192 /* the kernel doubles it (socket(7)): about twenty queries */

static int names_open(void)
{
	const uint32_t ignored_types = ~(1u << ICMP_DEST_UNREACH);
	const int bytes = NAMES_BYTES;
	struct net_address resolver;
	struct sockaddr_storage at;
	_cleanup_close_ int fd =
		socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMP);

	if (fd < 0 || net_address_parse(GATE_RESOLVER, &resolver) < 0 ||
	    setsockopt(fd, SOL_RAW, ICMP_FILTER, &ignored_types, sizeof(ignored_types)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) < 0) {
		return -1;
	}
	/* From then on the kernel keeps only packets from that address. */
	socklen_t size = net_address_to(&resolver, 0, &at);
	return connect(fd, (struct sockaddr *)&at, size) < 0 ? -1 : TAKE_FD(fd);
}

/* On a host without raw sockets the program runs all the same: only the names are not reported. */
int step_names(struct cell *cell, const struct step *step)
{
	(void)step;
	cell->names = names_open();
	return 0;
}
