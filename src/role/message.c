/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between roles: see message.h. */
#include "role/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files/fdpass.h"
#include "role/message_queue.h"

/* The most records in one round: a busy peer must not delay the other sources of the loop. */
#define BURST 64
/* The delay before the next check whether a descriptor can be opened. */
#define ROOM_NS UINT64_C(10000000)

struct message_peer {
	struct loop *loop;
	struct loop_source *source;
	int socket;
	const struct message_rule *rules;
	size_t rules_count;
	unsigned fds_max;           /* of all rules */
	int spare[MESSAGE_FDS_MAX]; /* owned: placeholders, closed to make room for received ones */
	struct loop_timer room;
	bool waits; /* for free descriptors: nothing is read */
	void (*gone)(void *user, const char *why);
	void *user;
	bool over;   /* `gone` was called, or must not be called any more */
	bool *freed; /* set by free, for the loop over received records */

	struct message_queue queue;
	bool answers; /* reads no calls while too many of its replies wait */
	bool full;    /* the queue is full now, or a message was rejected */
	void (*has_room)(void *user);
	char tail[MESSAGE_TAIL_MAX];
};

static void leave(struct message_peer *peer, const char *why)
{
	if (peer->over) {
		return;
	}
	peer->over = true;
	loop_timer_clear(&peer->room);
	loop_remove(peer->source);
	peer->source = NULL;
	peer->gone(peer->user, why);
}

static bool takes(const struct message_peer *peer)
{
	return !peer->waits && !(peer->answers && peer->full);
}

static int watch(struct message_peer *peer)
{
	return loop_change(peer->source,
			   (takes(peer) ? EPOLLIN : 0) |
				   (message_queue_first(&peer->queue) ? EPOLLOUT : 0));
}

static int send_now(int socket, const struct message *message, const int *fds, unsigned fds_count,
		    const void *tail, size_t tail_size)
{
	struct iovec parts[2] = {
		{ .iov_base = (void *)(uintptr_t)message, .iov_len = sizeof(*message) },
		{ .iov_base = (void *)(uintptr_t)tail, .iov_len = tail_size },
	};
	ssize_t n = fdpass_send(socket, parts, tail_size ? 2 : 1, fds, fds_count, MSG_DONTWAIT);

	return n < 0 ? (int)n : 0;
}

/* ETOOMANYREFS: too many descriptors are in transit; this is temporary. */
static bool is_temporary(int r)
{
	return r == -EAGAIN || r == -ENOBUFS || r == -ENOMEM || r == -ETOOMANYREFS;
}

/* Called when the queue was full and has room again. */
static void check_queue(struct message_peer *peer)
{
	if (!peer->full || !message_queue_has_room(&peer->queue)) {
		return;
	}
	peer->full = false;
	watch(peer);
	if (peer->has_room) {
		peer->has_room(peer->user);
	}
}

static void flush(struct message_peer *peer)
{
	struct message_waiting *waiting;

	while ((waiting = message_queue_first(&peer->queue))) {
		int r = send_now(peer->socket, &waiting->message, waiting->fds, waiting->fds_count,
				 waiting->tail, waiting->tail_size);
		if (is_temporary(r)) {
			break;
		}
		if (r < 0) {
			leave(peer, "cannot be written to");
			return;
		}
		message_queue_drop(&peer->queue);
	}
	watch(peer);
	check_queue(peer);
}

int message_post(struct message_peer *peer, const struct message *message, const int *fds,
		 unsigned fds_count, const void *tail, size_t tail_size)
{
	if (peer->over) {
		return -EPIPE;
	}
	if (fds_count > MESSAGE_FDS_MAX || tail_size > MESSAGE_TAIL_MAX) {
		return -EMSGSIZE;
	}
	if (!message_queue_first(&peer->queue)) {
		int r = send_now(peer->socket, message, fds, fds_count, tail, tail_size);
		if (!is_temporary(r)) {
			return r;
		}
	}
	int r = message_queue_add(&peer->queue, message, fds, fds_count, tail, tail_size);
	peer->full |= message_queue_full(&peer->queue);
	return r < 0 ? r : watch(peer);
}

int message_send(struct message_peer *peer, const struct message *message, const int *fds,
		 unsigned fds_count, const void *tail, size_t tail_size)
{
	if (!peer->over && message_queue_full(&peer->queue)) {
		peer->full = true;
		return -ENOBUFS;
	}
	return message_post(peer, message, fds, fds_count, tail, tail_size);
}

bool message_full(const struct message_peer *peer)
{
	return message_queue_full(&peer->queue);
}

void message_peer_answers(struct message_peer *peer, void (*has_room)(void *user))
{
	peer->answers = true;
	peer->has_room = has_room;
}

/* --- receiving ------------------------------------------------------------------------------- */

static void close_all(int fds[MESSAGE_FDS_MAX])
{
	for (unsigned i = 0; i < MESSAGE_FDS_MAX; i++) {
		close_fd(&fds[i]);
	}
}

/* Takes all descriptors of a record, also of an invalid one; no other control data is allowed. */
static int take_fds(struct msghdr *header, int fds[MESSAGE_FDS_MAX], unsigned *count)
{
	bool broken = header->msg_flags & (MSG_TRUNC | MSG_CTRUNC);

	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(header); cmsg; cmsg = CMSG_NXTHDR(header, cmsg)) {
		broken |= cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS;
	}
	size_t came = fdpass_take(header, fds, MESSAGE_FDS_MAX);
	*count = came < MESSAGE_FDS_MAX ? (unsigned)came : MESSAGE_FDS_MAX;
	return broken || came > MESSAGE_FDS_MAX ? -EPROTO : 0;
}

