/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups: see resolve.h. */
#include "gate/dns/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define SERVER_TIMEOUT_NS (2 * 1000000000ull) /* for one server */
#define ROUNDS            2
#define TYPES             2
#define DNS_PORT          53

/* One query; by UDP all share a socket, by TCP each has its own. */
struct dns_query {
	uint16_t type, id;
	bool over;
	struct dns_reply reply;
	int tcp; /* owned; -1: not needed */
	struct loop_source *source;
	struct lookup *lookup;
	uint8_t buffer[2 + DNS_MESSAGE_MAX];
	size_t used, sent;
};

struct lookup {
	struct resolver *resolver;
	char name[NET_NAME_MAX + 1];
	lookup_done *done;
	void *user;
	struct loop_timer timer;
	unsigned tries;
	int udp; /* owned; -1: none */
	struct loop_source *source;
	struct dns_query questions[TYPES];
	unsigned count;
	struct resolved result;
};

static void close_tcp(struct dns_query *question)
{
	loop_remove(TAKE_PTR(question->source));
	close_fd(&question->tcp);
}

static void hang_up(struct lookup *lookup)
{
	loop_remove(TAKE_PTR(lookup->source));
	close_fd(&lookup->udp);
	for (unsigned i = 0; i < TYPES; i++) {
		close_tcp(&lookup->questions[i]);
	}
}

void lookup_free(struct lookup *lookup)
{
	if (lookup) {
		loop_timer_clear(&lookup->timer);
		hang_up(lookup);
		free(lookup);
	}
}

/* The caller may free the lookup in `done`: nothing of it is touched afterwards. */
static void finish(struct lookup *lookup)
{
	loop_timer_clear(&lookup->timer);
	hang_up(lookup);
	for (unsigned i = 0; i < lookup->count; i++) {
		const struct dns_reply *reply = &lookup->questions[i].reply;
		for (unsigned j = 0; lookup->questions[i].over && j < reply->count; j++) {
			if (lookup->result.count < DNS_ADDRESSES_MAX) {
				lookup->result.addresses[lookup->result.count++] =
					reply->addresses[j];
			}
		}
	}
	lookup->done(lookup->user, &lookup->result);
}

static bool all_over(const struct lookup *lookup)
{
	for (unsigned i = 0; i < lookup->count; i++) {
		if (!lookup->questions[i].over) {
			return false;
		}
	}
	return true;
}

static int dial_server(const struct lookup *lookup, int type)
{
	const struct host_files *files = &lookup->resolver->files;
	const struct net_address *server = &files->servers[lookup->tries % files->servers_count];
	struct sockaddr_storage to;
	socklen_t size = net_address_to(server, DNS_PORT, &to);
	int fd = socket(to.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, size) < 0 && errno != EINPROGRESS) {
		close_fd(&fd);
	}
	return fd;
}

static bool pay(const struct lookup *lookup, size_t bytes)
{
	return lookup->resolver->charge(lookup->resolver->user, bytes);
}

static int try_server(struct lookup *lookup);

static void next_server(struct lookup *lookup)
{
	hang_up(lookup);
	lookup->tries++;
	if (lookup->tries >= ROUNDS * lookup->resolver->files.servers_count ||
	    try_server(lookup) < 0) {
		finish(lookup);
	}
}

