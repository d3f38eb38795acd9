/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of the cell, from its start to its end.
 *
 *	inspecting  are its first bytes for the host that it was made for?
 *	resolving   finding the host's addresses
 *	dialling    connecting to the allowed ones, one after the other
 *	handshake   the host must prove its identity, where its TLS is opened
 *	answering   the host's bytes pass, and the program's first ones are still inspected
 *	passing     bytes, in both directions
 *	closing     the last bytes are being sent, in TLS that is opened
 *	cut         it ended early, and both sides see that
 *
 * Where TLS is opened (tls_open.c), the sockets of both sides are replaced by sockets with the
 * decrypted content, and from then on the connection is one of plain HTTP.
 *
 * Where a protocol need not be known beforehand, the first bytes are inspected while the host may
 * already answer.
 */
#ifndef BRIG_GATE_CONNECTION_H
#define BRIG_GATE_CONNECTION_H

#include "base/bytes/buf.h"
#include "base/invariant.h"
#include "gate/connection/pump.h"
#include "gate/connection/socket_watch.h"
#include "gate/tls/hello_reply.h"
#include "gate/tls/tls_opener.h"
#include "http1/http1.h"

/* cell_connection_enter() is the only function that changes it. */
enum connection_state {
	CONNECTION_INSPECTING,
	CONNECTION_RESOLVING,
	CONNECTION_DIALLING,
	CONNECTION_HANDSHAKE,
	CONNECTION_ANSWERING,
	CONNECTION_PASSING,
	CONNECTION_CLOSING,
	CONNECTION_CUT,
	CONNECTION_STATES
};

/* TLS that passes unopened: may the program send another ClientHello in clear? */
enum hello_state {
	HELLO_NONE,  /* no TLS, or none yet */
	HELLO_SENT,  /* the server has not accepted it yet */
	HELLO_AGAIN, /* the server wants another one, which must be inspected as well */
	HELLO_DONE,
};

struct cell_connection {
	struct gate *gate;
	struct cell_connection *next, **link;
	enum connection_state state;
	const struct net_rule *rule;
	enum net_protocol protocol;
	bool named;  /* made for a name, not for an address */
	bool opened; /* its TLS is opened */
	bool wide;   /* its outer buffers grow as far as the host allows */
	struct gate_connection record;
	struct net_address target; /* when not made for a name */
	uint64_t born_ns;
	uint32_t stream; /* its number, if it came over the agent's stream; 0: it did not */

	int inside, outside;              /* owned; -1: none */
	struct tls_end *in_end, *out_end; /* owned; NULL: the sockets are those of the network */
	struct socket_watch in_watch, out_watch;
	struct loop_timer timer;
	struct lookup *lookup; /* owned */
	struct resolved addresses;
	unsigned tried;
	bool forbidden; /* some address of the name may not be connected to */

	struct buf first; /* the first bytes from inside, until they are inspected */
	struct buf head;  /* bytes that go out before anything else */
	size_t head_sent;
	enum hello_state hello;
	struct hello_reply reply; /* the server's reply to a ClientHello */
	struct buf back;          /* bytes of the server on their way to the program */
	size_t back_sent;
	uint64_t body;            /* how many bytes may follow; UINT64_MAX: any number */
	struct http1_reader http; /* of the request; measures its chunks as they arrive */
	struct pump up, down;     /* while bytes pass */
};

void cell_connection_enter(struct cell_connection *connection, enum connection_state state);
/* Bytes pass, at least those of the host. */
static inline bool connection_passes(const struct cell_connection *connection)
{
	return connection->state == CONNECTION_ANSWERING || connection->state == CONNECTION_PASSING;
}

/* Ends the connection and reports the reason. */
void connection_end(struct cell_connection *connection, enum gate_verdict verdict);
/* Frees it without a report. */
void connection_free(struct cell_connection *connection);
/* Moves all bytes that can be moved now. */
void connection_step(struct cell_connection *connection);
/* Waits for the events that its state needs; ends the connection when that fails. */
void connection_wait(struct cell_connection *connection);

/*
 * Reads and checks the first bytes: inspect.c. 1: known; 0: more must come; -errno: refused,
 * -EDQUOT by the limit on bytes.
 */
int connection_inspect(struct cell_connection *connection);
/* Adds to the first bytes: inspect.c. 1: some arrived; 0: none now; -errno. */
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
/* To call from the moment when the server may answer. 0 or -errno. */
int connection_follow_begin(struct cell_connection *connection);
/* The bytes after the ClientHello, of both sides. 0; -EBADMSG, -EPERM: refused; -EDQUOT; -errno. */
int connection_follow(struct cell_connection *connection);
/* Is there a chunked body that has not ended? inspect.c. */
bool connection_is_measured(const struct cell_connection *connection);
/* Finds how many of the received bytes belong to a chunked body: inspect.c. 0 or -errno. */
int connection_measure(struct cell_connection *connection);
/*
 * Sends a final error in the connection's own protocol, so that the program can see the reason:
 * inspect.c.
 */
bool connection_explain(struct cell_connection *connection, enum gate_verdict verdict);

/* Opens TLS to the cell, after its ClientHello was inspected: tls_open.c. */
void connection_open_inside(struct cell_connection *connection);
/* Opens TLS to the connected host; then connection_pass(). */
void connection_open_outside(struct cell_connection *connection);
/* Stays open until all that was written has gone through the cell's TLS, or for a short time. */
void connection_close_gracefully(struct cell_connection *connection);

/* Resolves and connects, in dial.c, which then calls connection_pass(). */
void connection_resolve(struct cell_connection *connection);
/* An event on the outer socket while it is being connected. */
void connection_dialled(struct cell_connection *connection);
void connection_pass(struct cell_connection *connection);
#endif
