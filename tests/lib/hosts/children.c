/* SPDX-License-Identifier: Apache-2.0 */
/* A host with children, signals and handlers of its own: brig affects none of them. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

#define SIGNALS 65

static volatile sig_atomic_t chld_count, other_count;

static void on_chld(int signal)
{
	(void)signal;
	chld_count++;
}

static void on_other(int signal)
{
	(void)signal;
	other_count++;
}

/* One of each way to end, with the short-lived helpers of a first run (no cache yet). */
static void run_all_kinds(struct brig_context *context)
{
	static const struct {
		const char *language, *code;
		uint64_t wall_ns;
		enum brig_status status;
	} kinds[] = {
		{ "bash", "true", 0, BRIG_OK },
		{ "bash", "exit 3", 0, BRIG_FAILED },
		{ "bash", "kill -9 $$", 0, BRIG_FAILED },
		{ "bash", "sleep 30 & sleep 30", 100 * MS, BRIG_TIMEOUT },
		{ "c", "int main(void) { return 0; }", 0, BRIG_OK },
		{ "c", "int main(", 0, BRIG_COMPILE_FAILED },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct brig_request request = host_code(kinds[i].language, kinds[i].code);
		request.limits.wall_ns = kinds[i].wall_ns;
		struct brig_result *result = host_run(context, &request);
		CHECK_STATUS(result, kinds[i].status);
		brig_result_free(result);
	}
}

static pid_t start_child(int status, unsigned ms)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		host_sleep_ms(ms);
		_exit(status);
	}
	return pid;
}

/* wait(-1) returns the host's own children, and nothing else; not even while a cell exists. */
static void case_wait_any(void)
{
	struct brig_context *context = host_context();
	struct brig_request request = host_code("bash", "sleep 0.3");
	struct brig_run *run = host_start(context, &request);
	int status;

	errno = 0;
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	errno = 0;
	CHECK(wait(NULL) < 0 && errno == ECHILD);
	pid_t own = start_child(5, 50);
	CHECK_EQ(wait(&status), own);
	CHECK_EQ(WEXITSTATUS(status), 5);
	/* The cell's first process is dead and not reaped: still nothing is visible. */
	host_sleep_ms(500);
	errno = 0;
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	struct brig_result *result = host_finish(run);
	CHECK_STATUS(result, BRIG_OK);
	brig_result_free(result);
	run_all_kinds(context);
	errno = 0;
	CHECK(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD);
	brig_context_free(context);
}

static void case_no_sigchld(void)
{
	struct sigaction action = { .sa_handler = on_chld };
	struct brig_context *context = host_context();

	CHECK_EQ(sigaction(SIGCHLD, &action, NULL), 0);
	run_all_kinds(context);
	CHECK_EQ(chld_count, 0);
	/* The handler does work. */
	pid_t own = start_child(0, 0);
	CHECK_EQ(waitpid(own, NULL, 0), own);
	CHECK_EQ(chld_count, 1);
	brig_context_free(context);
}

/* A host that lets the kernel reap: its own children vanish, brig's still report how they ended. */
static void case_ignored_sigchld(void)
{
	struct brig_context *context = host_context();

	CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
	run_all_kinds(context);
	brig_context_free(context);
}

struct signals {
	struct sigaction actions[SIGNALS];
	sigset_t mask;
};

static struct signals look_at_signals(void)
{
	struct signals now;

	memset(&now, 0, sizeof(now));
	for (int i = 1; i < SIGNALS; i++) {
		sigaction(i, NULL, &now.actions[i]);
	}
	CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &now.mask), 0);
	return now;
}

