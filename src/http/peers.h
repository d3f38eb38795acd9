/* SPDX-License-Identifier: Apache-2.0 */
/* Connected peers and the number of their connections: one entry for each uid or address. */
#ifndef BRIG_HTTP_PEERS_H
#define BRIG_HTTP_PEERS_H

#include "http/http.h"

#define PEERS_BUCKETS 1024

struct peer {
	struct http_peer who;
	unsigned connections;
	struct peer *next;
};

struct peers {
	struct peer *buckets[PEERS_BUCKETS];
};

/* Identifies the peer of a connected socket. 0 or -errno. */
int peers_identify(int fd, struct http_peer *ret);
/* Adds a connection; NULL: out of memory. */
struct peer *peers_hold(struct peers *peers, const struct http_peer *who);
/* Removes a connection; the last one frees the entry. */
void peers_release(struct peers *peers, struct peer *peer);
#endif
