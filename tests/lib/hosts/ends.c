/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to end a run from outside, at every stage of it; each leaves nothing behind. */
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Takes seconds to compile, and nothing else. */
static const char slow_to_compile[] = "#define A(x) x x x x x x x x\n"
				      "#define B(x) A(A(A(A(A(x)))))\n"
				      "int f(int a) { B(a = a * 7 + 1;) return a; }\n"
				      "int main(void) { return f(1) == 12345; }\n";

static void case_cancel(void)
{
	struct brig_context *context = host_context();
	struct brig_request request = host_code(
		"bash", "trap '' TERM INT HUP; echo partial; (setsid sleep 60 &) ; sleep 60");
	struct brig_run *run = host_start(context, &request);
	uint64_t start = now_ms();

	while (now_ms() - start < 300) {
		CHECK_EQ(host_turn(run, 50), 0);
	}
	brig_run_cancel(run);
	brig_run_cancel(run);
	struct brig_result *result = host_finish(run);
	CHECK_STATUS(result, BRIG_CANCELLED);
	CHECK_OUT(result, "partial\n");
	CHECK_EQ(result->exit_code, -1);
	CHECK(now_ms() - start < 5000);
	brig_result_free(result);
	CHECK_EQ(host_count_children(), 0);
	brig_context_free(context);
}

static void case_cancel_at_once(void)
{
	struct brig_context *context = host_context();
	struct brig_request request = host_code("bash", "echo never; sleep 60");

	for (unsigned i = 0; i < 20; i++) {
		struct brig_run *run = host_start(context, &request);
		if (i) {
			usleep(i * 500);
		}
		brig_run_cancel(run);
		struct brig_result *result = host_finish(run);
		CHECK_STATUS(result, BRIG_CANCELLED);
		brig_result_free(result);
	}
	CHECK_EQ(host_count_children(), 0);
	brig_context_free(context);
}

static void case_cancel_after_the_end(void)
{
	struct brig_context *context = host_context();
	struct brig_request request = host_code("bash", "echo whole");
	struct brig_run *run = host_start(context, &request);

	while (host_turn(run, 5000) == 0) {
	}
	brig_run_cancel(run);
	CHECK_EQ(brig_run_step(run, NULL), 1);
	CHECK_EQ(brig_run_wait(run, NULL), 0);
	struct brig_result *result = brig_run_take_result(run);
	CHECK_STATUS(result, BRIG_OK);
	CHECK_OUT(result, "whole\n");
	brig_result_free(result);
	brig_run_cancel(run);
	CHECK(brig_run_take_result(run) == NULL);
	CHECK_EQ(brig_run_step(run, NULL), 1);
	CHECK_EQ(brig_run_feed(run, "x", 1), -EPIPE);
	brig_run_feed_end(run);
	brig_run_free(run);
	brig_context_free(context);
}

static void case_cancel_the_compiler(void)
{
	struct brig_context *context = host_context();
	struct brig_request request = host_code("c", slow_to_compile);
	struct brig_run *run = host_start(context, &request);
	uint64_t start = now_ms();

	while (now_ms() - start < 200) {
		CHECK_EQ(host_turn(run, 50), 0);
	}
	brig_run_cancel(run);
	struct brig_result *result = host_finish(run);
	CHECK_STATUS(result, BRIG_CANCELLED);
	CHECK(now_ms() - start < 5000);
	brig_result_free(result);
	CHECK_EQ(host_count_children(), 0);
	brig_context_free(context);
}

