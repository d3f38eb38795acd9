/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without a network nobody answers where the cell asks for names. Its kernel then says so by ICMP,
 * with the question in it, and whoever asked is refused at once. A raw socket hears that as well:
 * the warden reads at the run's end what it holds (run_names.c). It has little room, so a flood is
 * only counted. The program never has it, and sends nothing by it.
 */
#include <linux/icmp.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "native/cell.h"
#include "net/gate_messages.h"

#define NAMES_BYTES 8192 /* the kernel takes twice that: some twenty questions */

static int names_open(void)
{
	const uint32_t passed_over = ~(1u << ICMP_DEST_UNREACH);
	const int bytes = NAMES_BYTES;
	struct net_address resolver;
	struct sockaddr_storage at;
	_cleanup_close_ int fd =
		socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMP);

	if (fd < 0 || net_address_parse(GATE_RESOLVER, &resolver) < 0 ||
	    setsockopt(fd, SOL_RAW, ICMP_FILTER, &passed_over, sizeof(passed_over)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) < 0) {
		return -1;
	}
	/* From then on the kernel keeps what comes from there alone. */
	socklen_t size = net_address_to(&resolver, 0, &at);
	return connect(fd, (struct sockaddr *)&at, size) < 0 ? -1 : TAKE_FD(fd);
}

/* A host that has no raw sockets to give still runs the program: only this is not told then. */
int step_names(struct cell *cell, const struct step *step)
{
	(void)step;
	cell->names = names_open();
	return 0;
}
