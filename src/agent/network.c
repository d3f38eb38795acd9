/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of a cell that shares no kernel with its gate. The agent listens where the gate would
 * listen, and forwards each connection, as a stream of records (net/cell_stream.h), with the
 * address that the program named. It decides nothing: a connection that must not be is refused by
 * the gate.
 */
#include <errno.h>
#include <linux/capability.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/cleanup.h"

#define RESOLVER      0x7f000035u /* 127.0.0.53 */
#define EVENTS_A_TURN 16
#define FRAME_ROOM    (FRAME_HEAD_BYTES + CELL_RECORD_HEAD)
/* The part of the outbox for the frames of one turn. */
#define TURN_BYTES AGENT_NETWORK_BYTES

/* The data of an event: a stream, or one of these. */
#define EVENT_LISTENER 1000u
#define EVENT_QUERIES  2000u

void network_init(struct agent *agent)
{
	agent->network.queries = agent->network.readable = agent->network.writable = -1;
}

/* --- the beginning ---------------------------------------------------------------------------- */

static int watch(int set, int how, int fd, uint32_t events, uint32_t data)
{
	struct epoll_event event = { .events = events, .data = { .u32 = data } };

	return epoll_ctl(set, how, fd, &event) < 0 ? -errno : 0;
}

static int make_sets(struct agent_network *network)
{
	if (network->readable >= 0) {
		return 0;
	}
	network->readable = agent_lift(epoll_create1(EPOLL_CLOEXEC));
	network->writable = agent_lift(epoll_create1(EPOLL_CLOEXEC));
	network->used = true;
	return network->readable < 0 || network->writable < 0 ? -EMFILE : 0;
}

/*
 * A program that closes a connection while its host is silent looks like one that has shut down
 * only its sending side: keepalive packets reveal the difference. Accepted connections inherit
 * these options. A kernel that lacks one of them detects less.
 */
static void set_keepalive(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 10 }, /* seconds */
		{ IPPROTO_TCP, TCP_KEEPINTVL, 5 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 6 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		(void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
				 sizeof(options[i].value));
	}
}

static int open_socket(int family, int type, uint16_t port)
{
	struct net_address any = { .family = family == AF_INET6 ? 6 : 4 };
	struct sockaddr_storage at;
	int off = 0;

	if (port == NET_DNS_PORT) {
		any.bytes[0] = RESOLVER >> 24;
		any.bytes[3] = RESOLVER & 0xff;
	}
	socklen_t size = net_address_to(&any, port, &at);
	int fd = agent_lift(socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd >= 0 && ((family == AF_INET6 &&
			 setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0) ||
			bind(fd, (struct sockaddr *)&at, size) < 0 ||
			(type == SOCK_STREAM && listen(fd, SOMAXCONN) < 0))) {
		int r = -errno;
		close(fd);
		return r;
	}
	return fd < 0 ? -errno : fd;
}

static int add_listener(struct agent_network *network, uint16_t port)
{
	int fd = port == NET_DNS_PORT ? -EAFNOSUPPORT : open_socket(AF_INET6, SOCK_STREAM, port);

	/* Both families where the kernel has both. */
	fd = fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL ? open_socket(AF_INET, SOCK_STREAM, port)
							 : fd;
	if (fd < 0) {
		return fd;
	}
	set_keepalive(fd);
	network->listeners[network->listeners_count] = fd;
	return watch(network->readable, EPOLL_CTL_ADD, fd, EPOLLIN,
		     EVENT_LISTENER + network->listeners_count++);
}

int network_port(struct agent *agent, const unsigned char *data, size_t size)
{
	struct agent_network *network = &agent->network;
	uint32_t port = frame_get_u32(data);
	int r = make_sets(network);

	(void)size;
	if (r < 0 || port == 0 || port > UINT16_MAX ||
	    network->listeners_count == NETWORK_LISTENERS_MAX) {
		return r < 0 ? r : -EINVAL;
	}
	if (port == NET_DNS_PORT && network->queries < 0) {
		network->queries = open_socket(AF_INET, SOCK_DGRAM, NET_DNS_PORT);
		r = network->queries < 0 ? network->queries
					 : watch(network->readable, EPOLL_CTL_ADD, network->queries,
						 EPOLLIN, EVENT_QUERIES);
	}
	return r < 0 ? r : add_listener(network, (uint16_t)port);
}

