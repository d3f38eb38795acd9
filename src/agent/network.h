/* SPDX-License-Identifier: Apache-2.0 */
/* The network of a cell, whose gate is at the other end of the stream: network.c. */
#ifndef BRIG_AGENT_NETWORK_H
#define BRIG_AGENT_NETWORK_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/cell_stream.h"
#include "net/rule.h"

#define NETWORK_LISTENERS_MAX (NET_PORTS_MAX + 2)
/* Queries that are not answered yet; of more, the oldest are forgotten. */
#define NETWORK_QUERIES 64u

/* A connection of the program, and a stream of records. */
struct agent_stream {
	uint32_t number;        /* 0: unused */
	int fd;                 /* owned */
	unsigned char *pending; /* owned: for the program, when it takes none; NULL */
	size_t at, size;
	uint32_t room;  /* so many bytes may still be sent to the gate */
	uint32_t taken; /* by the program, and not yet reported */
	bool ended;     /* the gate sends no more */
	bool dry;       /* the program sends no more, and the gate was told */
	bool broken;    /* it is over, and the gate is to be told */
	bool reads;     /* it is watched for bytes; else only for errors */
	bool parked;    /* it is not watched: both sides have ended, and bytes are left */
	bool writes;    /* it is watched for room */
};

struct agent_query {
	uint32_t number; /* 0: unused */
	struct sockaddr_in from;
};

struct agent_network {
	bool used;
	int readable, writable; /* epoll sets; the first only while frames can be sent */
	int listeners[NETWORK_LISTENERS_MAX];
	unsigned listeners_count;
	int queries; /* the socket of DNS by UDP; -1 */
	bool full;   /* as many streams as there can be: none is accepted */
	bool due;    /* something is to be reported */
	uint32_t last, last_query;
	unsigned count, next; /* streams that are open; where to look first */
	struct agent_stream streams[CELL_STREAMS_MAX];
	struct agent_query asked[NETWORK_QUERIES];
};

struct agent;

void network_init(struct agent *agent);
/* Frames of the assignment. 0 or -errno. */
int network_address(struct agent *agent, const unsigned char *data, size_t size);
int network_port(struct agent *agent, const unsigned char *data, size_t size);
/* The program begins: the capability for the addresses is given up. 0 or -errno. */
int network_seal(const struct agent *agent);
/* A record of the gate. */
void network_take(struct agent *agent, const unsigned char *data, size_t size);
/* Passes on to the program what it takes now. */
void network_write(struct agent *agent);
/* Queues frames, up to a bound. True: there were some. */
bool network_read(struct agent *agent);
#endif
