/* SPDX-License-Identifier: Apache-2.0 */
/* The gate of one cell: what its files share. See main.c. */
#ifndef BRIG_GATE_GATE_H
#define BRIG_GATE_GATE_H

#include "base/buf.h"
#include "gate/name_table.h"
#include "gate/resolve.h"
#include "net/gate_messages.h"

#define GATE_LISTENERS_MAX (NET_PORTS_MAX + 2)
/*
 * Names that were asked for and refused are told once each, as far as this goes, and again when
 * they are asked for later: one program asks several times for the same.
 */
#define GATE_UNKNOWN_NAMES_MAX 32
#define GATE_UNKNOWN_NAME_NS   UINT64_C(1000000000)

struct cell_connection;
struct tls_opener;

struct gate_listener {
	struct gate *gate;
	int fd; /* owned */
	struct loop_source *source;
};

/* How many connections of a kind the warden was told of lately. */
struct report_rate {
	unsigned count;
	uint64_t last_ns;
};

/* Authorities, as they came: PEM. */
struct trust {
	char name[NET_NAME_MAX + 1]; /* "": for all that have none of their own */
	struct buf text;
};

struct gate {
	struct loop *loop;
	const struct tls_opener *opener; /* NULL: TLS is never opened */
	void *opener_state;              /* its own */
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
	int routes; /* owned; asks which addresses are the host's own. -errno: none can be asked */

	struct cell_connection *connections; /* owned, a list */
	unsigned open, wide, streams, unreported;
	struct report_rate rate_allowed, rate_refused, rate_names;
	uint64_t made;
	uint64_t refused;     /* without a record */
	uint64_t bytes;       /* both ways, of all */
	uint64_t extra_bytes; /* of them, besides what connections carried; not told yet */
	bool spent;
	struct loop_timer spending;
	double tokens; /* for new connections */
	uint64_t tokens_ns;
	char unknown_names[GATE_UNKNOWN_NAMES_MAX][NET_NAME_MAX + 1];
	uint64_t unknown_names_ns[GATE_UNKNOWN_NAMES_MAX]; /* when it was told */
	unsigned unknown_names_count;
};

/* Orders of the warden, by a table of what may come when: messages.c. 0, or -EPROTO. */
int gate_take_message(struct gate *gate, const void *data, size_t size);
/* One record from each line. 1: taken; 0: the other end is gone; -errno. */
int gate_read_warden(struct gate *gate);
int gate_read_cell(struct gate *gate);

/* Does the operator want TLS to this host opened? */
bool gate_opens(const struct gate *gate, const char *name);
/* The first rule that allows it; NULL: none. `host_known`: one has the host, at another port. */
const struct net_rule *gate_rule_for_name(const struct gate *gate, const char *name, uint16_t port,
					  bool *host_known);
const struct net_rule *gate_rule_for_address(const struct gate *gate,
					     const struct net_address *address, uint16_t port);

/* Listeners that the cell's init has made: cell_listeners.c. 0 or -EPROTO. */
int gate_listen(struct gate *gate, const int *fds, unsigned count);
void gate_listen_done(struct gate *gate);

/* Answers one question of the cell; returns the answer's size: dns_answer.c. */
size_t gate_answer_query(struct gate *gate, const uint8_t *query, size_t size, uint8_t *out,
			 size_t room);
void gate_on_datagram(void *user, uint32_t events);

/* What may still be sent and received: byte_budget.c. */
uint64_t gate_budget(const struct gate *gate);
/*
 * For bytes that no connection of the cell's carries: questions and answers about names, and what
 * TLS adds. false: there are not as many left, they must not go on, and soon all is over.
 */
bool gate_charge(struct gate *gate, uint64_t bytes);
/* There are none left: tells the warden, and ends all connections. */
void gate_end_budget(struct gate *gate);

/* A connection of the cell's has come: connection.c. Takes the socket. */
void connection_new(struct gate *gate, int fd);
/* The same, where names are asked for: dns_stream.c. */
void dns_stream_new(struct gate *gate, int fd);
void connection_free_all(struct gate *gate);

/* To the warden: warden_reports.c. What there is no room for is counted. */
void report_connection(struct gate *gate, const struct gate_connection *record);
/* One more was refused that there is no record of. */
void report_refused(struct gate *gate);
void report_authority(const struct gate_authority *authority);
void report_spent(struct gate *gate);
void report_total(struct gate *gate);

/* The whole program: program.c. Returns its exit status. `opener` may be NULL. */
int gate_program(const struct tls_opener *opener);

/* Whatever it does not need, for good: seal.c. 0 or -errno. */
int gate_seal(const struct gate *gate);
#endif
