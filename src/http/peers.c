/* SPDX-License-Identifier: Apache-2.0 */
/* Connected peers and the number of their connections: see peers.h. */
#include "http/peers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int look_local(int fd, struct http_peer *ret)
{
	struct ucred who = { 0 };
	socklen_t size = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0) {
		return -errno;
	}
	ret->local = true;
	ret->uid = who.uid;
	return 0;
}

int peers_identify(int fd, struct http_peer *ret)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_storage room;
	} address = { 0 };
	socklen_t size = sizeof(address);
	const void *number = NULL;

	*ret = (struct http_peer){ .uid = (uid_t)-1 };
	if (getpeername(fd, &address.any, &size) < 0) {
		return -errno;
	}
	switch (address.any.sa_family) {
	case AF_UNIX:
		return look_local(fd, ret);
	case AF_INET:
		number = &address.in.sin_addr;
		break;
	case AF_INET6:
		number = &address.in6.sin6_addr;
		break;
	default:
		return -EAFNOSUPPORT;
	}
	return inet_ntop(address.any.sa_family, number, ret->address, sizeof(ret->address))
		       ? 0
		       : -errno;
}

static bool same(const struct http_peer *a, const struct http_peer *b)
{
	return a->local == b->local &&
	       (a->local ? a->uid == b->uid : strcmp(a->address, b->address) == 0);
}

static struct peer **bucket_of(struct peers *peers, const struct http_peer *who)
{
	uint64_t hash = who->local ? who->uid : 14695981039346656037u;

	for (const char *at = who->address; *at; at++) {
		hash = (hash ^ (unsigned char)*at) * 1099511628211u;
	}
	return &peers->buckets[(hash ^ hash >> 32) % PEERS_BUCKETS];
}

struct peer *peers_hold(struct peers *peers, const struct http_peer *who)
{
	struct peer **bucket = bucket_of(peers, who);

	for (struct peer *peer = *bucket; peer; peer = peer->next) {
		if (same(&peer->who, who)) {
			peer->connections++;
			return peer;
		}
	}
	struct peer *peer = malloc(sizeof(*peer));
	if (peer) {
		*peer = (struct peer){ .who = *who, .connections = 1, .next = *bucket };
		*bucket = peer;
	}
	return peer;
}

void peers_release(struct peers *peers, struct peer *peer)
{
	if (!peer || --peer->connections > 0) {
		return;
	}
	struct peer **at = bucket_of(peers, &peer->who);
	while (*at != peer) {
		at = &(*at)->next;
	}
	*at = peer->next;
	free(peer);
}
