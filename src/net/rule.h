/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network rule: a host, its ports, and whether it may be on a private network.
 * Written as HOST[:PORTS], with "local:" in front for hosts that are not public:
 *
 *	pypi.org                    ports 80 and 443
 *	*.example.org:443           any name below, not example.org itself
 *	*:443                       any name
 *	192.0.43.0/24:8000-8010     addresses; [2001:500::]/32:443
 *	local:db.internal:5432      a name that may resolve to a private address
 */
#ifndef BRIG_NET_RULE_H
#define BRIG_NET_RULE_H

#include "base/error.h"
#include "net/address.h"
#include "net/name.h"

#define NET_RULES_MAX      64
#define NET_RULE_PORTS_MAX 8
#define NET_RULE_TEXT      (NET_NAME_MAX + 128)
/* Sockets that a cell's gate listens on: one for every allowed port. */
#define NET_PORTS_MAX 64
/* The port for DNS, which belongs to the gate and is never allowed. */
#define NET_DNS_PORT 53

enum net_host {
	NET_HOST_NAME,
	NET_HOST_BELOW, /* "*.NAME" */
	NET_HOST_ANY,   /* "*": any name */
	NET_HOST_PREFIX,
};

/* The protocol that a connection must use. */
enum net_protocol {
	NET_BY_PORT, /* 443: TLS; 80: HTTP; else anything */
	NET_TLS,     /* a ClientHello for the name that the connection was made for */
	NET_HTTP,    /* requests for the name that the connection was made for */
	NET_ANY,
};

struct net_ports {
	uint16_t first, last;
};

struct net_rule {
	uint8_t host;     /* enum net_host */
	uint8_t protocol; /* enum net_protocol */
	uint8_t local;    /* private addresses too */
	uint8_t ports_count;
	struct net_ports ports[NET_RULE_PORTS_MAX];
	struct net_prefix prefix;
	char name[NET_NAME_MAX + 1];
};

int net_rule_parse(const char *text, struct net_rule *ret, struct brig_error *err);
/* Are these bytes, from another process, a rule that net_rule_parse() could have made? */
bool net_rule_is_sound(const struct net_rule *rule);
const char *net_rule_format(const struct net_rule *rule, char text[NET_RULE_TEXT]);
/* "80,443", "8000-8010". 0 or -EINVAL. */
int net_ports_parse(const char *text, struct net_rule *ret);

bool net_rule_has_port(const struct net_rule *rule, uint16_t port);
/* `name` is in its normal form. */
bool net_rule_has_name(const struct net_rule *rule, const char *name);
bool net_rule_has_address(const struct net_rule *rule, const struct net_address *address);
/* Does `wide` allow all that `narrow` allows? `local` is ignored. */
bool net_rule_covers(const struct net_rule *wide, const struct net_rule *narrow);
/* May a connection that this rule allows go to this address? */
bool net_rule_permits(const struct net_rule *rule, const struct net_address *address,
		      enum net_class class);
enum net_protocol net_rule_protocol(const struct net_rule *rule, uint16_t port);

/*
 * The rule that decides about a connection; NULL: none allows it. `host_known`: a rule has the
 * name, but not the port.
 */
const struct net_rule *net_rules_for_name(const struct net_rule *rules, size_t count,
					  const char *name, uint16_t port, bool *host_known);
const struct net_rule *net_rules_for_address(const struct net_rule *rules, size_t count,
					     const struct net_address *address, uint16_t port);

/* The ports of all rules, each once, in order. -E2BIG: more than NET_PORTS_MAX. */
int net_rules_ports(const struct net_rule *rules, size_t count, uint16_t ports[NET_PORTS_MAX]);
#endif