int network_seal(const struct agent *agent)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };

	/* An agent that is root takes them from the program alone: seal.c. */
	if (!agent->network.used || agent->has_ids) {
		return 0;
	}
	return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

static size_t room(const struct agent *agent)
{
	return agent->out_size < TURN_BYTES ? TURN_BYTES - agent->out_size : 0;
}

/* There is room. */
static void send_record(struct agent *agent, enum cell_record_kind kind, uint32_t number,
			const void *data, size_t size)
{
	unsigned char *at = agent->outbox + agent->out_size + FRAME_HEAD_BYTES;

	cell_record_head(at, kind, number);
	if (size && data != at + CELL_RECORD_HEAD) {
		memcpy(at + CELL_RECORD_HEAD, data, size);
	}
	frame_put_head(at - FRAME_HEAD_BYTES, FRAME_TO_GATE, (uint32_t)(CELL_RECORD_HEAD + size));
	agent->out_size += FRAME_ROOM + size;
}

/* Where the data of the next record is put. */
static unsigned char *next_data(struct agent *agent)
{
	return agent->outbox + agent->out_size + FRAME_ROOM;
}

/* --- streams ---------------------------------------------------------------------------------- */

static uint32_t index_of(const struct agent_network *network, const struct agent_stream *stream)
{
	return (uint32_t)(stream - network->streams);
}

static void watch_listeners(struct agent_network *network, bool full)
{
	if (network->full == full) {
		return;
	}
	network->full = full;
	for (unsigned i = 0; i < network->listeners_count; i++) {
		(void)watch(network->readable, EPOLL_CTL_MOD, network->listeners[i],
			    full ? 0 : EPOLLIN, EVENT_LISTENER + i);
	}
}

static void stream_free(struct agent_network *network, struct agent_stream *stream)
{
	close(stream->fd);
	free(stream->pending);
	*stream = (struct agent_stream){ .fd = -1 };
	network->count--;
	watch_listeners(network, false);
}

