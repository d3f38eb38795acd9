/* SPDX-License-Identifier: Apache-2.0 */
/* Watches: see socket_watch.h. */
#include "gate/socket_watch.h"

#include <sys/epoll.h>

#include "base/cleanup.h"

int watch_set(struct watch *watch, struct loop *loop, const struct watch_wish *wish)
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

void watch_done(struct watch *watch)
{
	loop_remove(TAKE_PTR(watch->source));
	watch->events = 0;
}

bool watch_is_gone(const struct watch *watch, uint32_t events)
{
	/* A connection whose reset was read before reports only the end. */
	return watch->source && !watch->events && (events & (EPOLLERR | EPOLLHUP));
}
