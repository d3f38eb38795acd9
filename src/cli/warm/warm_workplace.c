/* SPDX-License-Identifier: Apache-2.0 */
/* Workers, as the service sees them: see warm_workplace.h. */
#include "cli/warm/warm_workplace.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files/fdpass.h"
#include "cli/warm/warm_link.h"
#include "cli/warm/warm_worker.h"
#include "kernel/sys.h"

/* One that nobody needed for this time ends, unless it is the last. */
#define REST_NS UINT64_C(60000000000)

struct warm_workplace *warm_workplace_of(struct list_node *node)
{
	return list_container(node, offsetof(struct warm_workplace, node));
}

static void destroy(struct warm_workplace *workplace)
{
	loop_remove(workplace->ending);
	loop_remove(workplace->talking);
	loop_timer_clear(&workplace->rest);
	close_fd(&workplace->pidfd);
	close_fd(&workplace->channel);
	list_remove(&workplace->service->workers, &workplace->node);
	workplace->service->workers_count--;
	free(workplace);
}

static void dismiss(struct warm_workplace *workplace)
{
	workplace->over = true;
	loop_remove(workplace->talking);
	workplace->talking = NULL;
	close_fd(&workplace->channel);
}

static void on_ending(void *user, uint32_t events)
{
	struct warm_workplace *workplace = user;
	struct warm_link *link = workplace->link;
	siginfo_t info = { 0 };

	(void)events;
	if (waitid(P_PIDFD, (id_t)workplace->pidfd, &info, WEXITED | WNOHANG) < 0 ||
	    info.si_pid == 0) {
		return;
	}
	/* Its last words are read before its end is told. */
	if (link && !warm_workplace_ended(workplace)) {
		bool exited = info.si_code == CLD_EXITED;
		warm_link_answer(link->fd, exited ? WARM_ENDED : WARM_KILLED, info.si_status, NULL);
		warm_link_free(link);
	}
	destroy(workplace);
}

static void on_rest(void *user)
{
	struct warm_workplace *workplace = user;

	if (!workplace->link && workplace->service->workers_count > 1) {
		dismiss(workplace);
	}
}

bool warm_workplace_ended(struct warm_workplace *workplace)
{
	char word;

	if (workplace->channel < 0 ||
	    recv(workplace->channel, &word, sizeof(word), MSG_DONTWAIT) != sizeof(word) ||
	    !workplace->link) {
		return false;
	}
	struct warm_service *service = workplace->service;
	list_remove(&workplace->service->workers, &workplace->node);
	list_prepend(&service->workers, &workplace->node);
	loop_timer_set(service->loop, &workplace->rest, clock_now_ns() + REST_NS);
	warm_link_free(workplace->link);
	if (service->stopping) {
		dismiss(workplace);
	}
	return true;
}

static void on_word(void *user, uint32_t events)
{
	struct warm_workplace *workplace = user;

	if (!warm_workplace_ended(workplace) && (events & (EPOLLHUP | EPOLLERR))) {
		dismiss(workplace); /* it ends: on_ending() is next */
	}
}

static int start(struct warm_workplace *workplace)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		return -errno;
	}
	pid_t service = getpid();
	workplace->pid = fork();
	if (workplace->pid == 0) {
		/* The request that it is made for comes again, and is cleared after the run. */
		explicit_bzero(workplace->service->buffer, workplace->service->filled);
		warm_worker_main(pair[1], service);
	}
	close(pair[1]);
	workplace->channel = pair[0];
	if (workplace->pid < 0) {
		return -errno;
	}
	workplace->pidfd = sys_pidfd_open(workplace->pid, 0);
	return workplace->pidfd < 0 ? workplace->pidfd : 0;
}

static struct warm_workplace *make(struct warm_service *service)
{
	struct warm_workplace *workplace = calloc(1, sizeof(*workplace));

	if (!workplace) {
		return NULL;
	}
	*workplace = (struct warm_workplace){ .service = service,
					      .pidfd = -1,
					      .channel = -1,
					      .rest = { .due = on_rest, .user = workplace } };
	list_prepend(&service->workers, &workplace->node);
	service->workers_count++;
	int r = start(workplace);
	if (r == 0) {
		r = loop_add(service->loop, workplace->pidfd, EPOLLIN, on_ending, workplace,
			     &workplace->ending);
	}
	if (r == 0) {
		r = loop_add(service->loop, workplace->channel, EPOLLIN, on_word, workplace,
			     &workplace->talking);
	}
	if (r < 0) {
		if (workplace->pid > 0) {
			kill(workplace->pid, SIGKILL);
			waitpid(workplace->pid, NULL, 0);
		}
		destroy(workplace);
		return NULL;
	}
	return workplace;
}

struct warm_workplace *warm_workplace_find(struct warm_service *service)
{
	for (struct list_node *node = service->workers.first; node; node = node->next) {
		struct warm_workplace *workplace = warm_workplace_of(node);
		if (!workplace->link && !workplace->over) {
			return workplace;
		}
	}
	return service->workers_count < service->workers_max ? make(service) : NULL;
}

int warm_workplace_give(struct warm_workplace *workplace, const struct warm_request *request,
			size_t size, const int fds[1 + WARM_FDS])
{
	struct iovec part = { (void *)(uintptr_t)request, size };
	ssize_t n = fdpass_send(workplace->channel, &part, 1, fds, 1 + WARM_FDS, MSG_DONTWAIT);

	if (n < 0) {
		return (int)n;
	}
	loop_timer_clear(&workplace->rest);
	return 0;
}

void warm_workplace_signal(struct warm_workplace *workplace, int signal)
{
	if (signal == SIGKILL) {
		workplace->over = true;
	}
	sys_pidfd_send_signal(workplace->pidfd, signal);
}

void warm_workplaces_dismiss(struct warm_service *service)
{
	for (struct list_node *node = service->workers.first; node; node = node->next) {
		struct warm_workplace *workplace = warm_workplace_of(node);
		if (!workplace->link) {
			dismiss(workplace);
		}
	}
}

void warm_workplaces_close(struct warm_service *service)
{
	warm_workplaces_dismiss(service);
	while (service->workers.first) {
		struct warm_workplace *workplace = warm_workplace_of(service->workers.first);
		siginfo_t info;

		if (workplace->link) {
			warm_workplace_signal(workplace, SIGKILL);
			warm_link_free(workplace->link);
		}
		while (waitid(P_PIDFD, (id_t)workplace->pidfd, &info, WEXITED) < 0 &&
		       errno == EINTR) {
		}
		destroy(workplace);
	}
}
