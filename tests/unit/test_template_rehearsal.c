/* SPDX-License-Identifier: Apache-2.0 */
/* Children of a template that rehearse: whatever they do, the template goes on, and they end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "template/hot_pages.h"
#include "template/rehearsal.h"

#define WAIT_MS 60000 /* only a hang takes so long */

static int begun, ended;

static void count_begun(void)
{
	begun++;
}

static void count_ended(void)
{
	ended++;
}

static const struct rehearsal_hooks hooks = { count_begun, count_ended };
static char page[3 * 4096];

/* The result of rehearsal_hold(), whose children do this. */
static int pinned_by(void (*body)(void))
{
	int pinned = 0;

	begun = ended = 0;
	if (rehearsal_hold(&hooks, &pinned)) {
		body();
		rehearsal_end();
	}
	assert_int_equal(begun, ended);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	return pinned;
}

static void write_page(void)
{
	page[4096] = 1;
}

static void test_pages(void **state)
{
	(void)state;
	page[4096] = 2; /* present, so that there is something to pin */
	int r = pinned_by(write_page);
	assert_int_equal(begun, 3);
	assert_true(r > 0 || r == -EPERM || r == -ENOSYS || r == -ENOMEM);
	assert_int_equal(page[4096], 2);
}

static void end_at_once(void)
{
	_exit(0);
}

static void end_by_signal(void)
{
	signal(SIGABRT, SIG_DFL);
	abort();
}

/* More than is copied, and more than there is room for in the pipe. */
static void write_much(void)
{
	size_t size = (size_t)24 * HOT_PAGES_MAX * 4096;
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(at, 1, size / 4);
}

static void ignore_signals(void)
{
	for (int i = 1; i < SIGRTMIN; i++) {
		signal(i, SIG_IGN);
	}
	write_much();
}

static void test_children_that_fail(void **state)
{
	(void)state;
	assert_int_equal(pinned_by(end_at_once), -ENODATA);
	assert_int_equal(begun, 1);
	assert_int_equal(pinned_by(end_by_signal), -ENODATA);
	assert_int_equal(pinned_by(write_much), -E2BIG);
	assert_int_equal(pinned_by(ignore_signals), -E2BIG);
}

static int report;

static void wait_for_ever(void)
{
	pid_t self = getpid();

	(void)!write(report, &self, sizeof(self));
	for (;;) {
		pause();
	}
}

/* The template's end, however it ends, is that of its child. */
static void test_template_gone(void **state)
{
	int ends[2];
	pid_t child = 0;
	struct pollfd ready = { .events = POLLIN };

	(void)state;
	assert_int_equal(pipe(ends), 0);
	_cleanup_close_ int reader = ends[0];
	report = ends[1];
	pid_t template = fork();
	assert_true(template >= 0);
	if (template == 0) {
		pinned_by(wait_for_ever);
		_exit(0);
	}
	close(ends[1]);
	ready.fd = reader;
	assert_int_equal(poll(&ready, 1, WAIT_MS), 1);
	assert_int_equal(read(reader, &child, sizeof(child)), sizeof(child));
	assert_int_equal(kill(template, SIGKILL), 0);
	assert_int_equal(waitpid(template, NULL, 0), template);
	/* We are its parent now. */
	int status = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_children_that_fail),
		cmocka_unit_test(test_template_gone),
	};

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return cmocka_run_group_tests_name("template_rehearsal", tests, NULL, NULL);
}
