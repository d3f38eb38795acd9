/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that every run writes to: what a child reports, what the template makes of it, and that a
 * fork gets pinned pages as copies at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/write_all.h"
#include "kernel/sys.h"
#include "template/hot_pages.h"

#define PAGE    4096u
#define PAGES   64u
#define WAIT_MS 60000

static uint64_t number_of(const char *at)
{
	return (uintptr_t)at / PAGE;
}

static char *map_pages(void)
{
	char *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	assert_true(at != MAP_FAILED);
	/* Of one size: a large page would be one page. */
	madvise(at, PAGES * PAGE, MADV_NOHUGEPAGE);
	memset(at, 1, PAGES * PAGE);
	return at;
}

static void make_pipe(int *reader, int *writer)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	*reader = ends[0];
	*writer = ends[1];
}

static bool has(const struct hot_pages *pages, uint64_t page)
{
	for (size_t i = 0; i < pages->count; i++) {
		if (pages->pages[i] == page) {
			return true;
		}
	}
	return false;
}

static int make_pages(void **state)
{
	*state = calloc(2, sizeof(struct hot_pages));
	return *state ? 0 : -1;
}

static int drop_pages(void **state)
{
	free(*state);
	return 0;
}

/* The status of a child that does this. */
static int in_child(int (*body)(char *at, int pipe), char *at, int pipe)
{
	int status = -1;
	int pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		_exit(body(at, pipe));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int write_and_report(char *at, int pipe)
{
	at[0] = 2;
	at[7 * PAGE] = 2;
	return hot_pages_report(pipe) < 0;
}

static int read_and_report(char *at, int pipe)
{
	(void)*(volatile char *)(at + 33 * PAGE);
	return hot_pages_report(pipe) < 0;
}

/* A page of a file that only the child has read: its window is among those that are read. */
static void test_read_pages(void **state)
{
	struct hot_pages *pages = *state;
	const volatile char *found[1024];
	_cleanup_close_ int reader = -1;
	_cleanup_close_ int writer = -1;
	_cleanup_close_ int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *at = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE, file, 0);
	unsigned windows = 0;

	assert_true(at != MAP_FAILED);
	make_pipe(&reader, &writer);
	assert_int_equal(in_child(read_and_report, at, writer), 0);
	close_fd(&writer);
	assert_int_equal(hot_pages_read(reader, WAIT_MS, pages), 0);
	size_t count = hot_pages_read_ones(pages, found, 1024);
	assert_true(count > 0 && count < 1024);
	for (size_t i = 0; i < count; i++) {
		const char *address = (const char *)(uintptr_t)found[i];
		windows += address >= at && address < at + PAGES * PAGE;
	}
	/* A fault may map more than one window, but not all of them. */
	assert_in_range(windows, 1, PAGES / 16);
	assert_int_equal(hot_pages_read_ones(pages, found, 1), 1);
	munmap(at, PAGES * PAGE);
	/* An address that is not mapped here is left out. */
	size_t left = hot_pages_read_ones(pages, found, 1024);
	for (size_t i = 0; i < left; i++) {
		const char *address = (const char *)(uintptr_t)found[i];
		assert_false(address >= at && address < at + PAGES * PAGE);
	}
}

static void test_report(void **state)
{
	struct hot_pages *pages = *state;
	_cleanup_close_ int reader = -1;
	_cleanup_close_ int writer = -1;
	char *at = map_pages();

	make_pipe(&reader, &writer);
	assert_int_equal(in_child(write_and_report, at, writer), 0);
	close_fd(&writer);
	assert_int_equal(hot_pages_read(reader, WAIT_MS, pages), 0);
	for (unsigned i = 0; i < PAGES; i++) {
		assert_int_equal(has(pages, number_of(at + i * PAGE)), i == 0 || i == 7);
	}
	for (size_t i = 1; i < pages->count; i++) {
		assert_true(pages->pages[i - 1] < pages->pages[i]);
	}
	munmap(at, PAGES * PAGE);
}

/* A child could send nothing, a part of a number, or too much. */
static void test_reports_of_other_sizes(void **state)
{
	static const struct {
		size_t bytes;
		int result;
	} cases[] = {
		{ 0, -ENODATA },
		{ 7, -ENODATA },
		{ 12, -ENODATA },
		{ 16, 0 },
		{ (HOT_PAGES_MAX - 1) * sizeof(uint64_t), 0 },
		{ HOT_PAGES_MAX * sizeof(uint64_t), -E2BIG },
		{ (HOT_PAGES_MAX + 1) * sizeof(uint64_t), -E2BIG },
	};
	static const char zeros[(HOT_PAGES_MAX + 1) * sizeof(uint64_t)];
	struct hot_pages *pages = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_close_ int reader = -1;
		_cleanup_close_ int writer = -1;
		make_pipe(&reader, &writer);
		assert_int_equal(write_all(writer, zeros, cases[i].bytes), 0);
		close_fd(&writer);
		assert_int_equal(hot_pages_read(reader, WAIT_MS, pages), cases[i].result);
	}
}

static void test_report_that_never_ends(void **state)
{
	struct hot_pages *pages = *state;
	_cleanup_close_ int reader = -1;
	_cleanup_close_ int writer = -1;
	const uint64_t page = 1;

	make_pipe(&reader, &writer);
	assert_int_equal(hot_pages_read(reader, 0, pages), -ETIME);
	assert_int_equal(write_all(writer, &page, sizeof(page)), 0);
	assert_int_equal(hot_pages_read(reader, 20, pages), -ETIME);
	assert_int_equal(pages->count, 0);
}

