/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell that is closed before its container is gone: what is left to do waits for the daemon, so a
 * thread of its own does it, for two seconds at most, and a few of them at a time. A container
 * that stays nevertheless is found by its label: its cell is no more.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon/daemon.h"
#include "kernel/sys.h"

#define LEAVE_NS    2000000000ull
#define LEAVERS_MAX 4u
#define STACK_BYTES (256u << 10)

static struct {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	pid_t pid; /* a child has none of its parent's threads */
	unsigned count;
} leavers = { .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER };

/* --- the thread ------------------------------------------------------------------------------- */

/* True: the answer is complete. */
static bool await(struct daemon_call *call, uint64_t deadline_ns)
{
	int r = call->fd < 0 ? -EBADF : daemon_call_turn(call, NULL);

	for (uint64_t now = clock_now_ns(); r == 0 && now < deadline_ns; now = clock_now_ns()) {
		struct pollfd ready = { .fd = call->fd, .events = (short)daemon_call_events(call) };
		poll(&ready, 1, (int)((deadline_ns - now) / 1000000u) + 1);
		r = daemon_call_turn(call, NULL);
	}
	return r == 1;
}

/* A container that was not started would stay: what is missing is its name. */
static bool learn_id(struct daemon_cell *rest, uint64_t deadline_ns)
{
	return rest->id[0] || (await(&rest->call, deadline_ns) &&
			       daemon_answer_created(&rest->call.body, rest->id) == 0);
}

static void remove_container(struct daemon_cell *rest)
{
	uint64_t deadline_ns = clock_now_ns() + LEAVE_NS;
	_cleanup_(buf_done)
	struct buf path = { 0 };
	struct daemon_request request;

	if (!learn_id(rest, deadline_ns)) {
		return;
	}
	daemon_call_done(&rest->call);
	daemon_request(rest, DAEMON_REMOVE, &path, &request);
	if (!path.failed && daemon_call_begin(&rest->call, rest->socket, &request, NULL) == 0) {
		await(&rest->call, deadline_ns);
	}
}

static void drop(struct daemon_cell *rest)
{
	daemon_call_done(&rest->call);
	free(rest);
}

static void end_leaver(void)
{
	pthread_mutex_lock(&leavers.lock);
	leavers.count--;
	pthread_cond_broadcast(&leavers.ended);
	pthread_mutex_unlock(&leavers.lock);
}

static void *leave(void *user)
{
	remove_container(user);
	drop(user);
	end_leaver();
	return NULL;
}

/* --- its start -------------------------------------------------------------------------------- */

static bool may_begin(void)
{
	pthread_mutex_lock(&leavers.lock);
	if (leavers.pid != getpid()) {
		leavers.pid = getpid();
		leavers.count = 0;
	}
	bool may = leavers.count < LEAVERS_MAX;
	leavers.count += may;
	pthread_mutex_unlock(&leavers.lock);
	return may;
}

static bool start_thread(struct daemon_cell *rest)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;

	if (pthread_attr_init(&attributes) != 0) {
		return false;
	}
	(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	/* The signals of the host program are for its own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&thread, &attributes, leave, rest);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return r == 0;
}

/* The part that the thread needs: the cell itself is freed. */
static struct daemon_cell *take_rest(struct daemon_cell *cell)
{
	struct daemon_cell *rest = calloc(1, sizeof(*rest));

	if (!rest) {
		return NULL;
	}
	rest->kind = cell->kind;
	rest->api = cell->api;
	memcpy(rest->socket, cell->socket, sizeof(rest->socket));
	memcpy(rest->id, cell->id, sizeof(rest->id));
	rest->call = cell->call;
	cell->call = (struct daemon_call)DAEMON_CALL_NONE;
	return rest;
}

void daemon_leave(struct daemon_cell *cell)
{
	bool unknown = !cell->id[0] && cell->stage != DAEMON_CREATE;

	if (cell->stage == DAEMON_OVER || unknown) {
		return;
	}
	if (cell->pidfd >= 0 && sys_pidfd_send_signal(cell->pidfd, SIGKILL) == 0) {
		return;
	}
	if (!may_begin()) {
		return;
	}
	struct daemon_cell *rest = take_rest(cell);
	if (!rest || !start_thread(rest)) {
		if (rest) {
			drop(rest);
		}
		end_leaver();
	}
}

/* The process, or the library in it, ends: their work is worth two seconds. */
__attribute__((destructor)) static void await_leavers(void)
{
	uint64_t end_ns = clock_now_ns() + LEAVE_NS;
	const struct timespec end = { .tv_sec = (time_t)(end_ns / 1000000000u),
				      .tv_nsec = (long)(end_ns % 1000000000u) };
	int r = 0;

	/* In a child of another thread nobody may ever unlock it. */
	if (leavers.pid != getpid()) {
		return;
	}
	pthread_mutex_lock(&leavers.lock);
	while (leavers.count > 0 && r == 0) {
		r = pthread_cond_clockwait(&leavers.ended, &leavers.lock, CLOCK_MONOTONIC, &end);
	}
	pthread_mutex_unlock(&leavers.lock);
}
