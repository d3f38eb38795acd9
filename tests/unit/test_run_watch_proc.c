/* SPDX-License-Identifier: Apache-2.0 */
/* The usage of a cell's processes, by a directory that looks like /proc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "run/watch/watch.h"
#include "run/watch/watch_proc.h"

struct fake {
	char path[64];
	int fd;
	struct proc_memory memory;
};

static int set_up(void **state)
{
	struct fake *fake = calloc(1, sizeof(*fake));

	strcpy(fake->path, "/tmp/brig-proc-XXXXXX");
	assert_non_null(mkdtemp(fake->path));
	fake->fd = open(fake->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = fake;
	return fake->fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	struct fake *fake = *state;
	char command[128];

	proc_memory_done(&fake->memory);
	close(fake->fd);
	snprintf(command, sizeof(command), "rm -rf %s", fake->path);
	int r = system(command);
	free(fake);
	return r;
}

static void put(struct fake *fake, const char *name, const char *text)
{
	_cleanup_close_ int fd =
		openat(fake->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void put_status(struct fake *fake, unsigned pid, const char *text)
{
	char name[64];

	snprintf(name, sizeof(name), "%u/status", pid);
	put(fake, name, text);
}

/* Ticks of its own, and of reaped children. */
static void put_process(struct fake *fake, unsigned pid, unsigned start, unsigned own,
			unsigned waited)
{
	char name[64], text[256];

	snprintf(name, sizeof(name), "%u", pid);
	mkdirat(fake->fd, name, 0755);
	snprintf(name, sizeof(name), "%u/stat", pid);
	snprintf(text, sizeof(text),
		 "%u (a) b) 1 2) S 1 2 3 4 5 6 7 8 9 10 %u %u %u %u 20 0 2 0 %u 99 98\n", pid,
		 own - own / 3, own / 3, waited - waited / 4, waited / 4, start);
	put(fake, name, text);
	put_status(fake, pid, "Name:\tx\n");
}

static void drop(struct fake *fake, unsigned pid)
{
	char name[64];

	snprintf(name, sizeof(name), "%u/stat", pid);
	unlinkat(fake->fd, name, 0);
	snprintf(name, sizeof(name), "%u/status", pid);
	unlinkat(fake->fd, name, 0);
	snprintf(name, sizeof(name), "%u", pid);
	unlinkat(fake->fd, name, AT_REMOVEDIR);
}

