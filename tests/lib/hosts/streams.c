/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in and bytes out: none lost, none changed, in order, at any speed. */
#include <signal.h>
#include <time.h>

#include "host.h"

#define MIB (1u << 20)

struct taken {
	char *data;
	size_t size, calls;
	size_t by_stream[3];
};

static void take(void *user, int stream, const void *data, size_t size)
{
	struct taken *taken = user;

	CHECK(stream == 1 || stream == 2);
	CHECK(size > 0);
	taken->data = realloc(taken->data, taken->size + size);
	CHECK(taken->data != NULL);
	memcpy(taken->data + taken->size, data, size);
	taken->size += size;
	taken->by_stream[stream] += size;
	taken->calls++;
}

/* Different at every position, so that a lost or moved byte is detected. */
static char *pattern(size_t size)
{
	char *data = malloc(size);

	CHECK(data != NULL);
	for (size_t i = 0; i < size; i++) {
		data[i] = (char)((i * 2654435761u) >> 13);
	}
	return data;
}

/* SIGPIPE has the default action of the process: it would kill. */
static void case_input_that_nobody_reads(void)
{
	struct brig_context *context = host_context();
	struct brig_request request = host_code("bash", "exec <&-; sleep 0.2; echo done");

	CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
	request.stdin_data = pattern(MIB);
	request.stdin_size = MIB;
	struct brig_result *result = host_run(context, &request);
	CHECK_STATUS(result, BRIG_OK);
	CHECK_OUT(result, "done\n");
	brig_result_free(result);

	/* The same by hand: at some time feeding reports that there is no reader. */
	struct brig_request fed = host_code("bash", "exec <&-; sleep 0.2; echo done");
	fed.stdin_feed = true;
	struct brig_run *run = host_start(context, &fed);
	long n = 0;
	for (int i = 0; i < 1000 && n >= 0; i++) {
		n = brig_run_feed(run, request.stdin_data, MIB);
		if (host_turn(run, 10) == 1) {
			break;
		}
	}
	CHECK(n == -EPIPE || n == 0);
	result = host_finish(run);
	CHECK_OUT(result, "done\n");
	brig_result_free(result);
	free((void *)(uintptr_t)request.stdin_data);
	brig_context_free(context);
}

static void case_large_input(void)
{
	struct brig_context *context = host_context();
	struct brig_request request = host_code("bash", "cat");
	char *data = pattern(8 * MIB);

	request.stdin_data = data;
	request.stdin_size = 8 * MIB;
	request.limits.stdout_bytes = 16 * MIB;
	struct brig_result *result = host_run(context, &request);
	CHECK_STATUS(result, BRIG_OK);
	CHECK_EQ(result->stdout_size, 8 * MIB);
	CHECK(memcmp(result->stdout_data, data, 8 * MIB) == 0);
	brig_result_free(result);
	free(data);
	brig_context_free(context);
}

/*
 * A slow reader: feeding accepts what fits, returns 0 when full, and continues when the fd is
 * ready.
 */
static void case_backpressure(void)
{
	struct brig_context *context = host_context();
	struct brig_request request = host_code("bash", "sleep 0.3; cat");
	struct taken taken = { 0 };
	size_t at = 0, full = 0, size = 4 * MIB;
	char *data = pattern(size);
	int r = 0;

	request.stdin_feed = true;
	request.on_output = take;
	request.user = &taken;
	request.discard_output = true;
	request.limits.stdout_bytes = 16 * MIB;
	struct brig_run *run = host_start(context, &request);
	while (r == 0) {
		while (at < size) {
			long n = brig_run_feed(run, data + at, size - at);
			CHECK(n >= 0 && (size_t)n <= size - at);
			if (n == 0) {
				full++;
				break;
			}
			at += (size_t)n;
			if (at == size) {
				brig_run_feed_end(run);
			}
		}
		r = host_turn(run, 5000);
	}
	CHECK_EQ(at, size);
	CHECK(full > 0);
	/* Accepted and unread input is bounded. */
	CHECK_EQ(taken.size, size);
	CHECK(memcmp(taken.data, data, size) == 0);
	struct brig_result *result = host_finish(run);
	CHECK_STATUS(result, BRIG_OK);
	CHECK_EQ(result->stdout_size, 0); /* discarded */
	brig_result_free(result);
	free(taken.data);
	free(data);
	brig_context_free(context);
}