static void set_pages(struct hot_pages *pages, const char *text)
{
	pages->count = 0;
	for (; *text; text++) {
		pages->pages[pages->count++] = (uint64_t)*text;
	}
}

static void test_intersect(void **state)
{
	static const char *const cases[][3] = {
		{ "", "", "" },          { "abc", "", "" },        { "", "abc", "" },
		{ "abc", "abc", "abc" }, { "abc", "b", "b" },      { "b", "abc", "b" },
		{ "ace", "bdf", "" },    { "abxyz", "bcz", "bz" },
	};
	struct hot_pages *pages = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		set_pages(&pages[0], cases[i][0]);
		set_pages(&pages[1], cases[i][1]);
		hot_pages_intersect(&pages[0], &pages[1]);
		assert_int_equal(pages[0].count, strlen(cases[i][2]));
		for (size_t at = 0; at < pages[0].count; at++) {
			assert_int_equal(pages[0].pages[at], cases[i][2][at]);
		}
	}
}

/* Present, and of this process alone. */
static bool is_own(const char *at)
{
	uint64_t entry = 0;
	_cleanup_close_ int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (pagemap < 0 || pread(pagemap, &entry, sizeof(entry),
				 (off_t)(number_of(at) * sizeof(entry))) != sizeof(entry)) {
		_exit(99);
	}
	return (entry >> 63 & 1) && (entry >> 56 & 1);
}

static int check_copied(char *at, int pipe)
{
	(void)pipe;
	for (unsigned i = 0; i < PAGES; i++) {
		bool pinned = i == 1 || i == 2 || i == 9;
		if (at[i * PAGE] != 1 || is_own(at + i * PAGE) != pinned) {
			return 1 + (int)i;
		}
	}
	at[PAGE] = 3; /* its own: not to be seen by the next child */
	return 0;
}

/* On a host that refuses io_uring, or to lock so much, there is nothing to see. */
static int pin_three(struct hot_pages *pages, const char *at)
{
	*pages = (struct hot_pages){
		.count = 3,
		.pages = { number_of(at + PAGE), number_of(at + 2 * PAGE),
			   number_of(at + 9 * PAGE) },
	};
	int r = hot_pages_pin(pages);
	if (r == -EPERM || r == -ENOSYS || r == -ENOMEM) {
		print_message("this host refuses to pin pages: %s\n", strerror(-r));
		skip();
	}
	return r;
}

static void test_pinned_pages_are_copied(void **state)
{
	struct rlimit before, after;
	char *at = map_pages();

	getrlimit(RLIMIT_MEMLOCK, &before);
	assert_int_equal(pin_three(*state, at), 3);
	getrlimit(RLIMIT_MEMLOCK, &after);
	assert_int_equal(before.rlim_cur, after.rlim_cur);
	assert_int_equal(before.rlim_max, after.rlim_max);
	assert_int_equal(in_child(check_copied, at, -1), 0);
	assert_int_equal(in_child(check_copied, at, -1), 0);
}

/* Pages that are not mapped any more, or whose mapping cannot be written to, are left out. */
static void test_pages_that_are_gone(void **state)
{
	struct hot_pages *pages = *state;
	char *at = map_pages();

	assert_int_equal(munmap(at + PAGE, PAGE), 0);
	assert_int_equal(mprotect(at + 2 * PAGE, PAGE, PROT_READ), 0);
	assert_int_equal(pin_three(pages, at), 1);
	*pages = (struct hot_pages){ .count = 1, .pages = { number_of(at + PAGE) } };
	assert_int_equal(hot_pages_pin(pages), -ENODATA);
}

static int pin_without_memory(char *at, int pipe)
{
	struct hot_pages *pages = calloc(1, sizeof(*pages));
	const struct rlimit none = { 0, 0 };

	(void)pipe;
	if (!pages || setrlimit(RLIMIT_MEMLOCK, &none) < 0) {
		return 1;
	}
	pages->count = 1;
	pages->pages[0] = number_of(at);
	/* root is asked for no limit, unless it has given up its privileges */
	int r = hot_pages_pin(pages);
	free(pages);
	return r == -ENOMEM || r == -EPERM || r == -ENOSYS || (r == 1 && geteuid() == 0) ? 0 : 2;
}

static void test_no_locked_memory(void **state)
{
	char *at = map_pages();

	(void)state;
	assert_int_equal(in_child(pin_without_memory, at, -1), 0);
	munmap(at, PAGES * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_report, make_pages, drop_pages),
		cmocka_unit_test_setup_teardown(test_read_pages, make_pages, drop_pages),
		cmocka_unit_test_setup_teardown(test_reports_of_other_sizes, make_pages,
						drop_pages),
		cmocka_unit_test_setup_teardown(test_report_that_never_ends, make_pages,
						drop_pages),
		cmocka_unit_test_setup_teardown(test_intersect, make_pages, drop_pages),
		cmocka_unit_test_setup_teardown(test_pinned_pages_are_copied, make_pages,
						drop_pages),
		cmocka_unit_test_setup_teardown(test_pages_that_are_gone, make_pages, drop_pages),
		cmocka_unit_test_setup_teardown(test_no_locked_memory, make_pages, drop_pages),
	};

	return cmocka_run_group_tests_name("template_hot_pages", tests, NULL, NULL);
}
