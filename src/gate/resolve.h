/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From names to addresses, by the host's name servers. Each question goes out from a port of its
 * own with a number of its own, and only a true answer to it counts. What comes of it is what the
 * connection is made to: nobody asks a second time.
 */
#ifndef BRIG_GATE_RESOLVE_H
#define BRIG_GATE_RESOLVE_H

#include "gate/dns_message.h"
#include "gate/host_files.h"
#include "loop/loop.h"

struct resolver {
	struct loop *loop;
	struct host_files files;
	bool six; /* the host has a way to IPv6 addresses */
	/* Before a question is sent, and when an answer has come. false: no more of them. */
	bool (*pay)(void *user, size_t bytes);
	void *user;
};

struct resolved {
	struct net_address addresses[DNS_ADDRESSES_MAX];
	unsigned count;
};

struct lookup;
/* `done` comes once, later, from the loop; with no address when there is none. */
typedef void lookup_done(void *user, const struct resolved *result);

/* 0 or -errno, and then `done` never comes. */
int lookup_start(struct resolver *resolver, const char *name, lookup_done *done, void *user,
		 struct lookup **ret);
/* Ends it, before or after; NULL does nothing. */
void lookup_free(struct lookup *lookup);
#endif
