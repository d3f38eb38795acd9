/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watched runs: every allowed call is reported and continues; a refused call stays refused, with
 * the same answer; and nothing hangs, ends differently or gets through that would not without.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "filter_fixture.h"
#include "lib/context.h"
#include "native/calls/watched_call.h"
#include "policy/policy.h"

struct seen {
	struct call_watch watch;
	unsigned allowed[FILTER_CALLS_MAX];
	unsigned refused[FILTER_CALLS_MAX];
	bool path; /* a relative path came out whole */
	pid_t pid;
};

static void heard(void *user, const struct watched_call *call)
{
	struct seen *seen = user;
	char path[WATCHED_PATH_MAX];

	assert_true(call->number < FILTER_CALLS_MAX);
	seen->pid = call->pid;
	if (call->decision.action == FILTER_ALLOW) {
		seen->allowed[call->number]++;
	} else {
		seen->refused[call->number]++;
	}
	if (call->number == SYS_openat &&
	    watched_path(call, (int)call->args[0], call->args[1], path, sizeof(path)) > 0) {
		seen->path |= strcmp(path, "/sandbox/some/file") == 0;
	}
	/* Nothing is there: no harm done. */
	assert_true(watched_read(call, 8, path, 1) < 0);
	assert_true(watched_text(call, UINT64_MAX, path, sizeof(path)) < 0);
}

static struct brig_context *new_context(struct seen *seen)
{
	struct brig_context_options options = { .size = sizeof(options), .no_cache = true };
	struct brig_context *context = NULL;

	assert_int_equal(brig_context_new(&options, &context, NULL), 0);
	if (seen) {
		call_set_fill(&seen->watch.calls);
		seen->watch.needed = true;
		seen->watch.on_call = heard;
		seen->watch.user = seen;
		context->watch = &seen->watch;
	}
	return context;
}

static struct brig_result *run(struct seen *seen, const char *language, const char *code)
{
	struct brig_context *context = new_context(seen);
	struct brig_request request = { .size = sizeof(request),
					.limits = { .wall_ns = 25000000000ull } };
	struct brig_result *result = NULL;
	struct brig_error error = { 0 };

	if (brig_execute_code(context, language, code, &request, &result, &error) < 0) {
		fail_msg("%s (%s)", error.message, error.remedy);
	}
	brig_context_free(context);
	return result;
}

static void expect(struct seen *seen, const char *language, const char *code, const char *output)
{
	struct brig_result *result = run(seen, language, code);

	if (result->status != BRIG_OK || strcmp(result->stdout_data, output) != 0) {
		fail_msg("%s %s: %s%s", brig_status_name(result->status), result->cause,
			 result->stdout_data, result->stderr_data);
	}
	brig_result_free(result);
}

/* Children of every kind, exec, threads, signals, pipes, large output. */
static void ordinary_programs_go_on(void **state)
{
	struct seen seen = { 0 };

	(void)state;
	expect(&seen, "bash",
	       "mkdir some; echo x > some/file; cat some/file | wc -c; (exit 3) || :", "2\n");
	assert_true(seen.path);
	assert_true(seen.allowed[SYS_execve] >= 3);
	assert_true(seen.allowed[SYS_read] && seen.allowed[SYS_wait4]);
	assert_int_equal(seen.allowed[SYS_write], 0);
	expect(&seen, "python",
	       "import sys, threading, subprocess, signal, os, time\n"
	       "t = [threading.Thread(target=lambda: time.sleep(.01)) for _ in range(4)]\n"
	       "[x.start() for x in t]; [x.join() for x in t]\n"
	       "n = 0\n"
	       "def tick(*_):\n"
	       "    global n; n += 1\n"
	       "signal.signal(signal.SIGALRM, tick); signal.siginterrupt(signal.SIGALRM, False)\n"
	       "signal.setitimer(signal.ITIMER_REAL, .002, .002)\n"
	       "end = time.time() + .3\n"
	       "while time.time() < end: os.stat('/')\n"
	       "signal.setitimer(signal.ITIMER_REAL, 0)\n"
	       "print(n > 3, subprocess.run([sys.executable, '-Sc', '']).returncode)\n",
	       "True 0\n");
}

/* A cell that dies in the middle of its calls ends like any other. */
static void sudden_ends(void **state)
{
	struct seen seen = { 0 };
	struct brig_result *result =
		run(&seen, "bash",
		    "(while :; do :; done) & (while :; do read x </etc/passwd; done) "
		    "& sleep .1; kill -9 $$");

	(void)state;
	assert_int_equal(result->status, BRIG_FAILED);
	assert_int_equal(result->signal, 9);
	brig_result_free(result);
}

