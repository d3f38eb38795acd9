/* SPDX-License-Identifier: Apache-2.0 */
/* The host's own configuration of names: /etc/resolv.conf and /etc/hosts, read once. */
#ifndef BRIG_GATE_HOST_FILES_H
#define BRIG_GATE_HOST_FILES_H

#include "net/address.h"
#include "net/name.h"

#define SERVERS_MAX    3
#define HOST_LINES_MAX 512

struct host_line {
	struct net_address address;
	char name[NET_NAME_MAX + 1];
};

struct host_files {
	struct net_address servers[SERVERS_MAX];
	unsigned servers_count;
	struct host_line *lines; /* owned */
	unsigned lines_count;
};

/* A host without the files has a name server on itself, and no names. 0 or -ENOMEM. */
int host_files_read(struct host_files *ret);
void host_files_done(struct host_files *files);
/* Addresses of a name in /etc/hosts; "localhost" always has some. Returns how many. */
unsigned host_files_find(const struct host_files *files, const char *name, struct net_address *ret,
			 unsigned room);
/* Pure: one line of each, without its end. */
void host_files_take_server(struct host_files *files, char *line);
int host_files_take_host(struct host_files *files, char *line);
#endif
