/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said between a cell's gate and those who start it: fixed records on SOCK_SEQPACKET pairs.
 * The size of a record is that of its kind; anything else is a broken peer, and the end.
 */
#ifndef BRIG_NET_GATE_MESSAGES_H
#define BRIG_NET_GATE_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "net/rule.h"

/* Numbers of the two lines in the gate. */
#define GATE_FD_WARDEN 3
#define GATE_FD_CELL   4

/* Where a cell asks for names, and where its made-up addresses are from. */
#define GATE_RESOLVER  "127.0.0.53"
#define GATE_SYNTHETIC "198.18.0.0/15"

#define GATE_CREDENTIALS_MAX 16
#define GATE_HEADER_MAX      64
#define GATE_VALUE_MAX       4096
#define GATE_TRUST_MAX       8192
#define GATE_AUTHORITY_MAX   16384
/*
 * Connections of a run that are told of one by one, and as many refused ones, and as many names
 * that were not given; those behind are only counted.
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
	/* gate -> warden */
	GATE_AUTHORITY, /* once, first, where TLS is opened */
	GATE_CONNECTION,
	GATE_REFUSED, /* value: how many were refused without a record, so far */
	GATE_SPENT,   /* the limit on bytes is reached: the run is over */
	GATE_TOTAL,   /* its last word, when the warden has shut its side down */
};

struct gate_limits {
	uint32_t kind;
	uint32_t id;          /* whom to become, as root; 0: stays who it is */
	uint64_t bytes;       /* both directions, all connections */
	uint32_t connections; /* at a time */
	uint32_t connections_total;
	uint32_t rate; /* new ones in a second */
	uint32_t unused;
};

struct gate_rule {
	uint32_t kind;
	struct net_rule rule;
};

/*
 * Added to every HTTP request to this host; the program never has it. `opened`: to those within
 * TLS, which is opened for it, and never in clear; else to those in clear.
 */
struct gate_credential {
	uint32_t kind;
	uint32_t opened;
	char name[NET_NAME_MAX + 1];
	char header[GATE_HEADER_MAX];
	char value[GATE_VALUE_MAX];
};

/*
 * Authorities that a host's certificate is held against where its TLS is opened: PEM, piece by
 * piece. Without a name: for all hosts that have none of their own.
 */
struct gate_trust {
	uint32_t kind;
	uint32_t size;
	char name[NET_NAME_MAX + 1];
	char text[GATE_TRUST_MAX];
};

enum gate_trouble {
	GATE_TROUBLE_NONE,
	GATE_TROUBLE_TRUST, /* there is no certificate in what a host is to be held against */
	GATE_TROUBLE_MADE,  /* the authority could not be made */
	GATE_TROUBLES,
};

/* The authority of this cell alone, which its programs are to trust. */
struct gate_authority {
	uint32_t kind;
	uint32_t trouble;            /* enum gate_trouble */
	char host[NET_NAME_MAX + 1]; /* that the trouble is with; "" all */
	char text[GATE_AUTHORITY_MAX];
};

struct gate_word {
	uint32_t kind;
	uint32_t value;
};

enum gate_verdict {
	GATE_ALLOWED,
	GATE_REFUSED_NAME,     /* no rule has the name */
	GATE_REFUSED_PORT,     /* a rule has the host, none this port of it */
	GATE_REFUSED_ADDRESS,  /* it stands for a private or special address */
	GATE_REFUSED_PROTOCOL, /* not TLS or HTTP where it must be, or for another name */
	GATE_REFUSED_COUNT,    /* too many connections */
	GATE_REFUSED_PEER,     /* where TLS is opened: the host did not prove who it is */
	GATE_UNRESOLVED,       /* the name is not known */
	GATE_UNREACHABLE,
	GATE_SPENT_BYTES, /* cut off by the limit on bytes */
	GATE_VERDICTS,
};

/* What stands behind a verdict, where TLS is opened. */
enum gate_cause {
	GATE_CAUSE_NONE,
	GATE_CAUSE_UNTRUSTED,
	GATE_CAUSE_NAME,
	GATE_CAUSE_TIME,
	GATE_CAUSE_CERTIFICATE, /* anything else that is wrong with it */
	GATE_CAUSE_PROTOCOL,    /* no TLS 1.2 or later, no HTTP/1.1 */
	GATE_CAUSE_PROGRAM,     /* the program broke the handshake off, or cannot do it */
	GATE_CAUSES,
};

/* What could not be reached was not refused. */
static inline bool gate_is_refusal(uint32_t verdict)
{
	return verdict >= GATE_REFUSED_NAME && verdict <= GATE_REFUSED_PEER;
}

struct gate_connection {
	uint32_t kind;
	uint32_t verdict; /* enum gate_verdict */
	uint32_t port;    /* 0: a name that was asked for and not given */
	uint32_t cause;   /* enum gate_cause */
	uint64_t bytes_up, bytes_down;
	uint64_t extra_bytes; /* besides, since the last record: names, and what TLS adds */
	uint64_t took_ns;
	char host[NET_NAME_MAX + 1];    /* name, or address */
	char address[NET_ADDRESS_TEXT]; /* where it went; "" nowhere */
};

struct gate_total {
	uint32_t kind;
	uint32_t untold; /* connections that there was no record of */
	uint64_t connections;
	uint64_t refused; /* of those without a record */
	uint64_t bytes;
};
#endif