/* No program at all: the error comes when the kernel starts it. A failure stays one. */
static void case_failed_start(void)
{
	const char *const command[] = { "./tool", NULL };
	struct brig_context *context = host_context();
	struct brig_request request = { .size = sizeof(request), .command = command };
	struct brig_error error = { 0 };
	unsigned fds = host_count_fds();
	FILE *tool = fopen("tool", "we");

	CHECK(tool != NULL);
	fprintf(tool, "\177ELF, but no program");
	fclose(tool);
	CHECK_EQ(chmod("tool", 0755), 0);
	struct brig_run *run = NULL;
	int r = brig_run_start(context, &request, &run, &error);
	if (r == 0) {
		r = brig_run_wait(run, &error);
		CHECK(r < 0);
		CHECK_EQ(brig_run_wait(run, NULL), r);
		CHECK_EQ(brig_run_step(run, NULL), r);
		CHECK(brig_run_feed(run, "x", 1) < 0);
		brig_run_feed_end(run);
		brig_run_cancel(run);
		CHECK(brig_run_take_result(run) == NULL);
		CHECK(strcmp(error.step, "exec") == 0);
	}
	CHECK(r < 0 && error.message[0]);
	brig_run_free(run);
	CHECK_EQ(host_count_fds(), fds);
	CHECK_EQ(host_count_children(), 0);
	brig_context_free(context);
}

/* Freed at every stage, the first microseconds included. */
static void case_free_midway(void)
{
	struct brig_context *context = host_context();
	struct brig_request request = host_code("bash", "trap '' TERM; sleep 60 & sleep 60");
	unsigned fds = host_count_fds();

	for (unsigned i = 0; i < 30; i++) {
		struct brig_run *run = host_start(context, &request);
		uint64_t until = now_ms() + i * 2;
		while (now_ms() < until) {
			CHECK_EQ(host_turn(run, 1), 0);
		}
		brig_run_free(run);
		CHECK_EQ(host_count_children(), 0);
	}
	CHECK_EQ(host_count_fds(), fds);
	brig_context_free(context);
}

static void case_free_the_compiler(void)
{
	struct brig_context *context = host_context();
	struct brig_request request = host_code("c", slow_to_compile);
	unsigned fds = host_count_fds();
	struct brig_run *run = host_start(context, &request);
	uint64_t start = now_ms();

	while (now_ms() - start < 200) {
		CHECK_EQ(host_turn(run, 50), 0);
	}
	brig_run_free(run);
	CHECK_EQ(host_count_children(), 0);
	CHECK_EQ(host_count_fds(), fds);
	brig_context_free(context);
}

/* Of two at once, the one that is too slow is ended, and the other is not. */
static void case_timeout_of_one(void)
{
	struct brig_context *context = host_context();
	struct brig_request slow = host_code("bash", "echo slow; sleep 60");
	struct brig_request other = host_code("bash", "sleep 0.6; echo other");

	slow.limits.wall_ns = 300 * MS;
	struct brig_run *first = host_start(context, &slow);
	struct brig_run *second = host_start(context, &other);
	struct brig_result *result = host_finish(first);
	CHECK_STATUS(result, BRIG_TIMEOUT);
	CHECK_OUT(result, "slow\n");
	CHECK(strcmp(result->cause, "wall") == 0);
	CHECK_EQ(result->limit, 300 * MS);
	CHECK(result->usage.wall_ns >= 300 * MS && result->usage.wall_ns < 3000 * MS);
	brig_result_free(result);
	result = host_finish(second);
	CHECK_STATUS(result, BRIG_OK);
	CHECK_OUT(result, "other\n");
	brig_result_free(result);
	brig_context_free(context);
}

/* A host that does not return to its loop for a while gets the same verdict, only later. */
static void case_slow_host(void)
{
	struct brig_context *context = host_context();
	struct brig_request request = host_code("bash", "echo quick");
	struct brig_run *run = host_start(context, &request);

	host_sleep_ms(600);
	struct brig_result *result = host_finish(run);
	CHECK_STATUS(result, BRIG_OK);
	CHECK_OUT(result, "quick\n");
	brig_result_free(result);
	brig_context_free(context);
}

static const struct host_case cases[] = {
	CASE(cancel),
	CASE(cancel_at_once),
	CASE(cancel_after_the_end),
	CASE(cancel_the_compiler),
	CASE(failed_start),
	CASE(free_midway),
	CASE(free_the_compiler),
	CASE(timeout_of_one),
	CASE(slow_host),
};

int main(int argc, char **argv)
{
	return host_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
