/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watchdog: see watchdog.h. One thread for a context, which is started with the first
 * section. It looks fifty times a second while there is work, and sleeps otherwise. A section that
 * is over before the second look costs its thread half a microsecond.
 */
#include "run/watchdog/watchdog.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

struct watchdog {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	pid_t pid;      /* the process that it belongs to */
	unsigned epoch; /* grows with each process that has inherited it */
	bool running, ending;
	bool asleep;
	bool worked;                    /* for a cell, since the last look */
	unsigned quiet;                 /* looks without such work */
	struct watchdog_section *first; /* the innermost of each thread */
};

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

static void look(struct watchdog *dog)
{
	uint64_t now_ns = clock_now_ns();

	dog->quiet = dog->worked ? 0 : dog->quiet + 1;
	dog->worked = false;
	for (struct watchdog_section *s = dog->first; s; s = s->next) {
		dog->worked |= s->account != NULL;
		if (s->account && s->seen && is_blocked(s->thread)) {
			count(s, now_ns);
		}
		s->seen = true;
	}
}

static void wait_for_look(struct watchdog *dog)
{
	uint64_t at_ns = clock_now_ns() + LOOK_NS;
	struct timespec at = { .tv_sec = (time_t)(at_ns / 1000000000u),
			       .tv_nsec = (long)(at_ns % 1000000000u) };

	if (dog->quiet < QUIET_LOOKS) {
		pthread_cond_clockwait(&dog->wake, &dog->lock, CLOCK_MONOTONIC, &at);
		return;
	}
	dog->asleep = true;
	while (dog->asleep) {
		pthread_cond_wait(&dog->wake, &dog->lock);
	}
	dog->quiet = 0;
}

static void *watch(void *user)
{
	struct watchdog *dog = user;

	pthread_mutex_lock(&dog->lock);
	while (!dog->ending) {
		wait_for_look(dog);
		look(dog);
	}
	pthread_mutex_unlock(&dog->lock);
	return NULL;
}

/* --- start and end ---------------------------------------------------------------------------- */

static void wake_up(struct watchdog *dog)
{
	dog->asleep = false;
	pthread_cond_signal(&dog->wake);
}

/* Without it nothing is watched; the next section tries again. */
static void start(struct watchdog *dog)
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
	dog->quiet = 0;
	dog->running = pthread_create(&dog->thread, &attributes, watch, dog) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
}

static void set_up(struct watchdog *dog, unsigned epoch)
{
	*dog = (struct watchdog){ .pid = getpid(), .epoch = epoch };
	pthread_mutex_init(&dog->lock, NULL);
	pthread_cond_init(&dog->wake, NULL);
}

/* A child that the host program forked has one thread, and a lock that another may have held. */
static void notice_fork(struct watchdog *dog)
{
	if (dog->pid != getpid()) {
		set_up(dog, dog->epoch + 1);
	}
}

struct watchdog *watchdog_new(void)
{
	struct watchdog *dog = malloc(sizeof(*dog));

	if (dog) {
		set_up(dog, 0);
	}
	return dog;
}

void watchdog_free(struct watchdog *dog)
{
	if (!dog) {
		return;
	}
	notice_fork(dog);
	pthread_mutex_lock(&dog->lock);
	dog->ending = true;
	wake_up(dog);
	pthread_mutex_unlock(&dog->lock);
	if (dog->running) {
		pthread_join(dog->thread, NULL);
	}
	pthread_cond_destroy(&dog->wake);
	pthread_mutex_destroy(&dog->lock);
	free(dog);
}

/* --- sections --------------------------------------------------------------------------------- */

static void link_section(struct watchdog *dog, struct watchdog_section *section)
{
	if (section->account) {
		dog->worked = true;
		if (dog->asleep) {
			wake_up(dog);
		}
	}
	section->seen = false;
	section->next = dog->first;
	section->link = &dog->first;
	if (dog->first) {
		dog->first->link = &section->next;
	}
	dog->first = section;
}

static void unlink_section(struct watchdog_section *section)
{
	*section->link = section->next;
	if (section->next) {
		section->next->link = section->link;
	}
}

static struct watchdog_section *innermost(const struct watchdog *dog, pid_t thread)
{
	struct watchdog_section *section = dog->first;

	while (section && section->thread != thread) {
		section = section->next;
	}
	return section;
}

void watchdog_enter(struct watchdog *dog, struct watchdog_section *section)
{
	section->dog = dog;
	if (!dog) {
		return;
	}
	notice_fork(dog);
	section->thread = gettid();
	pthread_mutex_lock(&dog->lock);
	if (!dog->running) {
		start(dog);
	}
	section->epoch = dog->epoch;
	section->outer = innermost(dog, section->thread);
	if (section->outer) {
		unlink_section(section->outer);
	}
	link_section(dog, section);
	pthread_mutex_unlock(&dog->lock);
}

bool watchdog_leave(struct watchdog_section *section)
{
	struct watchdog *dog = section->dog;

	if (!dog) {
		return false;
	}
	notice_fork(dog);
	pthread_mutex_lock(&dog->lock);
	if (section->epoch == dog->epoch) {
		unlink_section(section);
		if (section->outer) {
			link_section(dog, section->outer);
		}
	}
	bool killed = section->account && section->account->killed;
	pthread_mutex_unlock(&dog->lock);
	return killed;
}
