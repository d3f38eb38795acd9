/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop: see loop.h. */
#include "loop/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define EVENTS_AT_ONCE 64
#define NS_PER_MS      1000000u
#define NS_PER_MINUTE  UINT64_C(60000000000)

struct loop_source {
	struct loop *loop;
	int fd;
	loop_ready *ready; /* NULL: removed; freed when no event can refer to it any more */
	void *user;
	struct loop_source *next_removed;
};

struct loop {
	int epoll;
	bool stopped;
	struct loop_source *removed; /* during a round: pending events may still refer to it */
	bool in_round;
	struct loop_timer **heap; /* from 1; the first is the next due */
	unsigned timers, room;
	uint64_t firing_ns; /* while timers fire: a timer that is set now is due in a later round */
	uint64_t longest_ns[2]; /* of this minute and of the previous one */
	uint64_t minute_ns;     /* when this one began */
};

int loop_new(struct loop **ret)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop) {
		return -ENOMEM;
	}
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll < 0) {
		int r = -errno;
		free(loop);
		return r;
	}
	*ret = loop;
	return 0;
}

static void free_removed(struct loop *loop)
{
	while (loop->removed) {
		struct loop_source *source = loop->removed;
		loop->removed = source->next_removed;
		free(source);
	}
}

void loop_free(struct loop *loop)
{
	if (!loop) {
		return;
	}
	for (unsigned i = 1; i <= loop->timers; i++) {
		loop->heap[i]->place = 0;
	}
	free_removed(loop);
	close_fd(&loop->epoll);
	free(loop->heap);
	free(loop);
}

int loop_add(struct loop *loop, int fd, uint32_t events, loop_ready *ready, void *user,
	     struct loop_source **ret)
{
	struct loop_source *source = malloc(sizeof(*source));

	if (!source) {
		return -ENOMEM;
	}
	*source = (struct loop_source){ .loop = loop, .fd = fd, .ready = ready, .user = user };
	struct epoll_event event = { .events = events, .data.ptr = source };
	if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
		int r = -errno;
		free(source);
		return r;
	}
	*ret = source;
	return 0;
}

int loop_change(struct loop_source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	return epoll_ctl(source->loop->epoll, EPOLL_CTL_MOD, source->fd, &event) < 0 ? -errno : 0;
}

void loop_remove(struct loop_source *source)
{
	if (!source) {
		return;
	}
	epoll_ctl(source->loop->epoll, EPOLL_CTL_DEL, source->fd, NULL);
	source->ready = NULL;
	if (!source->loop->in_round) {
		free(source);
		return;
	}
	source->next_removed = source->loop->removed;
	source->loop->removed = source;
}

/* --- deadlines: a binary heap ---------------------------------------------------------------- */

static void put(struct loop *loop, struct loop_timer *timer, unsigned place)
{
	loop->heap[place] = timer;
	timer->place = place;
}

static void sift_up(struct loop *loop, struct loop_timer *timer, unsigned place)
{
	for (; place > 1 && loop->heap[place / 2]->at_ns > timer->at_ns; place /= 2) {
		put(loop, loop->heap[place / 2], place);
	}
	put(loop, timer, place);
}

static void sift_down(struct loop *loop, struct loop_timer *timer, unsigned place)
{
	for (;;) {
		unsigned child = place * 2;
		if (child < loop->timers &&
		    loop->heap[child + 1]->at_ns < loop->heap[child]->at_ns) {
			child++;
		}
		if (child > loop->timers || loop->heap[child]->at_ns >= timer->at_ns) {
			break;
		}
		put(loop, loop->heap[child], place);
		place = child;
	}
	put(loop, timer, place);
}

static int make_room(struct loop *loop)
{
	if (loop->timers + 1 < loop->room) {
		return 0;
	}
	unsigned room = loop->room ? loop->room * 2 : 16;
	struct loop_timer **heap = reallocarray(loop->heap, room, sizeof(struct loop_timer *));
	if (!heap) {
		return -ENOMEM;
	}
	loop->heap = heap;
	loop->room = room;
	return 0;
}

int loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t at_ns)
{
	loop_timer_clear(timer);
	int r = make_room(loop);
	if (r < 0) {
		return r;
	}
	timer->loop = loop;
	timer->at_ns = at_ns <= loop->firing_ns ? loop->firing_ns + 1 : at_ns;
	sift_up(loop, timer, ++loop->timers);
	return 0;
}

void loop_timer_clear(struct loop_timer *timer)
{
	struct loop *loop = timer->loop;
	unsigned place = timer->place;

	if (!place) {
		return;
	}
	struct loop_timer *last = loop->heap[loop->timers--];
	timer->place = 0;
	if (last == timer) {
		return;
	}
	sift_up(loop, last, place);
	sift_down(loop, last, last->place);
}

/*
 * Only timers that were due when it began: a timer that sets itself again does not delay the
 * others.
 */
static void fire_due(struct loop *loop)
{
	uint64_t now = clock_now_ns();

	loop->firing_ns = now;
	while (!loop->stopped && loop->timers && loop->heap[1]->at_ns <= now) {
		struct loop_timer *timer = loop->heap[1];
		loop_timer_clear(timer);
		timer->due(timer->user);
	}
	loop->firing_ns = 0;
}

/* Rounded up: a deadline is never early. */
static int wait_ms(const struct loop *loop)
{
	if (!loop->timers) {
		return -1;
	}
	uint64_t now = clock_now_ns(), at = loop->heap[1]->at_ns;
	uint64_t ms = at <= now ? 0 : (at - now + NS_PER_MS - 1) / NS_PER_MS;
	return ms > 60000 ? 60000 : (int)ms;
}

static void measure(struct loop *loop, uint64_t begin_ns)
{
	uint64_t now = clock_now_ns();

	if (now - loop->minute_ns > NS_PER_MINUTE) {
		bool next = now - loop->minute_ns < 2 * NS_PER_MINUTE;
		loop->longest_ns[1] = next ? loop->longest_ns[0] : 0;
		loop->longest_ns[0] = 0;
		loop->minute_ns = now;
	}
	if (now - begin_ns > loop->longest_ns[0]) {
		loop->longest_ns[0] = now - begin_ns;
	}
}

uint64_t loop_longest_ns(const struct loop *loop)
{
	const uint64_t *longest = loop->longest_ns;

	return longest[0] > longest[1] ? longest[0] : longest[1];
}

int loop_run(struct loop *loop)
{
	struct epoll_event events[EVENTS_AT_ONCE];

	loop->stopped = false;
	while (!loop->stopped) {
		int count = epoll_wait(loop->epoll, events, EVENTS_AT_ONCE, wait_ms(loop));
		if (count < 0 && errno != EINTR) {
			return -errno;
		}
		uint64_t begin_ns = clock_now_ns();
		loop->in_round = true;
		for (int i = 0; i < count && !loop->stopped; i++) {
			struct loop_source *source = events[i].data.ptr;
			if (source->ready) {
				source->ready(source->user, events[i].events);
			}
		}
		fire_due(loop);
		loop->in_round = false;
		free_removed(loop);
		measure(loop, begin_ns);
	}
	return 0;
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
}
