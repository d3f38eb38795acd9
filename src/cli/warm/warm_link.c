/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of the warm service: see warm_link.h. */
#include "cli/warm/warm_link.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files/fdpass.h"
#include "base/files/fdpass_bytes.h"
#include "cli/warm/warm_proof.h"
#include "cli/warm/warm_workplace.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* since Linux 6.5 */
#endif

#define ACCEPTED_AT_ONCE 16
#define REQUEST_TIME_NS  UINT64_C(5000000000)

void warm_link_answer(int fd, enum warm_answer answer, int value, const char *text)
{
	struct warm_reply reply = { .answer = answer, .value = value };

	snprintf(reply.text, sizeof(reply.text), "%s", text ? text : "");
	/* A client that does not read its few answers gets none. */
	(void)!send(fd, &reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void warm_link_free(struct warm_link *link)
{
	struct warm_service *service = link->service;

	if (link->workplace) {
		link->workplace->link = NULL;
	}
	loop_remove(link->source);
	loop_timer_clear(&link->deadline);
	if (link->trusted) {
		close_fd(&link->fd);
	}
	plain_socket_drop(&link->fd);
	close_fd(&link->pidfd);
	list_remove(&service->links, &link->node);
	service->links_count--;
	free(link);
	warm_service_settle(service);
}

/* --- the decision ----------------------------------------------------------------------------- */

static bool is_alive(int pidfd)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };

	return poll(&ended, 1, 0) == 0;
}

/* NULL: a run here is the same as one by the client. */
static const char *why_not(const struct warm_link *link, const struct warm_request *request)
{
	const struct warm_service *service = link->service;

	if (sodium_memcmp(request->proof, service->proof, WARM_PROOF_SIZE) != 0) {
		return "it may not trace the service";
	}
	if (link->readable < 0) {
		return "the service may not read what holds it";
	}
	/* Still: so what was read is of this process, and of no later one with its number. */
	if (!is_alive(link->pidfd)) {
		return "it has ended";
	}
	if (request->personality != service->personality) {
		return "personality";
	}
	return warm_facts_differ(&service->facts, &link->facts);
}

static void refuse(struct warm_link *link, const char *why)
{
	link->service->refused++;
	snprintf(link->service->why, sizeof(link->service->why), "%s", why);
	warm_link_answer(link->fd, WARM_COLD, 0, why);
	warm_link_free(link);
}

static void run(struct warm_link *link, struct warm_request *request, size_t size, const int *fds,
		size_t fds_count)
{
	struct warm_service *service = link->service;
	const char *why = why_not(link, request);

	link->trusted = !why;
	why = why                     ? why
	      : fds_count != WARM_FDS ? "an invalid request"
	      : service->stopping     ? "the service stops"
				      : NULL;
	if (why) {
		refuse(link, why);
		return;
	}
	struct warm_workplace *workplace = warm_workplace_find(service);
	if (!workplace) {
		refuse(link, "all workers are busy");
		return;
	}
	request->value = link->facts.umask;
	request->ignored = link->facts.ignored;
	const int passed[1 + WARM_FDS] = { link->fd, fds[0], fds[1], fds[2], fds[3] };
	if (warm_workplace_give(workplace, request, size, passed) < 0) {
		refuse(link, "its worker has ended");
		return;
	}
	service->runs++;
	workplace->link = link;
	link->workplace = workplace;
	loop_timer_clear(&link->deadline);
}

static void tell_status(struct warm_link *link, const struct warm_request *request)
{
	struct warm_service *service = link->service;
	const char *why = why_not(link, request);
	char text[sizeof(((struct warm_reply *)NULL)->text)];
	unsigned busy = 0;

	for (struct list_node *node = service->workers.first; node; node = node->next) {
		busy += warm_workplace_of(node)->link != NULL;
	}
	snprintf(text, sizeof(text),
		 "%u of at most %u workers, %u busy; %llu warm runs, %llu sent back%s%s%s",
		 service->workers_count, service->workers_max, busy,
		 (unsigned long long)service->runs, (unsigned long long)service->refused,
		 service->why[0] ? " (last: " : "", service->why, service->why[0] ? ")" : "");
	warm_link_answer(link->fd, WARM_TEXT, 0, text);
	warm_link_answer(link->fd, WARM_COLD, why != NULL, why);
	warm_link_free(link);
}

static void stop(struct warm_link *link, const struct warm_request *request)
{
	struct warm_service *service = link->service;
	bool proven = sodium_memcmp(request->proof, service->proof, WARM_PROOF_SIZE) == 0;

	warm_link_answer(link->fd, proven ? WARM_ENDED : WARM_COLD, 0, NULL);
	warm_link_free(link);
	if (proven) {
		warm_service_stop(service);
	}
}

/* Shows the client that we may trace it, then reads what holds it while it goes on. */
static void greet(struct warm_link *link, const struct warm_request *request)
{
	char secret[WARM_PROOF_SIZE + 1] = "";

	(void)warm_proof_read(link->pid, request->value, secret);
	/* Else it may be the secret of a later process with its number, for a liar. */
	if (!is_alive(link->pidfd)) {
		secret[0] = '\0';
	}
	warm_link_answer(link->fd, WARM_HELLO, 0, secret);
	link->readable = warm_facts_read(link->pid, &link->facts);
}

/* --- messages --------------------------------------------------------------------------------- */

