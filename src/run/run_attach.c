/* SPDX-License-Identifier: Apache-2.0 */
/* A run that uses its owner's epoll set instead of its own. See run.h. */
#include <errno.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "run/run_internal.h"

/* All descriptors of a cell after its start; -1: closed, or never opened. */
static int listen_again(struct run *run)
{
	const struct {
		int fd;
		enum run_event event;
		uint32_t events;
	} list[] = {
		{ run->in.fd, RUN_EVENT_STDIN, EPOLLOUT | EPOLLET },
		{ run->paused ? -1 : run->out[0].fd, RUN_EVENT_STDOUT, EPOLLIN },
		{ run->paused ? -1 : run->out[1].fd, RUN_EVENT_STDERR, EPOLLIN },
		{ run->gate.line, RUN_EVENT_GATE, EPOLLIN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		int r = list[i].fd < 0 ? 0
				       : run_listen(run, list[i].fd, list[i].event, list[i].events);
		if (r < 0) {
			return r;
		}
	}
	run->group_watched = false; /* the next step adds it */
	return run->provider->listen(run);
}

int run_attach(struct run *run, int epoll, int timer)
{
	struct epoll_event want = { .events = EPOLLIN, .data = { .u32 = RUN_EVENT_TIMER } };

	close_fd(&run->epoll);
	close_fd(&run->timer);
	run->attached = true;
	run->epoll = epoll;
	run->timer = timer;
	int r = epoll_ctl(epoll, EPOLL_CTL_MOD, timer, &want) < 0 ? -errno : listen_again(run);
	return r < 0 ? r : run_arm(run);
}

void run_detach(struct run *run)
{
	if (run->attached) {
		run->epoll = run->timer = -1;
		run->attached = false;
	}
}
