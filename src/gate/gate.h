/* SPDX-License-Identifier: Apache-2.0 */
/* The gate of one cell: declarations that its files share. See gate.c. */
#ifndef BRIG_GATE_GATE_H
#define BRIG_GATE_GATE_H

#include "base/bytes/buf.h"
#include "gate/dns/name_table.h"
#include "gate/dns/resolve.h"
#include "net/cell_stream.h"
#include "net/gate_messages.h"

#define GATE_LISTENERS_MAX (NET_PORTS_MAX + 2)
/*
 * Refused names are reported once each, up to this many, and again when they are asked for later: a
 * program often asks several times for the same name.
 */
#define GATE_UNKNOWN_NAMES_MAX 32
#define GATE_UNKNOWN_NAME_NS   UINT64_C(1000000000)

struct cell_connection;
struct cell_stream;
struct tls_opener;

/* Exit statuses. */
enum {
	GATE_FINE = 0,
	GATE_BROKEN_RULES = 1,
	GATE_WRONG_START = 2,
	GATE_FAILED = 125,
};

struct gate_listener {
	struct gate *gate;
	int fd; /* owned */
	struct loop_source *source;
};

/* How many connections of a kind were reported to the warden recently. */
struct report_rate {
	unsigned count;
	uint64_t last_ns;
};

/* Certificate authorities as received: PEM. */
struct trust {
	char name[NET_NAME_MAX + 1]; /* "": for all hosts that have none of their own */
	struct buf text;
};

struct gate {
	struct loop *loop;
	const struct tls_opener *opener; /* NULL: TLS is never opened */
	void *opener_state;              /* the opener's own */
	struct gate_limits limits;
	struct net_rule rules[NET_RULES_MAX];
	unsigned rules_count;
	struct gate_credential *credentials; /* owned */
	unsigned credentials_count;
	struct trust trusts[GATE_CREDENTIALS_MAX + 1];
	unsigned trusts_count;
	bool begun;

	struct name_table names;
	struct resolver resolver;
	struct gate_listener listeners[GATE_LISTENERS_MAX];
	unsigned listeners_count;
	struct loop_source *warden, *cell;
	/* Where the cell's connections come over the stream of its agent: cell_streams.c. */
	struct cell_streams {
		struct cell_stream *list; /* owned */
		unsigned count;
		uint32_t last; /* the highest number so far */
		bool begun;
		bool full;                           /* the line takes no record now */
		unsigned char held[CELL_RECORD_MAX]; /* it waits for the line; 0 bytes: none */
		size_t held_size;
	} forwarded;
	int routes; /* owned; to ask which addresses are the host's own. -errno: cannot be asked */

	struct cell_connection *connections; /* owned, a list */
	unsigned open, wide, streams, unreported;
	struct report_rate rate_allowed, rate_refused, rate_names;
	uint64_t made;
	uint64_t refused;     /* without a record */
	uint64_t bytes;       /* in both directions, of all connections */
	uint64_t extra_bytes; /* of them, bytes outside of connections that are not reported yet */
	bool spent;
	struct loop_timer spending;
	double tokens; /* for new connections */
	uint64_t tokens_ns;
	char unknown_names[GATE_UNKNOWN_NAMES_MAX][NET_NAME_MAX + 1];
	uint64_t unknown_names_ns[GATE_UNKNOWN_NAMES_MAX]; /* when it was reported */
	unsigned unknown_names_count;
};

/* A message of the warden; a table defines which may come when: messages.c. 0, or -EPROTO. */
int gate_take_message(struct gate *gate, const void *data, size_t size);
/* Reads one record from each socket. 1: read; 0: the other end is closed; -errno. */
int gate_read_warden(struct gate *gate);
int gate_read_cell(struct gate *gate);

/* Does the operator want TLS to this host opened? */
bool gate_opens(const struct gate *gate, const char *name);
/*
 * The first rule that allows it; NULL: none. `host_known`: a rule has the host, for another port.
 */
const struct net_rule *gate_rule_for_name(const struct gate *gate, const char *name, uint16_t port,
					  bool *host_known);
const struct net_rule *gate_rule_for_address(const struct gate *gate,
					     const struct net_address *address, uint16_t port);

/* Sockets that the cell's init has made: cell_listeners.c. 0 or -EPROTO. */
int gate_listen(struct gate *gate, const int *fds, unsigned count);
void gate_listen_done(struct gate *gate);

/* Answers one DNS query of the cell; returns the answer's size: dns_answer.c. */
size_t gate_answer_query(struct gate *gate, const uint8_t *query, size_t size, uint8_t *out,
			 size_t room);
void gate_on_datagram(void *user, uint32_t events);

/* The number of bytes that may still be sent and received: byte_budget.c. */
uint64_t gate_budget(const struct gate *gate);
/*
 * Charges bytes that no connection of the cell carries: DNS queries and answers, and the bytes that
 * TLS adds. false: fewer are left, so these must not be passed on, and the run ends soon.
 */
bool gate_charge(struct gate *gate, uint64_t bytes);
/* The budget is used up: reports to the warden, and ends all connections. */
void gate_end_budget(struct gate *gate);

/* Where a connection of the cell leads. */
struct cell_origin {
	bool known;
	struct net_address to;
	uint16_t port;
	uint32_t stream; /* 0: it is a socket of the cell's network */
};

/* A new connection of the cell: connection.c. Takes the socket. */
void connection_new(struct gate *gate, int fd);
void connection_from(struct gate *gate, int fd, const struct cell_origin *origin);
/* Records of the agent come on the line of the cell: cell_streams.c. 0 or -errno. */
int streams_begin(struct gate *gate);
/* One record. 0 or -EPROTO, -ENOMEM. */
int streams_take(struct gate *gate, const unsigned char *data, size_t size);
/* The connection of this stream ended early: so its program sees a reset. 0: of no stream. */
void streams_cut(struct gate *gate, uint32_t number);
void streams_free_all(struct gate *gate);
/* The same for DNS by TCP: dns_stream.c. */
void dns_stream_new(struct gate *gate, int fd);
void connection_free_all(struct gate *gate);

/* Reports to the warden: warden_reports.c. A connection that cannot be reported is only counted. */
void report_connection(struct gate *gate, const struct gate_connection *record);
/* Counts one more refusal without a record. */
void report_refused(struct gate *gate);
void report_authority(const struct gate_authority *authority);
void report_spent(struct gate *gate);
void report_total(struct gate *gate);

/* The whole program: gate.c. Returns its exit status. `opener` may be NULL. */
int gate_program(const struct tls_opener *opener);

/* Gives up all privileges that are not needed any more: seal.c. 0 or -errno. */
int gate_seal(const struct gate *gate);
#endif
