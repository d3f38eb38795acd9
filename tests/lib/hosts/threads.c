/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts are independent: any number of them, in any threads, at once. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "host.h"

#define THREADS  8
#define RUNS     20
#define CONTEXTS 24

static void run_and_check(struct brig_context *context, unsigned worker, unsigned turn)
{
	char code[64] = "", expected[32];
	struct brig_request request = host_code("bash", code);

	snprintf(code, sizeof(code), "echo %u-%u; exit %u", worker, turn, turn % 2);
	snprintf(expected, sizeof(expected), "%u-%u\n", worker, turn);
	struct brig_result *result = host_run(context, &request);
	CHECK_STATUS(result, turn % 2 ? BRIG_FAILED : BRIG_OK);
	CHECK_EQ(result->exit_code, turn % 2);
	CHECK(result->stdout_size == strlen(expected) &&
	      memcmp(result->stdout_data, expected, result->stdout_size) == 0);
	brig_result_free(result);
}

static void *work(void *data)
{
	unsigned worker = (unsigned)(uintptr_t)data;
	struct brig_context *context = host_context();

	for (unsigned i = 0; i < RUNS; i++) {
		run_and_check(context, worker, i);
	}
	brig_context_free(context);
	return NULL;
}

static void start_threads(pthread_t *threads, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i), 0);
	}
}

static void join_threads(const pthread_t *threads, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	}
}

static void case_own_contexts(void)
{
	pthread_t threads[THREADS];

	start_threads(threads, THREADS);
	join_threads(threads, THREADS);
	CHECK_EQ(host_count_children(), 0);
}

static atomic_bool stop;

static void *nothing(void *data)
{
	return data;
}

/*
 * Holds the C library's own locks as often as possible: those of its list of threads, of malloc and
 * of stdio. A cell that is created meanwhile inherits them locked, and must not need any.
 */
static void *hold_locks(void *data)
{
	(void)data;
	FILE *file = fopen("/dev/null", "we");

	CHECK(file != NULL);
	while (!stop) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, nothing, NULL) == 0) {
			pthread_join(thread, NULL);
		}
		free(malloc(300000));
		fprintf(file, "%d", 1);
	}
	fclose(file);
	return NULL;
}

static void case_busy_locks(void)
{
	pthread_t threads[THREADS / 2], busy[3];

	for (unsigned i = 0; i < 3; i++) {
		CHECK_EQ(pthread_create(&busy[i], NULL, hold_locks, NULL), 0);
	}
	start_threads(threads, THREADS / 2);
	join_threads(threads, THREADS / 2);
	stop = true;
	join_threads(busy, 3);
}

/* Many cells at once in one thread, each with a context of its own. */
static void case_many_contexts(void)
{
	struct brig_context *contexts[CONTEXTS];
	struct brig_run *runs[CONTEXTS];
	struct brig_request request = host_code("bash", "read line; echo $line");

	request.stdin_feed = true;
	for (unsigned i = 0; i < CONTEXTS; i++) {
		contexts[i] = host_context();
		runs[i] = host_start(contexts[i], &request);
	}
	CHECK(host_count_children() >= CONTEXTS);
	for (unsigned i = CONTEXTS; i-- > 0;) {
		char line[16];
		int size = snprintf(line, sizeof(line), "%u\n", i);
		host_feed(runs[i], line, (size_t)size);
		struct brig_result *result = host_finish(runs[i]);
		CHECK(result->stdout_size == (size_t)size &&
		      memcmp(result->stdout_data, line, (size_t)size) == 0);
		brig_result_free(result);
	}
	for (unsigned i = 0; i < CONTEXTS; i++) {
		brig_context_free(contexts[i]);
	}
	CHECK_EQ(host_count_children(), 0);
}

/* Several runs of one context at once. */
static void case_one_context(void)
{
	struct brig_context *context = host_context();
	struct brig_run *runs[CONTEXTS];
	struct brig_request request = host_code("bash", "cat");

	request.stdin_feed = true;
	for (unsigned i = 0; i < CONTEXTS; i++) {
		runs[i] = host_start(context, &request);
	}
	for (unsigned i = CONTEXTS; i-- > 0;) {
		host_feed(runs[i], "x", 1);
		brig_run_feed_end(runs[i]);
		struct brig_result *result = host_finish(runs[i]);
		CHECK_OUT(result, "x");
		brig_result_free(result);
	}
	brig_context_free(context);
}

static void *finish_elsewhere(void *data)
{
	return host_finish(data);
}

/* A run may move to another thread, as long as only one uses it at a time. */
static void case_handed_over(void)
{
	struct brig_context *context = host_context();
	struct brig_request request = host_code("bash", "sleep 0.1; echo done");
	struct brig_run *run = host_start(context, &request);
	pthread_t thread;
	void *result = NULL;

	CHECK_EQ(pthread_create(&thread, NULL, finish_elsewhere, run), 0);
	CHECK_EQ(pthread_join(thread, &result), 0);
	CHECK_OUT((struct brig_result *)result, "done\n");
	brig_result_free(result);
	brig_context_free(context);
}

static struct brig_run *begun;

static void *begin_elsewhere(void *data)
{
	struct brig_request request = host_code("bash", "sleep 0.3; echo survived");

	begun = host_start(data, &request);
	return NULL;
}

/*
 * The thread that began a run may end before it: the cell depends on the process, not on the
 * thread.
 */
static void case_starter_ends(void)
{
	struct brig_context *context = host_context();
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, begin_elsewhere, context), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	struct brig_result *result = host_finish(begun);
	CHECK_OUT(result, "survived\n");
	brig_result_free(result);
	brig_context_free(context);
}

static void *work_small(void *data)
{
	struct brig_context *context = host_context();
	struct brig_file_in file = { .name = "a/b/c", .path = "/etc/passwd" };
	struct brig_mount mount = { .path = "/usr/share" };
	struct brig_request request =
		host_code("c", "#include <stdio.h>\nint main(void) { puts(\"small\"); return 0; }");

	request.files = &file;
	request.files_count = 1;
	request.mounts = &mount;
	request.mounts_count = 1;
	request.changes = true;
	for (int i = 0; i < 2; i++) {
		struct brig_result *result = host_run(context, &request);
		CHECK_STATUS(result, BRIG_OK);
		CHECK_OUT(result, "small\n");
		free(brig_result_json(result));
		brig_result_free(result);
	}
	brig_context_free(context);
	return data;
}

/* The man page states how much stack is enough. */
static void case_small_stack(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	CHECK_EQ(pthread_attr_init(&attributes), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attributes, 128 * 1024), 0);
	CHECK_EQ(pthread_create(&thread, &attributes, work_small, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	pthread_attr_destroy(&attributes);
}

static const struct host_case cases[] = {
	CASE(small_stack), CASE(own_contexts), CASE(busy_locks),   CASE(many_contexts),
	CASE(one_context), CASE(handed_over),  CASE(starter_ends),
};

int main(int argc, char **argv)
{
	return host_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
