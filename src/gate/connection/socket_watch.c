/* SPDX-License-Identifier: Apache-2.0 */
/* Watched sockets: see socket_watch.h. */
#include "gate/connection/socket_watch.h"

#include <sys/epoll.h>

#include "base/cleanup.h"

int socket_watch_set(struct socket_watch *watch, struct loop *loop,
		     const struct socket_watch_request *wish)
{
	bool stays = wish->events || wish->resets;

	if (wish->events == watch->events && stays == (watch->source != NULL)) {
		return 0;
	}
	watch->events = wish->events;
	if (!stays) {
		loop_remove(TAKE_PTR(watch->source));
		return 0;
	}
	return watch->source ? loop_change(watch->source, wish->events)
			     : loop_add(loop, wish->fd, wish->events, wish->ready, wish->user,
					&watch->source);
}

void socket_watch_done(struct socket_watch *watch)
{
	loop_remove(TAKE_PTR(watch->source));
	watch->events = 0;
}

bool socket_watch_is_gone(const struct socket_watch *watch, uint32_t events)
{
	/* A connection whose reset was read before reports only the hangup. */
	return watch->source && !watch->events && (events & (EPOLLERR | EPOLLHUP));
}