/* The program sees that it did not end as it should. */
static void stream_reset(struct agent_network *network, struct agent_stream *stream)
{
	const struct linger now = { .l_onoff = 1 };

	(void)setsockopt(stream->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	stream_free(network, stream);
}

static struct agent_stream *find(struct agent_network *network, uint32_t number)
{
	for (unsigned i = 0; number && i < CELL_STREAMS_MAX; i++) {
		if (network->streams[i].number == number) {
			return &network->streams[i];
		}
	}
	return NULL;
}

/* Its events; when it is over on both sides it is freed. */
static void stream_wait(struct agent_network *network, struct agent_stream *stream)
{
	bool reads = !stream->dry && !stream->broken && stream->room > 0;
	bool writes = stream->size > 0 && !stream->broken;
	uint32_t index = index_of(network, stream);

	if (stream->dry && stream->ended && stream->size == 0 && !stream->broken) {
		stream_free(network, stream);
		return;
	}
	if (stream->broken) {
		network->due = true;
		(void)watch(network->readable, EPOLL_CTL_DEL, stream->fd, 0, 0);
	} else if (reads != stream->reads) {
		(void)watch(network->readable, stream->parked ? EPOLL_CTL_ADD : EPOLL_CTL_MOD,
			    stream->fd, reads ? EPOLLIN : 0, index);
		stream->parked = false;
	}
	if (writes != stream->writes) {
		(void)watch(network->writable, writes ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, stream->fd,
			    EPOLLOUT, index);
	}
	stream->reads = reads;
	stream->writes = writes;
	network->due |= stream->taken >= CELL_TAKEN_LEAST;
}

/* --- to the program --------------------------------------------------------------------------- */

static void pass_pending(struct agent_network *network, struct agent_stream *stream)
{
	while (stream->at < stream->size) {
		ssize_t n = send(stream->fd, stream->pending + stream->at,
				 stream->size - stream->at, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			stream->broken |= errno != EAGAIN;
			stream_wait(network, stream);
			return;
		}
		stream->at += (size_t)n;
		stream->taken += (uint32_t)n;
	}
	stream->at = stream->size = 0;
	free(TAKE_PTR(stream->pending));
	if (stream->ended) {
		(void)shutdown(stream->fd, SHUT_WR);
	}
	stream_wait(network, stream);
}

/* More than the window comes only from another than brig. */
static bool keep(struct agent_stream *stream, const unsigned char *data, size_t size)
{
	if (!stream->pending) {
		stream->pending = malloc(CELL_WINDOW);
	}
	if (stream->at > 0) {
		stream->size -= stream->at;
		memmove(stream->pending, stream->pending + stream->at, stream->size);
		stream->at = 0;
	}
	if (!stream->pending || size > CELL_WINDOW - stream->size) {
		return false;
	}
	memcpy(stream->pending + stream->size, data, size);
	stream->size += size;
	return true;
}

static void take_data(struct agent_network *network, struct agent_stream *stream,
		      const struct cell_record *record)
{
	size_t sent = 0;

	if (stream->broken) {
		return;
	}
	if (stream->size == 0) {
		ssize_t n =
			send(stream->fd, record->data, record->size, MSG_DONTWAIT | MSG_NOSIGNAL);
		stream->broken = n < 0 && errno != EAGAIN && errno != EINTR;
		sent = n > 0 ? (size_t)n : 0;
		stream->taken += (uint32_t)sent;
	}
	if (!stream->broken && sent < record->size &&
	    !keep(stream, record->data + sent, record->size - sent)) {
		stream->broken = true;
	}
	stream_wait(network, stream);
}

static void take_answer(struct agent_network *network, const struct cell_record *record)
{
	struct agent_query *query = &network->asked[record->number % NETWORK_QUERIES];

	if (query->number == record->number && network->queries >= 0) {
		query->number = 0;
		(void)sendto(network->queries, record->data, record->size,
			     MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&query->from,
			     sizeof(query->from));
	}
}

void network_take(struct agent *agent, const unsigned char *data, size_t size)
{
	struct agent_network *network = &agent->network;
	struct cell_record record;

	if (agent->state != AGENT_RUNNING || cell_record_read(data, size, false, &record) < 0) {
		return;
	}
	if (record.kind == CELL_ANSWER) {
		take_answer(network, &record);
		return;
	}
	struct agent_stream *stream = find(network, record.number);
	if (!stream) {
		return; /* it is over */
	}
	switch (record.kind) {
	case CELL_DATA:
		take_data(network, stream, &record);
		break;
	case CELL_TAKEN:
		stream->room += cell_taken_get(record.data);
		stream_wait(network, stream);
		break;
	case CELL_END:
		stream->ended = true;
		pass_pending(network, stream);
		break;
	default:
		stream_reset(network, stream);
		break;
	}
}

void network_write(struct agent *agent)
{
	struct agent_network *network = &agent->network;
	struct epoll_event ready[EVENTS_A_TURN];
	int count = network->used ? epoll_wait(network->writable, ready, EVENTS_A_TURN, 0) : 0;

	for (int i = 0; i < count; i++) {
		struct agent_stream *stream = &network->streams[ready[i].data.u32];
		if (stream->number) {
			pass_pending(network, stream);
		}
	}
}

/* --- from the program ------------------------------------------------------------------------- */

/* Where the connection leads; false: it is gone already. */
static bool target_of(int fd, unsigned char target[CELL_TARGET_BYTES])
{
	struct sockaddr_storage name;
	socklen_t size = sizeof(name);
	struct net_address to;
	uint16_t port = 0;

	if (getsockname(fd, (struct sockaddr *)&name, &size) < 0 ||
	    net_address_from(&name, &to, &port) < 0) {
		return false;
	}
	cell_target_put(target, &to, port);
	return true;
}

static struct agent_stream *unused(struct agent_network *network)
{
	for (unsigned i = 0; i < CELL_STREAMS_MAX; i++) {
		if (network->streams[i].number == 0) {
			return &network->streams[i];
		}
	}
	return NULL;
}

static void accept_one(struct agent *agent, int listener)
{
	struct agent_network *network = &agent->network;
	unsigned char target[CELL_TARGET_BYTES];
	struct agent_stream *stream = unused(network);
	int on = 1;

	if (!stream || network->last == UINT32_MAX) {
		watch_listeners(network, true);
		return;
	}
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	/* Without memory or a number: the next one that ends makes room. */
	if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED &&
	    network->count) {
		watch_listeners(network, true);
	}
	if (fd < 0) {
		return;
	}
	if (!target_of(fd, target) ||
	    watch(network->readable, EPOLL_CTL_ADD, fd, EPOLLIN, index_of(network, stream)) < 0) {
		close(fd);
		return;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	*stream = (struct agent_stream){
		.number = ++network->last, .fd = fd, .room = CELL_WINDOW, .reads = true
	};
	network->count++;
	send_record(agent, CELL_OPEN, stream->number, target, sizeof(target));
}

static void read_query(struct agent *agent)
{
	struct agent_network *network = &agent->network;
	struct sockaddr_in from = { 0 };
	socklen_t length = sizeof(from);
	ssize_t n = recvfrom(network->queries, next_data(agent), CELL_QUERY_MAX, MSG_DONTWAIT,
			     (struct sockaddr *)&from, &length);

	if (n <= 0) {
		return;
	}
	network->last_query += network->last_query == UINT32_MAX ? 2 : 1;
	network->asked[network->last_query % NETWORK_QUERIES] =
		(struct agent_query){ .number = network->last_query, .from = from };
	send_record(agent, CELL_QUERY, network->last_query, next_data(agent), (size_t)n);
}

static void read_stream(struct agent *agent, struct agent_stream *stream, uint32_t events)
{
	struct agent_network *network = &agent->network;
	size_t most = stream->room < CELL_PIECE_MAX ? stream->room : CELL_PIECE_MAX;

	if (stream->dry || most == 0) {
		/* An event that nobody asked for; EPOLLHUP alone would come again and again. */
		stream->broken |= (events & EPOLLERR) != 0;
		stream->parked = !stream->broken;
		if (stream->parked) {
			(void)watch(network->readable, EPOLL_CTL_DEL, stream->fd, 0, 0);
		}
		stream_wait(network, stream);
		return;
	}
	ssize_t n = recv(stream->fd, next_data(agent), most, MSG_DONTWAIT);
	if (n > 0) {
		stream->room -= (uint32_t)n;
		send_record(agent, CELL_DATA, stream->number, next_data(agent), (size_t)n);
	} else if (n == 0) {
		stream->dry = true;
		send_record(agent, CELL_END, stream->number, NULL, 0);
	} else if (errno != EAGAIN && errno != EINTR) {
		stream->broken = true;
	}
	stream_wait(network, stream);
}

/* Windows, and streams that broke. */
static void report(struct agent *agent)
{
	struct agent_network *network = &agent->network;
	unsigned char taken[4];

	if (!network->due) {
		return;
	}
	network->due = false;
	for (unsigned i = 0; i < CELL_STREAMS_MAX; i++) {
		struct agent_stream *stream = &network->streams[i];
		if (room(agent) < FRAME_ROOM + sizeof(taken)) {
			network->due = true;
			return;
		}
		if (stream->number && stream->broken) {
			send_record(agent, CELL_RESET, stream->number, NULL, 0);
			stream_reset(network, stream);
		} else if (stream->number && stream->taken >= CELL_TAKEN_LEAST && !stream->ended) {
			cell_taken_put(taken, stream->taken);
			send_record(agent, CELL_TAKEN, stream->number, taken, sizeof(taken));
			stream->taken = 0;
		}
	}
}

static void read_one(struct agent *agent, const struct epoll_event *event)
{
	uint32_t what = event->data.u32;
	struct agent_network *network = &agent->network;

	if (what == EVENT_QUERIES) {
		read_query(agent);
	} else if (what >= EVENT_LISTENER) {
		accept_one(agent, network->listeners[what - EVENT_LISTENER]);
	} else if (what < CELL_STREAMS_MAX && network->streams[what].number) {
		read_stream(agent, &network->streams[what], event->events);
	}
}

bool network_read(struct agent *agent)
{
	size_t before = agent->out_size;

	if (!agent->network.used) {
		return false;
	}
	report(agent);
	/* One at a time: the set reports in turns, and a frame must have room before it is read. */
	for (int i = 0; i < EVENTS_A_TURN && room(agent) >= FRAME_ROOM + CELL_PIECE_MAX; i++) {
		struct epoll_event ready;
		if (epoll_wait(agent->network.readable, &ready, 1, 0) <= 0) {
			break;
		}
		read_one(agent, &ready);
	}
	return agent->out_size > before;
}