/* A client may send its run the signals that it would send a cold one. */
static int signal_passed(uint32_t signal)
{
	static const struct {
		int heard, sent;
	} signals[] = {
		{ SIGINT, SIGINT },   { SIGTERM, SIGTERM }, { SIGHUP, SIGHUP },
		{ SIGQUIT, SIGQUIT }, { SIGTSTP, SIGSTOP }, { SIGCONT, SIGCONT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		if ((uint32_t)signals[i].heard == signal) {
			return signals[i].sent;
		}
	}
	return 0;
}

static void take_message(struct warm_link *link, size_t size, const int *fds, size_t fds_count)
{
	struct warm_request *request = (struct warm_request *)(void *)link->service->buffer;

	if (size < sizeof(*request) || request->magic != WARM_MAGIC) {
		refuse(link, "an invalid request");
	} else if (link->workplace) {
		int signal = request->op == WARM_SIGNAL ? signal_passed(request->value) : 0;
		if (signal) {
			warm_workplace_signal(link->workplace, signal);
		}
	} else if (request->op == WARM_GREET) {
		greet(link, request);
	} else if (request->op == WARM_RUN) {
		run(link, request, size, fds, fds_count);
	} else if (request->op == WARM_STATUS) {
		tell_status(link, request);
	} else if (request->op == WARM_STOP) {
		stop(link, request);
	} else {
		refuse(link, "an invalid request");
	}
}

/* The client has gone, and so its run, as with a killed `brig run`; unless that has just ended. */
static void hang_up(struct warm_link *link)
{
	if (!link->workplace) {
		warm_link_free(link);
	} else if (!warm_workplace_ended(link->workplace)) {
		warm_workplace_signal(link->workplace, SIGKILL);
		warm_link_free(link);
	}
}

/*
 * Looks at the next message before it is received: its descriptors would have to be closed here,
 * and the last close of a hostile one can wait long (fdpass_bytes.h). So they are received from
 * clients with our rights alone. False: the link is gone.
 */
static bool may_receive(struct warm_link *link)
{
	struct warm_request *request = (struct warm_request *)(void *)link->service->buffer;

	*request = (struct warm_request){ 0 };
	if (link->trusted ||
	    plain_socket_look(link->fd, link->service->buffer, WARM_REQUEST_MAX) != -EPROTO) {
		return true;
	}
	bool run = request->magic == WARM_MAGIC && request->op == WARM_RUN;
	const char *why = run ? why_not(link, request) : "an invalid request";
	if (why) {
		link->service->filled = WARM_REQUEST_MAX;
		refuse(link, why);
	}
	return !why;
}

static void receive(struct warm_link *link)
{
	int fds[WARM_FDS + 1];
	union {
		char room[CMSG_SPACE(sizeof(fds))];
		struct cmsghdr align;
	} control;
	struct iovec part = { link->service->buffer, WARM_REQUEST_MAX };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.room,
				  .msg_controllen = sizeof(control.room) };
	ssize_t n = recvmsg(link->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	if (n <= 0) {
		hang_up(link);
		return;
	}
	link->service->filled = (size_t)n;
	size_t count = fdpass_take(&message, fds, ARRAY_SIZE(fds));
	bool whole = !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
	take_message(link, whole ? (size_t)n : 0, fds, count);
	for (size_t i = 0; i < count && i < ARRAY_SIZE(fds); i++) {
		close(fds[i]);
	}
}

static void on_ready(void *user, uint32_t events)
{
	struct warm_link *link = user;
	struct warm_service *service = link->service;

	(void)events;
	if (may_receive(link)) {
		receive(link);
	}
	/* The client's variables; those of its worker are in the worker's own memory. */
	explicit_bzero(service->buffer, service->filled);
	service->filled = 0;
}

static void on_deadline(void *user)
{
	warm_link_free(user);
}

/* --- new ones --------------------------------------------------------------------------------- */

int warm_link_check(struct brig_error *err)
{
	int pair[2], pidfd = -1;
	socklen_t size = sizeof(pidfd);

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot make a socket");
	}
	int r = getsockopt(pair[0], SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) < 0 ? -errno : 0;
	close(pair[0]);
	close(pair[1]);
	close_fd(&pidfd);
	if (r < 0) {
		error_errno(err, BRIG_E_HOST, -r, "this kernel does not hold on to a client");
		error_remedy(err, "brig warm needs Linux 6.5 or newer; without it runs are cold");
	}
	return r;
}

static int take_peer(struct warm_link *link)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer), pidfd_size = sizeof(link->pidfd);

	if (getsockopt(link->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ||
	    peer.uid != geteuid() || peer.pid <= 0) {
		return -EPERM;
	}
	link->pid = peer.pid;
	if (getsockopt(link->fd, SOL_SOCKET, SO_PEERPIDFD, &link->pidfd, &pidfd_size) < 0) {
		link->pidfd = -1;
		return -errno;
	}
	return 0;
}

static void add(struct warm_service *service, int fd)
{
	struct warm_link *link = calloc(1, sizeof(*link));

	if (!link) {
		close(fd);
		return;
	}
	*link = (struct warm_link){ .service = service,
				    .fd = fd,
				    .pidfd = -1,
				    .readable = -ENODATA,
				    .deadline = { .due = on_deadline, .user = link } };
	list_append(&service->links, &link->node);
	service->links_count++;
	if (take_peer(link) < 0 ||
	    loop_add(service->loop, fd, EPOLLIN, on_ready, link, &link->source) < 0 ||
	    loop_timer_set(service->loop, &link->deadline, clock_now_ns() + REQUEST_TIME_NS) < 0) {
		warm_link_free(link);
		return;
	}
	loop_timer_clear(&service->idle);
	/* Its greeting is usually there already. */
	on_ready(link, 0);
}

void warm_link_accept(struct warm_service *service)
{
	for (int i = 0; i < ACCEPTED_AT_ONCE; i++) {
		int fd = accept4(service->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0) {
			return;
		}
		if (service->links_count < WARM_LINKS_MAX) {
			add(service, fd);
		} else {
			plain_socket_drop(&fd);
		}
	}
}