static const struct message_rule *rule_for(const struct message_peer *peer, uint32_t kind)
{
	for (size_t i = 0; i < peer->rules_count; i++) {
		if (peer->rules[i].kind == kind) {
			return &peer->rules[i];
		}
	}
	return NULL;
}

/*
 * The kernel drops descriptors that a process has no room for (unix(7), SCM_RIGHTS), and treats the
 * rest of the record as received. So room is reserved with placeholder descriptors. If other code
 * has used up the room meanwhile, records wait in the socket until there is some again.
 */
static bool keep_room(struct message_peer *peer)
{
	for (unsigned i = 0; i < peer->fds_max; i++) {
		if (peer->spare[i] < 0) {
			peer->spare[i] = fcntl(peer->socket, F_DUPFD_CLOEXEC, 0);
		}
		if (peer->spare[i] < 0) {
			return false;
		}
	}
	return true;
}

static void look_for_room(void *user)
{
	struct message_peer *peer = user;

	peer->waits = !keep_room(peer) &&
		      loop_timer_set(peer->loop, &peer->room, clock_now_ns() + ROOM_NS) == 0;
	if (!peer->waits) {
		watch(peer);
	}
}

/* Without memory for a timer the loop polls at once again: expensive, but no deadlock. */
static void wait_for_room(struct message_peer *peer)
{
	if (loop_timer_set(peer->loop, &peer->room, clock_now_ns() + ROOM_NS) == 0) {
		peer->waits = true;
		watch(peer);
	}
}

static int take_record(struct message_peer *peer, const struct message *message, size_t size,
		       int *fds, unsigned fds_count)
{
	size_t tail_size = size > sizeof(*message) ? size - sizeof(*message) : 0;
	const struct message_rule *rule =
		size >= sizeof(*message) ? rule_for(peer, message->kind) : NULL;

	if (!rule || fds_count < rule->fds_min || fds_count > rule->fds_max ||
	    tail_size > rule->tail_max) {
		return -EPROTO;
	}
	return rule->take(peer->user, message, fds, peer->tail, tail_size);
}

/* 1: a record was read; 0: none; negative: the peer must be closed, `why` is the reason. */
static int receive_record(struct message_peer *peer, const char **why)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(MESSAGE_FDS_MAX * sizeof(int))];
	} control;
	struct message message;
	struct iovec parts[2] = {
		{ .iov_base = &message, .iov_len = sizeof(message) },
		{ .iov_base = peer->tail, .iov_len = sizeof(peer->tail) },
	};
	struct msghdr header = {
		.msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	int fds[MESSAGE_FDS_MAX] = { -1, -1 };
	unsigned count = 0;

	close_all(peer->spare);
	ssize_t n = recvmsg(peer->socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0) {
		*why = "cannot be read from";
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	}
	int r = take_fds(&header, fds, &count);
	if (n == 0) { /* the end, or an empty record, which can carry descriptors */
		close_all(fds);
		*why = "has ended";
		return -EPIPE;
	}
	r = r < 0 ? r : take_record(peer, &message, (size_t)n, fds, count);
	close_all(fds);
	*why = "has sent an invalid message";
	return r < 0 ? r : 1;
}

static void ready(void *user, uint32_t events)
{
	struct message_peer *peer = user;
	bool freed = false;
	const char *why = NULL;
	int r = 0;

	/* A callback may free the peer: then it must not be accessed any more. */
	peer->freed = &freed;
	if (events & EPOLLOUT) {
		flush(peer);
		if (freed) {
			return;
		}
		if (peer->over) {
			peer->freed = NULL;
			return;
		}
	}
	for (int i = 0; takes(peer) && i < BURST; i++) {
		if (!keep_room(peer)) {
			wait_for_room(peer);
			break;
		}
		r = receive_record(peer, &why);
		if (freed) {
			return;
		}
		if (r <= 0) {
			break;
		}
	}
	peer->freed = NULL;
	if (r < 0) {
		leave(peer, why);
	} else {
		keep_room(peer); /* before other code uses the room */
	}
}

void message_peer_drain(struct message_peer *peer, unsigned most)
{
	const char *why = NULL;

	while (most > 0 && receive_record(peer, &why) > 0) {
		most--;
	}
}

int message_peer_new(struct loop *loop, int socket, const struct message_rule *rules, size_t count,
		     void (*gone)(void *user, const char *why), void *user,
		     struct message_peer **ret)
{
	struct message_peer *peer = calloc(1, sizeof(*peer));

	if (!peer) {
		return -ENOMEM;
	}
	peer->loop = loop;
	peer->socket = socket;
	peer->rules = rules;
	peer->rules_count = count;
	peer->gone = gone;
	peer->user = user;
	memset(peer->spare, -1, sizeof(peer->spare));
	peer->room = (struct loop_timer){ .due = look_for_room, .user = peer };
	for (size_t i = 0; i < count; i++) {
		peer->fds_max = rules[i].fds_max > peer->fds_max ? rules[i].fds_max : peer->fds_max;
	}
	keep_room(peer);
	int r = loop_add(loop, socket, EPOLLIN, ready, peer, &peer->source);
	if (r < 0) {
		close_all(peer->spare);
		free(peer);
		return r;
	}
	*ret = peer;
	return 0;
}

void message_peer_free(struct message_peer *peer)
{
	if (!peer) {
		return;
	}
	if (peer->freed) {
		*peer->freed = true;
	}
	loop_timer_clear(&peer->room);
	loop_remove(peer->source);
	message_queue_done(&peer->queue);
	close_all(peer->spare);
	close(peer->socket);
	free(peer);
}