static void case_feed_after_end(void)
{
	struct brig_context *context = host_context();
	struct brig_request request = host_code("bash", "cat");

	request.stdin_feed = true;
	struct brig_run *run = host_start(context, &request);
	host_feed(run, "a", 1);
	CHECK_EQ(brig_run_feed(run, "", 0), 0);
	brig_run_feed_end(run);
	CHECK_EQ(brig_run_feed(run, "b", 1), -EPIPE);
	brig_run_feed_end(run);
	while (host_turn(run, 5000) == 0) {
	}
	CHECK_EQ(brig_run_feed(run, "c", 1), -EPIPE);
	brig_run_feed_end(run);
	struct brig_result *result = host_finish(run);
	CHECK_OUT(result, "a");
	brig_result_free(result);

	/* Without stdin_feed the input is complete from the start. */
	request.stdin_feed = false;
	run = host_start(context, &request);
	CHECK(brig_run_feed(run, "d", 1) <= 0);
	result = host_finish(run);
	CHECK_OUT(result, "");
	brig_result_free(result);
	brig_context_free(context);
}

/* While the compiler runs the program's input waits; none of it reaches the compiler. */
static void case_feed_while_compiling(void)
{
	struct brig_context *context = host_context();
	struct brig_request request =
		host_code("c", "#include <stdio.h>\n"
			       "int main(void) { for (int c; (c = getchar()) != EOF;) putchar(c); "
			       "return 0; }");
	bool fed = false;
	unsigned waits = 0;

	request.stdin_feed = true;
	struct brig_run *run = host_start(context, &request);
	for (int r = 0; r == 0;) {
		if (!fed) {
			long n = brig_run_feed(run, "through", 7);
			CHECK(n == 0 || n == 7);
			fed = n == 7;
			waits += n == 0;
			if (fed) {
				brig_run_feed_end(run);
			}
		}
		r = host_turn(run, 10000);
	}
	CHECK(fed && waits > 0);
	struct brig_result *result = host_finish(run);
	CHECK_STATUS(result, BRIG_OK);
	CHECK_OUT(result, "through");
	brig_result_free(result);

	/* An end that comes while the compiler runs is not forgotten. */
	request.code = "#include <stdio.h>\n"
		       "int main(void) { return getchar() == EOF ? 0 : 1; } // other";
	run = host_start(context, &request);
	brig_run_feed_end(run);
	result = host_finish(run);
	CHECK_STATUS(result, BRIG_OK);
	CHECK(!result->build_cached);
	brig_result_free(result);
	brig_context_free(context);
}

/* The callback gets the same bytes as the result, in the same order. */
static void case_order(void)
{
	struct brig_context *context = host_context();
	struct brig_request request =
		host_code("bash", "for ((i = 0; i < 20000; i++)); do echo $i; done");
	struct taken taken = { 0 };
	char line[16];
	size_t at = 0;

	request.on_output = take;
	request.user = &taken;
	struct brig_result *result = host_run(context, &request);
	CHECK_STATUS(result, BRIG_OK);
	CHECK_EQ(taken.size, result->stdout_size);
	CHECK(memcmp(taken.data, result->stdout_data, taken.size) == 0);
	for (int i = 0; i < 20000; i++) {
		size_t size = (size_t)snprintf(line, sizeof(line), "%d\n", i);
		CHECK(at + size <= taken.size && memcmp(taken.data + at, line, size) == 0);
		at += size;
	}
	CHECK_EQ(at, taken.size);
	brig_result_free(result);
	free(taken.data);
	brig_context_free(context);
}

static void case_two_streams(void)
{
	struct brig_context *context = host_context();
	struct brig_request request =
		host_code("bash", "for i in 1 2 3; do printf out; printf error >&2; done");
	struct taken taken = { 0 };

	request.on_output = take;
	request.user = &taken;
	struct brig_result *result = host_run(context, &request);
	CHECK_OUT(result, "outoutout");
	CHECK_EQ(result->stderr_size, 15);
	CHECK(strcmp(result->stderr_data, "errorerrorerror") == 0);
	CHECK_EQ(taken.by_stream[1], 9);
	CHECK_EQ(taken.by_stream[2], 15);
	brig_result_free(result);
	free(taken.data);
	brig_context_free(context);
}