static uint64_t ticks(struct fake *fake)
{
	struct proc_usage usage;

	proc_usage(fake->fd, 0, &fake->memory, &usage);
	return usage.cpu_ns / (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void test_alive(void **state)
{
	struct fake *fake = *state;
	struct proc_usage usage;

	put_process(fake, 2, 100, 30, 4);
	put_process(fake, 10, 110, 5, 0);
	put_process(fake, 1, 1, 1000, 7); /* brig-init: only the processes that it reaped */
	assert_int_equal(ticks(fake), 30 + 4 + 5 + 7);
	assert_int_equal(ticks(fake), 30 + 4 + 5 + 7);
	proc_usage(fake->fd, 0, &fake->memory, &usage);
	assert_int_equal(usage.tasks, 4); /* two threads each, brig-init's not */
}

/* Children of a parent that ignores SIGCHLD: one after the other, and in no other figures. */
static void test_lost(void **state)
{
	struct fake *fake = *state;

	put_process(fake, 2, 100, 1, 0);
	for (unsigned i = 0; i < 10; i++) {
		put_process(fake, 10 + i, 200 + i, 20, 3);
		ticks(fake);
		drop(fake, 10 + i);
		ticks(fake);
	}
	assert_int_equal(ticks(fake), 1 + 10 * 23);
	assert_int_equal(ticks(fake), 1 + 10 * 23);
}

static void test_waited(void **state)
{
	struct fake *fake = *state;

	put_process(fake, 1, 1, 9, 0);
	put_process(fake, 2, 100, 1, 0);
	put_process(fake, 10, 200, 20, 3);
	put_process(fake, 11, 201, 50, 0);
	assert_int_equal(ticks(fake), 1 + 23 + 50);
	/* 10 used 2 more before it ended, and its parent reaped it. */
	drop(fake, 10);
	put_process(fake, 2, 100, 1, 25);
	assert_int_equal(ticks(fake), 1 + 25 + 50);
	/* The orphan and its parent end: brig-init reaps both. */
	drop(fake, 11);
	drop(fake, 2);
	put_process(fake, 1, 1, 9, 76);
	assert_int_equal(ticks(fake), 76);
	assert_int_equal(ticks(fake), 76);
}

/* The parent was read before it had reaped: nothing is lost, and nothing counts twice. */
static void test_waited_late(void **state)
{
	struct fake *fake = *state;

	put_process(fake, 2, 100, 1, 0);
	put_process(fake, 10, 200, 20, 0);
	assert_int_equal(ticks(fake), 21);
	drop(fake, 10);
	assert_int_equal(ticks(fake), 1);
	put_process(fake, 2, 100, 1, 20);
	assert_int_equal(ticks(fake), 21);
	assert_int_equal(ticks(fake), 21);
}

/* Short reaped children do not hide one that is not reaped. */
static void test_mixed(void **state)
{
	struct fake *fake = *state;

	put_process(fake, 2, 100, 0, 0);
	put_process(fake, 10, 200, 500, 0);
	ticks(fake);
	drop(fake, 10);
	put_process(fake, 2, 100, 0, 2);
	ticks(fake);
	put_process(fake, 2, 100, 0, 4);
	assert_int_equal(ticks(fake), 500);
}

static void test_number_again(void **state)
{
	struct fake *fake = *state;

	put_process(fake, 10, 200, 20, 0);
	ticks(fake);
	put_process(fake, 10, 300, 5, 0);
	ticks(fake);
	assert_int_equal(ticks(fake), 25);
}

static void test_memory(void **state)
{
	struct fake *fake = *state;
	struct proc_usage usage;

	put_process(fake, 2, 100, 0, 0);
	put_status(fake, 2,
		   "Name:\tRssAnon: 0\nVmRSS:\t  999 kB\nRssAnon:\t  100 kB\nRssFile:\t 500 kB\n"
		   "RssShmem:\t  20 kB\nVmPTE:\t   3 kB\nVmSwap:\t   4000 kB\n");
	proc_usage(fake->fd, 0, &fake->memory, &usage);
	assert_int_equal(usage.memory_bytes, (100 + 20 + 3 + 4000) * 1024);
}

static void test_memory_of_dead_first_thread(void **state)
{
	struct fake *fake = *state;
	struct proc_usage usage;

	put_process(fake, 2, 100, 0, 0);
	put_status(fake, 2, "Name:\tx\nState:\tZ (zombie)\n");
	assert_int_equal(mkdirat(fake->fd, "2/task", 0755), 0);
	assert_int_equal(mkdirat(fake->fd, "2/task/2", 0755), 0);
	assert_int_equal(mkdirat(fake->fd, "2/task/3", 0755), 0);
	assert_int_equal(mkdirat(fake->fd, "2/task/4", 0755), 0);
	put(fake, "2/task/2/status", "Name:\tx\nState:\tZ (zombie)\n");
	put(fake, "2/task/3/status", "Name:\tx\nRssAnon:\t 64 kB\n");
	put(fake, "2/task/4/status", "Name:\tx\nRssAnon:\t 64 kB\n");
	proc_usage(fake->fd, 0, &fake->memory, &usage);
	assert_int_equal(usage.memory_bytes, 64 * 1024);
}

/*
 * Without a counting cgroup, a process that ends between two checks is missed: they must be close.
 */
static void test_looks(void **state)
{
	struct spec spec = { .limits = { .wall_ns = 60000000000u, .cpu_ns = 60000000000u },
			     .cpus = 1 };
	struct limit_watch watch = { .spec = &spec, .sandbox = -1, .proc = -1, .sockets = -1 };
	struct facts facts = { 0 };

	(void)state;
	assert_int_equal(watch_next_ns(&watch, 0, &facts), 10000000);
	spec.layers = LAYER_BIT(LAYER_CGROUP_CPU);
	assert_int_equal(watch_next_ns(&watch, 0, &facts), 100000000);
	spec.watch_memory = true;
	spec.limits.memory_bytes = 400;
	assert_int_equal(watch_next_ns(&watch, 0, &facts), 10000000);
	/* and the closer, the more of the memory is used */
	facts.memory_peak_bytes = 101;
	assert_int_equal(watch_next_ns(&watch, 0, &facts), 2000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_alive, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lost, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_waited, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_waited_late, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_mixed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_number_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_memory, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_memory_of_dead_first_thread, set_up,
						tear_down),
		cmocka_unit_test(test_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