static void on_tcp(void *user, uint32_t events)
{
	struct dns_query *question = user;
	struct lookup *lookup = question->lookup;
	uint8_t query[2 + DNS_QUERY_MAX];
	size_t size = dns_query_make(lookup->name, question->type, question->id, query + 2);

	(void)events;
	query[0] = (uint8_t)(size >> 8);
	query[1] = (uint8_t)size;
	if (question->sent == 0 && !pay(lookup, size + 2)) {
		next_server(lookup);
		return;
	}
	if (question->sent < size + 2) {
		ssize_t n = send(question->tcp, query + question->sent, size + 2 - question->sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			next_server(lookup);
			return;
		}
		question->sent += n > 0 ? (size_t)n : 0;
		if (question->sent == size + 2) {
			loop_change(question->source, EPOLLIN);
		}
		return;
	}
	ssize_t n = recv(question->tcp, question->buffer + question->used,
			 sizeof(question->buffer) - question->used, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	if (n > 0 && !pay(lookup, (size_t)n)) {
		next_server(lookup);
		return;
	}
	question->used += n > 0 ? (size_t)n : 0;
	size_t want = question->used < 2
			      ? 2
			      : 2 + ((size_t)question->buffer[0] << 8 | question->buffer[1]);
	if (n <= 0 || want > sizeof(question->buffer)) {
		next_server(lookup);
		return;
	}
	if (question->used < want || want == 2) {
		return;
	}
	if (dns_reply_parse(question->buffer + 2, want - 2, lookup->name, question->type,
			    question->id, &question->reply) < 0 ||
	    question->reply.truncated) {
		next_server(lookup);
		return;
	}
	question->over = true;
	close_tcp(question);
	if (all_over(lookup)) {
		finish(lookup);
	}
}

static int ask_by_tcp(struct dns_query *question)
{
	struct lookup *lookup = question->lookup;

	question->used = question->sent = 0;
	question->tcp = dial_server(lookup, SOCK_STREAM);
	return question->tcp < 0 ? -EIO
				 : loop_add(lookup->resolver->loop, question->tcp, EPOLLOUT, on_tcp,
					    question, &question->source);
}

/* Replies are accepted from any address, but only if they answer an open query. */
static int take_datagram(struct lookup *lookup, const uint8_t *data, size_t size)
{
	for (unsigned i = 0; i < lookup->count; i++) {
		struct dns_query *question = &lookup->questions[i];
		if (question->over || question->tcp >= 0 ||
		    dns_reply_parse(data, size, lookup->name, question->type, question->id,
				    &question->reply) < 0) {
			continue;
		}
		if (question->reply.truncated) {
			return ask_by_tcp(question);
		}
		if (question->reply.code != DNS_FINE && question->reply.code != DNS_NO_NAME) {
			return -EIO; /* another server may have an answer */
		}
		question->over = true;
	}
	return 0;
}

static void on_udp(void *user, uint32_t events)
{
	struct lookup *lookup = user;
	uint8_t data[DNS_MESSAGE_MAX];
	ssize_t n = recv(lookup->udp, data, sizeof(data), MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	if (n < 0 || !pay(lookup, (size_t)n) || take_datagram(lookup, data, (size_t)n) < 0) {
		next_server(lookup); /* no server there, or it has no answer */
	} else if (all_over(lookup)) {
		finish(lookup);
	}
}

static void on_timer(void *user)
{
	next_server(user);
}

static int ask_all(struct lookup *lookup)
{
	lookup->udp = dial_server(lookup, SOCK_DGRAM);
	if (lookup->udp < 0 || loop_add(lookup->resolver->loop, lookup->udp, EPOLLIN, on_udp,
					lookup, &lookup->source) < 0) {
		return -EIO;
	}
	for (unsigned i = 0; i < lookup->count; i++) {
		struct dns_query *question = &lookup->questions[i];
		uint8_t query[DNS_QUERY_MAX];
		if (question->over) {
			continue;
		}
		if (getrandom(&question->id, sizeof(question->id), 0) != sizeof(question->id)) {
			return -EIO;
		}
		size_t size = dns_query_make(lookup->name, question->type, question->id, query);
		if (!pay(lookup, size) ||
		    send(lookup->udp, query, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
			return -EIO;
		}
	}
	return 0;
}

/* A server that cannot be reached has used up its turn; the timer moves on to the next. */
static int try_server(struct lookup *lookup)
{
	uint64_t patience = ask_all(lookup) < 0 ? 0 : SERVER_TIMEOUT_NS;

	return loop_timer_set(lookup->resolver->loop, &lookup->timer, clock_now_ns() + patience);
}

static void on_known(void *user)
{
	finish(user);
}

int lookup_start(struct resolver *resolver, const char *name, lookup_done *done, void *user,
		 struct lookup **ret)
{
	struct lookup *lookup = calloc(1, sizeof(*lookup));

	if (!lookup) {
		return -ENOMEM;
	}
	lookup->resolver = resolver;
	memcpy(lookup->name, name, strlen(name) + 1);
	lookup->done = done;
	lookup->user = user;
	lookup->udp = -1;
	lookup->timer = (struct loop_timer){ .due = on_timer, .user = lookup };
	for (unsigned i = 0; i < TYPES; i++) {
		lookup->questions[i].lookup = lookup;
		lookup->questions[i].tcp = -1;
		lookup->questions[i].type = i ? DNS_AAAA : DNS_A;
	}
	lookup->result.count = host_files_find(&resolver->files, name, lookup->result.addresses,
					       DNS_ADDRESSES_MAX);
	*ret = lookup;
	/* A name without a dot is not public: it is in /etc/hosts or does not exist. */
	if (lookup->result.count || !strchr(name, '.')) {
		lookup->timer.due = on_known;
		int r = loop_timer_set(resolver->loop, &lookup->timer, clock_now_ns());
		if (r < 0) {
			lookup_free(TAKE_PTR(*ret));
		}
		return r;
	}
	lookup->count = resolver->has_ipv6 ? TYPES : 1;
	/*
	 * The caller gets the answer by its callback, which must not be called before this returns.
	 */
	int r = try_server(lookup);
	if (r < 0) {
		lookup_free(TAKE_PTR(*ret));
	}
	return r;
}
