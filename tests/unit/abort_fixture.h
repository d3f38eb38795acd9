/* SPDX-License-Identifier: Apache-2.0 */
/* Code that must end its process: it runs in a child, whose messages are discarded. */
#ifndef BRIG_TESTS_UNIT_ABORT_FIXTURE_H
#define BRIG_TESTS_UNIT_ABORT_FIXTURE_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Does the function end its process with abort()? Any other end but its return is a failure of the
 * test.
 */
static inline bool aborts(void (*function)(void *user), void *user)
{
	static const struct rlimit none = { 0 };
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		/* cmocka would take the signal for a failure of the test. */
		signal(SIGABRT, SIG_DFL);
		setrlimit(RLIMIT_CORE, &none);
		dup2(null, STDERR_FILENO);
		function(user);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	bool aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
	assert_true(aborted || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
	return aborted;
}

struct edge_try {
	void (*enter)(unsigned from, unsigned to);
	unsigned from, to;
};

static inline void edge_enter(void *user)
{
	const struct edge_try *try = user;

	try->enter(try->from, try->to);
}

/*
 * Tries each change of a life with `count` states in a child: exactly those in `edges` (a set of
 * next states for each state) return, all others abort.
 */
static inline void assert_edges(const uint32_t *edges, unsigned count,
				void (*enter)(unsigned from, unsigned to))
{
	for (unsigned from = 0; from < count; from++) {
		for (unsigned to = 0; to <= count; to++) {
			struct edge_try try = { enter, from, to };
			bool allowed = to < count && (edges[from] >> to & 1) != 0;

			if (aborts(edge_enter, &try) == allowed) {
				fail_msg("from %u to %u: %s", from, to,
					 allowed ? "aborted" : "did not abort");
			}
		}
	}
}
#endif
