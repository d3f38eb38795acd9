/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watchdog: see watchdog.h. One thread for the process, which is started with the first
 * section. It looks fifty times a second while there is work, and sleeps otherwise. Sections that
 * are over before the second look cost their thread two uncontended mutexes, and no system call.
 */
#include "run/watchdog/watchdog.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/cgroup/cgroup.h"
#include "kernel/sys.h"

#define LOOK_MS     20u
#define LOOK_NS     (LOOK_MS * 1000000ull)
#define LOOKS_MAX   ((WATCHDOG_PATIENCE_MS + LOOK_MS - 1) / LOOK_MS)
#define QUIET_LOOKS 50u /* without work: then it sleeps */
#define STACK_BYTES (256u << 10)

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_once_t once;
	pthread_t thread;
	bool running;
	uintptr_t generation; /* of the thread: one that is not the latest ends */
	bool asleep;
	bool worked;                    /* for a cell, since the last look */
	unsigned quiet;                 /* looks without such work */
	struct watchdog_section *first; /* the innermost of each thread */
} dog = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.wake = PTHREAD_COND_INITIALIZER,
	.once = PTHREAD_ONCE_INIT,
};

static _Thread_local struct watchdog_section *current;
static _Thread_local pid_t own_thread;

/* --- the watchdog's thread -------------------------------------------------------------------- */

/* Asleep in the kernel, which a thread that waits for a processor is not. */
static bool is_blocked(pid_t thread)
{
	char path[48], text[256];

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0) {
		return false;
	}
	text[n] = '\0';
	const char *state = strrchr(text, ')');
	return state && (strncmp(state, ") D", 3) == 0 || strncmp(state, ") S", 3) == 0);
}

/* Its end must not wait for processor time either. */
static void kill_cell(const struct watchdog_section *section)
{
	sys_pidfd_send_signal(section->pidfd, SIGKILL);
	if (section->group) {
		cgroup_hurry(section->group);
	}
}

/* Many short waits add up: else a cell could block a thread nearly all of the time. */
static void count(const struct watchdog_section *section, uint64_t now_ns)
{
	struct watchdog_account *account = section->account;
	uint64_t missed = (now_ns - account->look_ns) / LOOK_NS;
	uint64_t forgiven = missed > 1 ? missed - 1 : 0;

	account->looks = account->looks > forgiven ? account->looks - (unsigned)forgiven : 0;
	account->look_ns = now_ns;
	if (++account->looks >= LOOKS_MAX && !account->killed) {
		account->killed = true;
		kill_cell(section);
	}
}

static void look(void)
{
	uint64_t now_ns = clock_now_ns();

	dog.quiet = dog.worked ? 0 : dog.quiet + 1;
	dog.worked = false;
	for (struct watchdog_section *s = dog.first; s; s = s->next) {
		dog.worked |= s->account != NULL;
		if (s->account && s->seen && is_blocked(s->thread)) {
			count(s, now_ns);
		}
		s->seen = true;
	}
}

static void wait_for_look(void)
{
	uint64_t at_ns = clock_now_ns() + LOOK_NS;
	struct timespec at = { .tv_sec = (time_t)(at_ns / 1000000000u),
			       .tv_nsec = (long)(at_ns % 1000000000u) };

	if (dog.quiet < QUIET_LOOKS) {
		pthread_cond_clockwait(&dog.wake, &dog.lock, CLOCK_MONOTONIC, &at);
		return;
	}
	dog.asleep = true;
	while (dog.asleep) {
		pthread_cond_wait(&dog.wake, &dog.lock);
	}
	dog.quiet = 0;
}

static void *watch(void *generation)
{
	pthread_mutex_lock(&dog.lock);
	while (dog.generation == (uintptr_t)generation) {
		wait_for_look();
		look();
	}
	pthread_mutex_unlock(&dog.lock);
	return NULL;
}

/* --- start, stop, fork ------------------------------------------------------------------------ */

static void before_fork(void)
{
	pthread_mutex_lock(&dog.lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&dog.lock);
}

static void wake_up(void)
{
	if (dog.asleep) {
		dog.asleep = false;
		pthread_cond_signal(&dog.wake);
	}
}

static void link_section(struct watchdog_section *section)
{
	if (section->account) {
		dog.worked = true;
		wake_up();
	}
	section->seen = false;
	section->next = dog.first;
	section->link = &dog.first;
	if (dog.first) {
		dog.first->link = &section->next;
	}
	dog.first = section;
}

/* Of all threads the child has this one only. */
static void in_child(void)
{
	dog.first = NULL;
	dog.running = dog.asleep = false;
	dog.generation++;
	pthread_cond_init(&dog.wake, NULL);
	own_thread = gettid();
	if (current) {
		current->thread = own_thread;
		link_section(current);
	}
	pthread_mutex_unlock(&dog.lock);
}

static void prepare_for_fork(void)
{
	(void)pthread_atfork(before_fork, after_fork, in_child);
}

/* Without it nothing is watched; the next section tries again. */
static void start(void)
{
	pthread_attr_t attributes;
	sigset_t all, before;

	if (pthread_attr_init(&attributes) != 0) {
		return;
	}
	(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
	/* The signals of the host program are for its own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	dog.quiet = 0;
	dog.running = pthread_create(&dog.thread, &attributes, watch, (void *)dog.generation) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
}

void watchdog_stop(void)
{
	pthread_mutex_lock(&dog.lock);
	bool running = dog.running && !dog.first;
	pthread_t thread = dog.thread;
	if (running) {
		dog.running = false;
		dog.generation++;
		dog.asleep = false;
		pthread_cond_signal(&dog.wake);
	}
	pthread_mutex_unlock(&dog.lock);
	if (running) {
		pthread_join(thread, NULL);
	}
}

/* --- sections --------------------------------------------------------------------------------- */

static void unlink_section(struct watchdog_section *section)
{
	*section->link = section->next;
	if (section->next) {
		section->next->link = section->link;
	}
}

void watchdog_enter(struct watchdog_section *section)
{
	pthread_once(&dog.once, prepare_for_fork);
	if (!own_thread) {
		own_thread = gettid();
	}
	section->thread = own_thread;
	section->outer = current;
	pthread_mutex_lock(&dog.lock);
	if (!dog.running) {
		start();
	}
	if (current) {
		unlink_section(current);
	}
	link_section(section);
	current = section;
	pthread_mutex_unlock(&dog.lock);
}

bool watchdog_leave(struct watchdog_section *section)
{
	pthread_mutex_lock(&dog.lock);
	unlink_section(section);
	current = section->outer;
	if (current) {
		link_section(current);
	}
	bool killed = section->account && section->account->killed;
	pthread_mutex_unlock(&dog.lock);
	return killed;
}
