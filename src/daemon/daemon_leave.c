/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell that is closed before its container is gone: what is left to do waits for the daemon, so a
 * thread of its own does it, for two seconds at most, and a few of them at a time. A container
 * that stays nevertheless, as when the process ends first, is found by its label: its cell is no
 * more.
 */
#include <dirent.h>
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

#define LEAVE_NS 2000000000ull
/* More threads than this, and a container is left to the sweep. */
#define THREADS_MAX 16u
#define STACK_BYTES (256u << 10)

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

static void *leave(void *user)
{
	remove_container(user);
	drop(user);
	return NULL;
}

/* --- its start -------------------------------------------------------------------------------- */

/* The threads of this process, the host program's too. */
static unsigned count_threads(void)
{
	DIR *list = opendir("/proc/self/task");
	unsigned count = 0;

	if (!list) {
		return THREADS_MAX;
	}
	for (const struct dirent *one; count < THREADS_MAX && (one = readdir(list));) {
		count += one->d_name[0] != '.';
	}
	closedir(list);
	return count;
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
	if (count_threads() >= THREADS_MAX) {
		return;
	}
	struct daemon_cell *rest = take_rest(cell);
	if (rest && !start_thread(rest)) {
		drop(rest);
	}
}
