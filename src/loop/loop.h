/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop of the service's roles: descriptors by epoll, deadlines, nothing else. One thread,
 * no signals (use a signalfd), no children (use pidfds). Callbacks run from loop_run() only.
 */
#ifndef BRIG_LOOP_LOOP_H
#define BRIG_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct loop_source;

int loop_new(struct loop **ret);
/* All sources and timers must have been removed before. */
void loop_free(struct loop *loop);

/* `events` as in epoll: EPOLLIN, EPOLLOUT; EPOLLHUP and EPOLLERR are always reported. */
typedef void loop_ready(void *user, uint32_t events);

/* The descriptor is owned by the caller, and must stay open until the source is removed. */
int loop_add(struct loop *loop, int fd, uint32_t events, loop_ready *ready, void *user,
	     struct loop_source **ret);
int loop_change(struct loop_source *source, uint32_t events);
/*
 * Allowed at any time, also from a callback, also its own; it is not called again. NULL does
 * nothing.
 */
void loop_remove(struct loop_source *source);

/* A deadline, part of the object that it belongs to. Zero-initialised it is not set. */
struct loop_timer {
	void (*due)(void *user);
	void *user;
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	/* private to the loop */
	struct loop *loop;
	unsigned place; /* in the heap, from 1; 0: not set */
};

/* Sets, or moves. Fires once. -ENOMEM. */
int loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t at_ns);
void loop_timer_clear(struct loop_timer *timer);

/* Until loop_stop(); 0 or -errno. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
/* The longest round of the last one to two minutes: the time that all other sources had to wait. */
uint64_t loop_longest_ns(const struct loop *loop);
#endif