static void case_signals_unchanged(void)
{
	struct sigaction action = { .sa_handler = on_other };
	struct brig_context *context = host_context();
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigaddset(&mask, SIGRTMIN);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &mask, NULL), 0);
	CHECK_EQ(sigaction(SIGTERM, &action, NULL), 0);
	struct signals before = look_at_signals();
	run_all_kinds(context);
	struct signals after = look_at_signals();
	for (int i = 1; i < SIGNALS; i++) {
		CHECK(before.actions[i].sa_handler == after.actions[i].sa_handler);
		CHECK_EQ(before.actions[i].sa_flags, after.actions[i].sa_flags);
		CHECK_EQ(sigismember(&before.mask, i), sigismember(&after.mask, i));
	}
	CHECK_EQ(other_count, 0);
	brig_context_free(context);
}

/* Signals that the host ignores or blocks do not affect the program: it starts with defaults. */
static void case_program_has_plain_signals(void)
{
	struct brig_context *context = host_context();
	struct brig_request request = host_code(
		"bash",
		"while read name value; do case $name in Sig[BIC][lga][knt]:) echo $name $value;; "
		"esac; done < /proc/self/status");
	sigset_t all;

	CHECK(signal(SIGTERM, SIG_IGN) != SIG_ERR);
	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	CHECK(signal(SIGINT, on_other) != SIG_ERR);
	sigfillset(&all);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &all, NULL), 0);
	struct brig_result *result = host_run(context, &request);
	CHECK_STATUS(result, BRIG_OK);
	/* bash itself ignores some for a moment, so only the blocked ones are certain. */
	CHECK(strstr(result->stdout_data, "SigBlk: 0000000000000000\n"));
	brig_result_free(result);
	request.code = "trap -p; (kill -TERM $BASHPID; echo lives)";
	result = host_run(context, &request);
	CHECK_EQ(result->stdout_size, 0);
	brig_result_free(result);
	brig_context_free(context);
}

/* Signals that interrupt the host's system calls, all the time. */
static void *shoot(void *data)
{
	pthread_t target = *(pthread_t *)data;

	while (other_count >= 0) {
		pthread_kill(target, SIGUSR1);
		host_sleep_ms(1);
		pthread_testcancel();
	}
	return NULL;
}

static void case_interrupted_calls(void)
{
	struct sigaction action = { .sa_handler = on_other }; /* no SA_RESTART */
	struct brig_context *context = host_context();
	pthread_t self = pthread_self(), thread;

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_EQ(pthread_create(&thread, NULL, shoot, &self), 0);
	for (int i = 0; i < 5; i++) {
		run_all_kinds(context);
	}
	CHECK_EQ(pthread_cancel(thread), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK(other_count > 0);
	brig_context_free(context);
}

static atomic_bool stop;

static void *fork_on(void *data)
{
	unsigned *count = data;

	while (!stop) {
		pid_t pid = fork();
		if (pid == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(0);
		}
		if (pid > 0) {
			int status;
			CHECK_EQ(waitpid(pid, &status, 0), pid);
			CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
			++*count;
		}
	}
	return NULL;
}

/* Forks copy descriptors at every moment: input must still end, and every run with it. */
static void case_fork_heavy(void)
{
	struct brig_context *context = host_context();
	struct brig_request request = host_code("bash", "cat; echo end");
	unsigned counts[2] = { 0 };
	pthread_t threads[2];

	request.stdin_data = "in\n";
	request.stdin_size = 3;
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(pthread_create(&threads[i], NULL, fork_on, &counts[i]), 0);
	}
	for (int i = 0; i < 30; i++) {
		struct brig_result *result = host_run(context, &request);
		CHECK_OUT(result, "in\nend\n");
		brig_result_free(result);
	}
	stop = true;
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
		CHECK(counts[i] > 0);
	}
	brig_context_free(context);
	CHECK_EQ(host_count_children(), 0);
}

static const struct host_case cases[] = {
	CASE(wait_any),
	CASE(no_sigchld),
	CASE(ignored_sigchld),
	CASE(signals_unchanged),
	CASE(program_has_plain_signals),
	CASE(interrupted_calls),
	CASE(fork_heavy),
};

int main(int argc, char **argv)
{
	return host_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
