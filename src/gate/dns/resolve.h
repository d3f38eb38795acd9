/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves names by the host's name servers. Each query has a port and an id of its own, and only
 * an exact answer to it is accepted. The connection is made to the addresses found here: a name is
 * not resolved a second time.
 */
#ifndef BRIG_GATE_RESOLVE_H
#define BRIG_GATE_RESOLVE_H

#include "gate/dns/dns_message.h"
#include "gate/dns/host_files.h"
#include "loop/loop.h"

struct resolver {
	struct loop *loop;
	struct host_files files;
	bool has_ipv6; /* the host has a route to IPv6 addresses */
	/* Called before a query is sent, and when an answer has arrived. false: no more of them. */
	bool (*charge)(void *user, size_t bytes);
	void *user;
};

struct resolved {
	struct net_address addresses[DNS_ADDRESSES_MAX];
	unsigned count;
};

struct lookup;
/* `done` is called once, later, from the loop; without an address when there is none. */
typedef void lookup_done(void *user, const struct resolved *result);

/* 0 or -errno, and then `done` is never called. */
int lookup_start(struct resolver *resolver, const char *name, lookup_done *done, void *user,
		 struct lookup **ret);
/* Ends it, before or after `done`; NULL does nothing. */
void lookup_free(struct lookup *lookup);
#endif
