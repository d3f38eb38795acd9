/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: see connection.h. */
#include "gate/connection/connection.h"
#include "gate/connection/http_head.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* For the first bytes of a protocol that is inspected before anything is sent. */
#define INSPECT_TIMEOUT_NS 30000000000ull

void connection_free(struct cell_connection *c)
{
	socket_watch_done(&c->in_watch);
	socket_watch_done(&c->out_watch);
	loop_timer_clear(&c->timer);
	lookup_free(c->lookup);
	buf_done(&c->first);
	buf_done(&c->head);
	buf_done(&c->back);
	pump_done(&c->up);
	pump_done(&c->down);
	if (c->gate->opener) {
		c->gate->opener->free(c->in_end, c->state == CONNECTION_CUT);
		c->gate->opener->free(c->out_end, c->state == CONNECTION_CUT);
	}
	close_fd(&c->inside);
	close_fd(&c->outside);
	*c->link = c->next;
	if (c->next) {
		c->next->link = c->link;
	}
	c->gate->open--;
	c->gate->wide -= c->wide;
	free(c);
}

/*
 * A refused connection ends with a reset, so that a program cannot take it for the end of a
 * response.
 */
static void reset(int fd)
{
	struct linger now = { .l_onoff = 1 };

	if (fd >= 0) {
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	}
}

/* A request with a complete response is over, even if the program did not close its side. */
static bool is_whole(const struct cell_connection *c)
{
	bool sent = c->up.left == 0 && !connection_is_measured(c);

	return connection_passes(c) && c->down.over && (c->up.over || sent) &&
	       (!c->in_end || c->in_end->flushed);
}

void connection_end(struct cell_connection *c, enum gate_verdict verdict)
{
	c->record.verdict = verdict;
	c->record.took_ns = clock_now_ns() - c->born_ns;
	/* First: a program that has seen its refusal may end before the report is sent. */
	report_connection(c->gate, &c->record);
	bool explained = verdict != GATE_ALLOWED && connection_explain(c, verdict);
	if (!explained && !is_whole(c)) {
		cell_connection_enter(c, CONNECTION_CUT);
		streams_cut(c->gate, c->stream);
		reset(c->inside);
		reset(c->outside);
	}
	if (explained && c->in_end && !c->in_end->failed) {
		connection_close_gracefully(c);
	} else {
		connection_free(c);
	}
}

void connection_free_all(struct gate *gate)
{
	while (gate->connections) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): its end removes it from the list */
		if (gate->connections->state == CONNECTION_CLOSING) {
			connection_free(gate->connections);
			continue;
		}
		connection_end(gate->connections, gate->spent ? GATE_SPENT_BYTES : GATE_ALLOWED);
	}
}

/* --- passing bytes ------------------------------------------------------------------------- */

static int send_head(struct cell_connection *c)
{
	while (c->head_sent < c->head.size) {
		ssize_t n = send(c->outside, c->head.data + c->head_sent,
				 c->head.size - c->head_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0) {
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		}
		c->head_sent += (size_t)n;
	}
	return 0;
}

static int64_t pump(struct cell_connection *c, struct pump *which, uint64_t *counter)
{
	/* Bytes are charged when they arrive, so that no more than the limit ever passes. */
	int64_t came = pump_run(which, gate_budget(c->gate));

	if (came > 0) {
		*counter += (uint64_t)came;
		c->gate->bytes += (uint64_t)came;
	}
	return came;
}

static void refuse(struct cell_connection *c, int why)
{
	if (why == -EDQUOT) {
		gate_end_budget(c->gate);
	} else {
		connection_end(c, GATE_REFUSED_PROTOCOL);
	}
}

static int follow(struct cell_connection *c)
{
	int r = c->hello == HELLO_NONE ? 0 : connection_follow_begin(c);

	return r < 0 || c->hello == HELLO_NONE ? r : connection_follow(c);
}

/* Moves bytes that need not be inspected any more. 0 or -errno. */
static int move(struct cell_connection *c)
{
	int r = send_head(c);

	if (r < 0 || connection_is_followed(c)) {
		return r;
	}
	if (c->state == CONNECTION_PASSING && c->head_sent == c->head.size &&
	    pump(c, &c->up, &c->record.bytes_up) < 0) {
		return -EIO;
	}
	if (c->back_sent == c->back.size && pump(c, &c->down, &c->record.bytes_down) < 0) {
		return -EIO;
	}
	return 0;
}