/*
 * The attack: every call with meaningless arguments, then refused ones with meaningful arguments;
 * watched and unwatched must give the same answers, one by one.
 */
static const char every_call[] =
	"import ctypes\n"
	"c = ctypes.CDLL(None, use_errno=True)\n"
	"def ask(*a):\n"
	"    ctypes.set_errno(0)\n"
	"    r = c.syscall(*[ctypes.c_long(x) for x in a])\n"
	"    return ctypes.get_errno() if r == -1 else 0\n"
	"skip = {15, 34, 37, 56, 57, 58, 60, 130, 231, 219, 12, 11, 435, 335, 336}\n"
	"print([ask(n, *[-1] * 6) for n in range(480) if n not in skip])\n"
	"print([ask(41, f, t, p) for f in range(46) for t in range(1, 6) for p in (0, 6, 17, "
	"132)])\n"
	"print([ask(272, 1 << b) for b in range(32)], [ask(157, o, -1) for o in range(80)])\n"
	"print([ask(56, 1 << b, 0, 0, 0, 0) for b in (17, 25, 26, 27, 28, 29, 30)])\n"
	"print([ask(16, -1, n) for n in range(0x5400, 0x5480)], ask(101, 0, 0, 0, 0))\n";

static void nothing_more_gets_through(void **state)
{
	struct seen seen = { 0 };
	struct brig_result *plain = run(NULL, "python", every_call);
	struct brig_result *watched = run(&seen, "python", every_call);

	(void)state;
	assert_int_equal(plain->status, BRIG_OK);
	assert_int_equal(watched->status, BRIG_OK);
	assert_true(plain->stdout_size > 2000);
	assert_string_equal(plain->stdout_data, watched->stdout_data);
	assert_int_equal(plain->denial.count, watched->denial.count);
	assert_true(seen.refused[SYS_ptrace] && seen.refused[SYS_unshare]);
	assert_int_equal(seen.allowed[SYS_ptrace] + seen.allowed[SYS_unshare], 0);
	brig_result_free(plain);
	brig_result_free(watched);
}

/* Features that could change a waiting call cannot be combined with watching. */
static void not_with_tracers(void **state)
{
	static const char *const lines[] = { "ptrace | allow | | x", "pidfd_getfd | allow | | x",
					     "process_vm_writev | allow | | x" };
	struct call_set all;

	(void)state;
	call_set_fill(&all);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct filter filter = { 0 };

		assert_int_equal(filter_from_lines(lines[i], &filter, NULL), 0);
		assert_int_equal(filter_watch(&filter, &all, NULL), -EINVAL);
		assert_false(filter.rules[0].watch);
		filter_done(&filter);
	}
}

static void only_what_is_asked_for(void **state)
{
	struct filter filter = { 0 };
	struct call_set some = { 0 };

	(void)state;
	call_set_add(&some, SYS_write);
	call_set_add(&some, SYS_openat);
	call_set_add(&some, 100000);
	assert_false(call_set_has(&some, 100000));
	assert_int_equal(
		filter_from_lines("read | allow | | x\nwrite | allow | | x\n"
				  "openat | deny EPERM | arg2 == 1 | x\nopenat | allow | | x",
				  &filter, NULL),
		0);
	assert_int_equal(filter_watch(&filter, &some, NULL), 0);
	assert_false(filter.rules[0].watch);
	assert_false(filter.rules[1].watch); /* never: this call announces the listener */
	assert_false(filter.rules[2].watch);
	assert_true(filter.rules[3].watch);
	filter_done(&filter);
}

/* Without walls there is nothing to watch with: that is an error, not silently ignored. */
static void needs_a_filter(void **state)
{
	struct seen seen = { 0 };
	struct brig_context *context = new_context(&seen);
	struct brig_request request = { .size = sizeof(request),
					.policy = "open",
					.consent = true };
	struct brig_result *result = NULL;

	(void)state;
	assert_int_equal(brig_execute_code(context, "bash", "true", &request, &result, NULL),
			 -ENOTSUP);
	brig_context_free(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_programs_go_on),   cmocka_unit_test(sudden_ends),
		cmocka_unit_test(nothing_more_gets_through), cmocka_unit_test(not_with_tracers),
		cmocka_unit_test(only_what_is_asked_for),    cmocka_unit_test(needs_a_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
