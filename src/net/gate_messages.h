/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol between a cell's gate and its parents: fixed records on SOCK_SEQPACKET pairs. Each
 * kind of record has one size; any other size is a protocol error and ends the connection.
 */
#ifndef BRIG_NET_GATE_MESSAGES_H
#define BRIG_NET_GATE_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "net/rule.h"

/* Descriptors of the two sockets in the gate. */
#define GATE_FD_WARDEN 3
#define GATE_FD_CELL   4

/* The address of the cell's resolver, and the range of its made-up addresses. */
#define GATE_RESOLVER  "127.0.0.53"
#define GATE_SYNTHETIC "198.18.0.0/15"

#define GATE_CREDENTIALS_MAX 16
#define GATE_HEADER_MAX      64
#define GATE_VALUE_MAX       4096
#define GATE_TRUST_MAX       8192
#define GATE_AUTHORITY_MAX   16384
/*
 * The most connections of a run that are reported one by one; the same number of refused ones, and
 * of refused names. Further ones are only counted.
 */
#define GATE_TOLD_MAX 128

enum gate_kind {
	/* warden -> gate, in this order; rules and credentials as often as there are some */
	GATE_LIMITS = 1,
	GATE_RULE,
	GATE_CREDENTIAL,
	GATE_TRUST,
	GATE_BEGIN,
	/* brig-init -> gate, once, with the sockets: DNS by UDP, DNS by TCP, then one each port */
	GATE_LISTENERS,
	/* or warden -> gate, on the same line: records of net/cell_stream.h follow, both ways */
	GATE_STREAMS,
	/* gate -> warden */
	GATE_AUTHORITY, /* once, first, where TLS is opened */
	GATE_CONNECTION,
	GATE_REFUSED, /* value: how many were refused without a record, so far */
	GATE_SPENT,   /* the limit on bytes is reached: the run is over */
	GATE_TOTAL,   /* the last record, after the warden has closed its side */
};

struct gate_limits {
	uint32_t kind;
	uint32_t id;          /* the user id to change to, as root; 0: no change */
	uint64_t bytes;       /* both directions, all connections */
	uint32_t connections; /* at a time */
	uint32_t connections_total;
	uint32_t rate;     /* new ones in a second */
	uint32_t streamed; /* 1: connections come by GATE_STREAMS, and there are no listeners */
};

struct gate_rule {
	uint32_t kind;
	struct net_rule rule;
};

/*
 * Added to every HTTP request to this host; the program never sees it. `opened`: only to requests
 * within TLS, which is opened for that, and never in clear; else only to those in clear.
 */
struct gate_credential {
	uint32_t kind;
	uint32_t opened;
	char name[NET_NAME_MAX + 1];
	char header[GATE_HEADER_MAX];
	char value[GATE_VALUE_MAX];
};

/*
 * Authorities that a host's certificate is verified against where its TLS is opened: PEM, in
 * pieces. Without a name: for all hosts that have none of their own.
 */
struct gate_trust {
	uint32_t kind;
	uint32_t size;
	char name[NET_NAME_MAX + 1];
	char text[GATE_TRUST_MAX];
};

enum gate_trouble {
	GATE_TROUBLE_NONE,
	GATE_TROUBLE_TRUST, /* no certificate among the trusted authorities of a host */
	GATE_TROUBLE_MADE,  /* the authority could not be made */
	GATE_TROUBLES,
};

/* The authority of this cell alone, which its programs are to trust. */
struct gate_authority {
	uint32_t kind;
	uint32_t trouble;            /* enum gate_trouble */
	char host[NET_NAME_MAX + 1]; /* that has the trouble; "": all */
	char text[GATE_AUTHORITY_MAX];
};

struct gate_word {
	uint32_t kind;
	uint32_t value;
};

enum gate_verdict {
	GATE_ALLOWED,
	GATE_REFUSED_NAME,     /* no rule allows the name */
	GATE_REFUSED_PORT,     /* a rule allows the host, but not this port */
	GATE_REFUSED_ADDRESS,  /* it resolves to a private or special address */
	GATE_REFUSED_PROTOCOL, /* not TLS or HTTP where it must be, or for another name */
	GATE_REFUSED_COUNT,    /* too many connections */
	GATE_REFUSED_PEER,     /* where TLS is opened: the host did not prove its identity */
	GATE_UNRESOLVED,       /* the name was not found */
	GATE_UNREACHABLE,
	GATE_SPENT_BYTES, /* cut off by the limit on bytes */
	GATE_VERDICTS,
};

/* The reason behind a verdict, where TLS is opened. */
enum gate_cause {
	GATE_CAUSE_NONE,
	GATE_CAUSE_UNTRUSTED,
	GATE_CAUSE_NAME,
	GATE_CAUSE_TIME,
	GATE_CAUSE_CERTIFICATE, /* any other fault of the certificate */
	GATE_CAUSE_PROTOCOL,    /* no TLS 1.2 or later, no HTTP/1.1 */
	GATE_CAUSE_PROGRAM,     /* the program ended the handshake, or cannot do it */
	GATE_CAUSES,
};

/* An unreachable host was not refused. */
static inline bool gate_is_refusal(uint32_t verdict)
{
	return verdict >= GATE_REFUSED_NAME && verdict <= GATE_REFUSED_PEER;
}

struct gate_connection {
	uint32_t kind;
	uint32_t verdict; /* enum gate_verdict */
	uint32_t port;    /* 0: a name that was asked for and refused */
	uint32_t cause;   /* enum gate_cause */
	uint64_t bytes_up, bytes_down;
	/* outside of connections, since the last record: DNS, and the overhead of TLS */
	uint64_t extra_bytes;
	uint64_t took_ns;
	char host[NET_NAME_MAX + 1];    /* name, or address */
	char address[NET_ADDRESS_TEXT]; /* the address connected to; "": none */
};

struct gate_total {
	uint32_t kind;
	uint32_t untold; /* connections without a record */
	uint64_t connections;
	uint64_t refused; /* of those without a record */
	uint64_t bytes;
};
#endif