/* Output arrives while the program runs, not at its end. */
static void case_live(void)
{
	struct brig_context *context = host_context();
	struct brig_request request = host_code("bash", "echo early; read line; echo $line");
	struct taken taken = { 0 };

	request.on_output = take;
	request.user = &taken;
	request.stdin_feed = true;
	struct brig_run *run = host_start(context, &request);
	while (taken.size == 0) {
		CHECK_EQ(host_turn(run, 5000), 0);
	}
	CHECK(taken.size == 6 && memcmp(taken.data, "early\n", 6) == 0);
	host_feed(run, "late\n", 5);
	struct brig_result *result = host_finish(run);
	CHECK_OUT(result, "early\nlate\n");
	brig_result_free(result);
	free(taken.data);
	brig_context_free(context);
}

/* Every byte value; and the data is followed by a NUL that does not count. */
static void case_binary(void)
{
	struct brig_context *context = host_context();
	struct brig_request request = host_code("bash", "cat");
	char all[256];

	for (int i = 0; i < 256; i++) {
		all[i] = (char)i;
	}
	request.stdin_data = all;
	request.stdin_size = sizeof(all);
	struct brig_result *result = host_run(context, &request);
	CHECK_EQ(result->stdout_size, 256);
	CHECK(memcmp(result->stdout_data, all, 256) == 0);
	CHECK_EQ(result->stdout_data[256], 0);
	CHECK(result->stderr_size == 0 && result->stderr_data[0] == '\0');
	char *json = brig_result_json(result);
	CHECK(json && strstr(json, "\"encoding\":\"base64\""));
	free(json);
	brig_result_free(result);
	brig_context_free(context);
}

struct talk {
	struct brig_run *run;
	unsigned answers;
};

/* Answers every line, and ends after the third. */
static void answer(void *user, int stream, const void *data, size_t size)
{
	struct talk *talk = user;

	CHECK(stream == 1 && memchr(data, '\n', size));
	if (++talk->answers == 3) {
		brig_run_cancel(talk->run);
	} else {
		CHECK_EQ(brig_run_feed(talk->run, "yes\n", 4), 4);
	}
}

static void case_from_the_callback(void)
{
	struct brig_context *context = host_context();
	struct brig_request request =
		host_code("bash", "echo go on\\?; while read line; do echo $line; done");
	struct talk talk = { 0 };

	request.on_output = answer;
	request.user = &talk;
	request.stdin_feed = true;
	talk.run = host_start(context, &request);
	struct brig_result *result = host_finish(talk.run);
	CHECK_STATUS(result, BRIG_CANCELLED);
	CHECK_OUT(result, "go on?\nyes\nyes\n");
	CHECK_EQ(talk.answers, 3);
	brig_result_free(result);
	brig_context_free(context);
}

static void case_limit(void)
{
	struct brig_context *context = host_context();
	struct brig_request request = host_code("bash", "while :; do echo 0123456789; done");
	struct taken taken = { 0 };

	request.on_output = take;
	request.user = &taken;
	request.limits.stdout_bytes = 100000;
	struct brig_result *result = host_run(context, &request);
	CHECK_STATUS(result, BRIG_OUTPUT_LIMIT);
	CHECK(result->stdout_truncated && !result->stderr_truncated);
	CHECK_EQ(result->stdout_size, 100000);
	CHECK_EQ(taken.size, 100000);
	brig_result_free(result);
	free(taken.data);
	brig_context_free(context);
}

static const struct host_case cases[] = {
	CASE(input_that_nobody_reads),
	CASE(large_input),
	CASE(backpressure),
	CASE(feed_after_end),
	CASE(feed_while_compiling),
	CASE(order),
	CASE(two_streams),
	CASE(live),
	CASE(binary),
	CASE(from_the_callback),
	CASE(limit),
};

int main(int argc, char **argv)
{
	return host_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
