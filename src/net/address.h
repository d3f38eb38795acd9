/* SPDX-License-Identifier: Apache-2.0 */
/* Network addresses, ranges of them, and the kind of network that they belong to. */
#ifndef BRIG_NET_ADDRESS_H
#define BRIG_NET_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* IPv4 in the first four bytes; an IPv4 address that is written as IPv6 is IPv4 here. */
struct net_address {
	uint8_t family; /* 4 or 6 */
	uint8_t bytes[16];
};

struct net_prefix {
	struct net_address address;
	uint8_t bits;
};

enum net_class {
	NET_PUBLIC,
	NET_LOCAL, /* this host, this network: loopback, private ranges, carriers' own */
	NET_LINK,  /* link-local, and the metadata services of clouds, which hand out credentials */
	NET_NEVER, /* multicast, unspecified, documentation, tunnels that hide an address */
};

#define NET_ADDRESS_TEXT 48

/* Plain notation only: no octal, no hexadecimal, no omitted parts, no zone. 0 or -EINVAL. */
int net_address_parse(const char *text, struct net_address *ret);
const char *net_address_format(const struct net_address *address, char text[NET_ADDRESS_TEXT]);
bool net_address_equal(const struct net_address *a, const struct net_address *b);

/* "10.0.0.0/8"; without a length it is one address. Bits after the prefix must be zero. */
int net_prefix_parse(const char *text, struct net_prefix *ret);
bool net_prefix_has(const struct net_prefix *prefix, const struct net_address *address);
bool net_prefix_covers(const struct net_prefix *wide, const struct net_prefix *narrow);
/* Is it a single address? */
bool net_prefix_is_one(const struct net_prefix *prefix);

enum net_class net_classify(const struct net_address *address);
bool net_address_is_loopback(const struct net_address *address);
/*
 * Is it one of this host's own addresses? Asks the kernel's routing table by a socket from
 * net_routes_open() (or -errno); nothing is sent to the network. If the kernel cannot be asked:
 * true.
 */
int net_routes_open(void);
bool net_address_is_own(int routes, const struct net_address *address);

/* 0 or -EAFNOSUPPORT. */
int net_address_from(const struct sockaddr_storage *from, struct net_address *ret, uint16_t *port);
socklen_t net_address_to(const struct net_address *address, uint16_t port,
			 struct sockaddr_storage *ret);
#endif
