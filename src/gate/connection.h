/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of the cell's, from its coming to its end.
 *
 *	looking     what does it begin with: is it for the host that it was made for
 *	resolving   what are the host's addresses
 *	dialling    one after the other that may be connected to
 *	greeting    the host must prove who it is, where its TLS is opened
 *	passing     bytes, both ways
 *	leaving     a last word is on its way, in TLS that is opened
 *
 * Where TLS is opened (tls_open.c), the sockets of both sides are changed for ones that have the
 * content, and from then on the connection is one of plain HTTP.
 *
 * Where a protocol need not be known beforehand, it is inspected while bytes already come back.
 */
#ifndef BRIG_GATE_CONNECTION_H
#define BRIG_GATE_CONNECTION_H

#include "base/buf.h"
#include "gate/hello_reply.h"
#include "gate/pump.h"
#include "gate/socket_watch.h"
#include "gate/tls_opener.h"
#include "http1/http1.h"

enum connection_state {
	CONNECTION_INSPECTING,
	CONNECTION_RESOLVING,
	CONNECTION_DIALLING,
	CONNECTION_HANDSHAKE,
	CONNECTION_PASSING,
	CONNECTION_CLOSING,
};

/* TLS that passes unopened: may the program send another ClientHello in clear? */
enum hello_state {
	HELLO_NONE,  /* no TLS, or none yet */
	HELLO_SENT,  /* the server has not said whether it takes it */
	HELLO_AGAIN, /* it wants another one, which must be inspected as well */
	HELLO_DONE,
};

struct cell_connection {
	struct gate *gate;
	struct cell_connection *next, **link;
	enum connection_state state;
	const struct net_rule *rule;
	enum net_protocol protocol;
	bool named;     /* made for a name, not for an address */
	bool opened;    /* its TLS is */
	bool cut;       /* it did not come to its end by itself */
	bool wide;      /* its buffers outside grow as the host allows */
	bool inspected; /* its first bytes have been checked, or need not be */
	struct gate_connection record;
	struct net_address target; /* for an address */
	uint64_t born_ns;

	int inside, outside;              /* owned; -1: none */
	struct tls_end *in_end, *out_end; /* owned; NULL: the sockets are those of the network */
	struct socket_watch in_watch, out_watch;
	struct loop_timer timer;
	struct lookup *lookup; /* owned */
	struct resolved addresses;
	unsigned tried;
	bool forbidden; /* some address of the name may not be connected to */

	struct buf first; /* the first bytes from inside, until they are known */
	struct buf head;  /* what goes out before anything else */
	size_t head_sent;
	enum hello_state hello;
	struct hello_reply reply; /* of the server, to a hello */
	struct buf back;          /* what it has said, on its way to the program */
	size_t back_sent;
	uint64_t body;            /* how much may follow it; UINT64_MAX: any */
	struct http1_reader http; /* of the request; measures its chunks as they come */
	struct pump up, down;
	bool piped;
};

/* The end, for a reason that is told. */
void connection_end(struct cell_connection *connection, enum gate_verdict verdict);
/* Without a word. */
void connection_free(struct cell_connection *connection);
/* Moves what can be moved. */
void connection_step(struct cell_connection *connection);
/* Waits for what its state needs; ends it when that cannot be had. */
void connection_wait(struct cell_connection *connection);

/*
 * Reads and judges the first bytes: inspect.c. 1: known; 0: more must come; -errno: refused,
 * -EDQUOT by the limit on bytes.
 */
int connection_inspect(struct cell_connection *connection);
/* Adds to the first bytes: inspect.c. 1: something came; 0: nothing now; -errno. */
int connection_read_first(struct cell_connection *connection);
/*
 * Checks for a whole ClientHello for this host, and returns its size: inspect.c. 0; -EAGAIN: more
 * must come; -errno: refused.
 */
int connection_judge_hello(struct cell_connection *connection, size_t *ret_size);
/*
 * The first `size` bytes are a ClientHello that was inspected, and go out: tls_passthrough.c.
 * 0 or -errno.
 */
int connection_follow_hello(struct cell_connection *connection, size_t size);
bool connection_is_followed(const struct cell_connection *connection);
/* From when on the server may answer. 0 or -errno. */
int connection_follow_begin(struct cell_connection *connection);
/* What comes behind it, from both sides. 0; -EBADMSG, -EPERM: refused; -EDQUOT; -errno. */
int connection_follow(struct cell_connection *connection);
/* Is there a chunked body that has not ended? inspect.c. */
bool connection_is_measured(const struct cell_connection *connection);
/* How much of what has come belongs to a chunked body: inspect.c. 0 or -errno. */
int connection_measure(struct cell_connection *connection);
/* A last word in the protocol's own language, so that the program can tell why: inspect.c. */
bool connection_explain(struct cell_connection *connection, enum gate_verdict verdict);

/* TLS to the cell is opened from here on, its ClientHello has been inspected: tls_open.c. */
void connection_open_inside(struct cell_connection *connection);
/* TLS to the host, which is connected: then connection_pass(). */
void connection_open_outside(struct cell_connection *connection);
/* Until what was said has gone through the cell's TLS, or for a moment. */
void connection_close_gracefully(struct cell_connection *connection);

/* From here on it is for dial.c, until it calls connection_pass(). */
void connection_resolve(struct cell_connection *connection);
/* The socket to the outside stirs while it is being connected. */
void connection_dialled(struct cell_connection *connection);
void connection_pass(struct cell_connection *connection);
#endif
