/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An address of this very host is local, however public it looks: what listens there may count on
 * being reached from elsewhere only through a firewall. A socket that is not used tells: its own
 * address would be the same.
 */
#include "base/cleanup.h"
#include "net/address.h"

bool net_address_is_own(const struct net_address *address)
{
	struct sockaddr_storage to, own;
	struct net_address from;
	socklen_t size = net_address_to(address, 9, &to), room = sizeof(own);
	uint16_t port;
	_cleanup_close_ int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, (struct sockaddr *)&to, size) == 0 &&
	       getsockname(fd, (struct sockaddr *)&own, &room) == 0 &&
	       net_address_from(&own, &from, &port) == 0 && net_address_equal(&from, address);
}