void connection_step(struct cell_connection *c)
{
	int r = 0;

	if (c->state == CONNECTION_ANSWERING) {
		r = connection_inspect(c);
		if (r < 0) {
			refuse(c, r);
			return;
		}
		if (r == 1) {
			cell_connection_enter(c, CONNECTION_PASSING);
		}
	}
	r = connection_measure(c);
	if (r == 0) {
		r = follow(c);
	}
	if (r == -EBADMSG || r == -EPERM || r == -EDQUOT) {
		refuse(c, r);
		return;
	}
	r = r < 0 ? r : move(c);
	if (gate_budget(c->gate) == 0) {
		gate_end_budget(c->gate);
		return;
	}
	if (r < 0 || is_whole(c)) {
		connection_end(c, GATE_ALLOWED);
		return;
	}
	connection_wait(c);
}

void connection_pass(struct cell_connection *c)
{
	int on = 1;

	loop_timer_clear(&c->timer);
	(void)setsockopt(c->inside, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(c->outside, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* Of other protocols and targets the first bytes have been checked, or need not be. */
	cell_connection_enter(c, c->named && c->protocol == NET_ANY ? CONNECTION_ANSWERING
								    : CONNECTION_PASSING);
	if (pump_init(&c->up, c->inside, c->outside) < 0 ||
	    pump_init(&c->down, c->outside, c->inside) < 0) {
		connection_end(c, GATE_UNREACHABLE);
		return;
	}
	c->up.left = c->body;
	connection_step(c);
}

/* --- waiting ------------------------------------------------------------------------------- */

static void on_inside(void *user, uint32_t events)
{
	struct cell_connection *c = user;
	bool gone = socket_watch_is_gone(&c->in_watch, events);

	if (connection_passes(c) && !gone) {
		connection_step(c);
		return;
	}
	if (c->state != CONNECTION_INSPECTING) {
		connection_end(c, GATE_ALLOWED); /* the program has gone */
		return;
	}
	int r = connection_inspect(c);
	if (r < 0) {
		refuse(c, r);
	} else if (r == 1 && c->opened && !c->in_end) {
		connection_open_inside(c);
	} else if (r == 1) {
		connection_resolve(c);
	}
}

static void on_outside(void *user, uint32_t events)
{
	struct cell_connection *c = user;

	(void)events;
	if (connection_passes(c)) {
		connection_step(c);
	} else {
		connection_dialled(c);
	}
}

static uint32_t wanted_inside(const struct cell_connection *c)
{
	if (c->state == CONNECTION_INSPECTING) {
		return EPOLLIN;
	}
	if (!connection_passes(c)) {
		return 0;
	}
	bool measures = connection_is_measured(c) && !c->up.held;
	bool more = measures || pump_wants_in(&c->up);
	bool reads = c->state == CONNECTION_ANSWERING ||
		     (c->hello != HELLO_SENT && c->head_sent == c->head.size && more);
	bool writes = c->back_sent < c->back.size || pump_wants_out(&c->down);
	return (reads ? EPOLLIN : 0u) | (writes ? EPOLLOUT : 0u);
}

static uint32_t wanted_outside(const struct cell_connection *c)
{
	if (c->state == CONNECTION_DIALLING) {
		return EPOLLOUT;
	}
	if (!connection_passes(c)) {
		return 0;
	}
	bool writes = c->head_sent < c->head.size || pump_wants_out(&c->up);
	bool reads = c->back_sent == c->back.size && pump_wants_in(&c->down);
	return (reads ? EPOLLIN : 0u) | (writes ? EPOLLOUT : 0u);
}

void connection_wait(struct cell_connection *c)
{
	bool resets = connection_passes(c) && !c->in_end && !c->down.over;
	struct socket_watch_request inside = { c->inside, wanted_inside(c), resets, on_inside, c };
	struct socket_watch_request outside = { c->outside, wanted_outside(c), false, on_outside,
						c };
	int r = socket_watch_set(&c->in_watch, c->gate->loop, &inside);

	if (r == 0 && c->outside >= 0) {
		r = socket_watch_set(&c->out_watch, c->gate->loop, &outside);
	}
	if (r < 0) {
		connection_end(c, GATE_UNREACHABLE);
	}
}

/* --- the beginning ------------------------------------------------------------------------- */

/* A rate per second, and a burst of the same size. */
static bool is_too_fast(struct gate *gate)
{
	uint64_t now = clock_now_ns();
	double more = (double)(now - gate->tokens_ns) / 1e9 * gate->limits.rate;

	gate->tokens = gate->tokens_ns ? gate->tokens + more : gate->limits.rate;
	gate->tokens_ns = now;
	if (gate->tokens > gate->limits.rate) {
		gate->tokens = gate->limits.rate;
	}
	if (gate->tokens < 1) {
		return true;
	}
	gate->tokens -= 1;
	return false;
}

/* The destination: a name, found by its made-up address, or an address. */
static enum gate_verdict find_rule(struct cell_connection *c, const struct net_address *to,
				   uint16_t port)
{
	struct gate *gate = c->gate;
	const char *name = name_table_find(&gate->names, to);
	bool known = false;

	/*
	 * In the cell "localhost" is the cell. A rule for localhost means this host, unless another
	 * rule has the address.
	 */
	if (!name && net_address_is_loopback(to) && !gate_rule_for_address(gate, to, port)) {
		name = gate_rule_for_name(gate, "localhost", port, &known) ? "localhost" : NULL;
	}
	c->named = name != NULL;
	if (name) {
		memcpy(c->record.host, name, strlen(name) + 1);
		c->rule = gate_rule_for_name(gate, name, port, &known);
		return c->rule ? GATE_ALLOWED : known ? GATE_REFUSED_PORT : GATE_REFUSED_NAME;
	}
	net_address_format(to, c->record.host);
	c->target = *to;
	c->rule = gate_rule_for_address(gate, to, port);
	return c->rule ? GATE_ALLOWED : GATE_REFUSED_ADDRESS;
}

static enum gate_verdict admit(struct cell_connection *c, const struct cell_origin *origin)
{
	struct gate *gate = c->gate;

	if (!origin->known) {
		return GATE_REFUSED_ADDRESS;
	}
	c->record.port = origin->port;
	enum gate_verdict verdict = find_rule(c, &origin->to, origin->port);
	if (verdict == GATE_ALLOWED &&
	    (gate->open > gate->limits.connections || gate->made > gate->limits.connections_total ||
	     is_too_fast(gate))) {
		verdict = GATE_REFUSED_COUNT;
	}
	return verdict;
}

static void on_timeout(void *user)
{
	connection_end(user, GATE_REFUSED_PROTOCOL);
}

void connection_new(struct gate *gate, int fd)
{
	struct cell_origin origin = { 0 };
	struct sockaddr_storage name;
	socklen_t size = sizeof(name);

	origin.known = getsockname(fd, (struct sockaddr *)&name, &size) == 0 &&
		       net_address_from(&name, &origin.to, &origin.port) == 0;
	connection_from(gate, fd, &origin);
}

void connection_from(struct gate *gate, int fd, const struct cell_origin *origin)
{
	struct cell_connection *c = calloc(1, sizeof(*c));

	if (!c || gate->spent) {
		streams_cut(gate, origin->stream);
		reset(fd);
		close(fd);
		free(c);
		return;
	}
	*c = (struct cell_connection){ .gate = gate,
				       .next = gate->connections,
				       .link = &gate->connections,
				       .record = { .kind = GATE_CONNECTION },
				       .born_ns = clock_now_ns(),
				       .stream = origin->stream,
				       .inside = fd,
				       .outside = -1,
				       .up = { .pipe = { -1, -1 } },
				       .down = { .pipe = { -1, -1 } },
				       .body = UINT64_MAX };
	http1_init(&c->http, &http_head_rules);
	if (c->next) {
		c->next->link = &c->next;
	}
	gate->connections = c;
	gate->open++;
	gate->made++;
	enum gate_verdict verdict = admit(c, origin);
	if (verdict != GATE_ALLOWED) {
		connection_end(c, verdict);
		return;
	}
	c->protocol = net_rule_protocol(c->rule, (uint16_t)c->record.port);
	c->opened = c->named && c->protocol == NET_TLS && gate_opens(gate, c->record.host);
	if (c->protocol == NET_ANY) {
		connection_resolve(c);
		return;
	}
	c->timer = (struct loop_timer){ .due = on_timeout, .user = c };
	if (loop_timer_set(gate->loop, &c->timer, clock_now_ns() + INSPECT_TIMEOUT_NS) < 0) {
		connection_end(c, GATE_UNREACHABLE);
		return;
	}
	connection_wait(c);
}
