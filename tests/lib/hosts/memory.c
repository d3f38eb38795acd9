/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases for valgrind: every way through the library, checked only for errors of memory.
 *
 * valgrind runs the cell's first process too, which never execs, and it supports neither the calls
 * that build a cell nor the clone that makes the program's process. There a cell ends early, so
 * nothing is checked here about how runs end; the other host programs do that, and the sanitizers
 * cover whole cells (unit/test_lib_run.c).
 */
#include "host.h"

static const struct brig_file_in files[] = {
	{ .name = "a/data.txt", .data = "x", .size = 1 },
	{ .name = "passwd", .path = "/etc/passwd" },
};
static const struct brig_mount mounts[] = { { .path = "/usr/share", .name = "share" } };

static struct brig_request request_for(unsigned number, const char *language, const char *code)
{
	static const char *const env[] = { "A=b", NULL };
	static const char *const out[] = { "*.txt", "a/**", NULL };
	static const char *const args[] = { "one", "two", NULL };
	struct brig_request request = host_code(language, code);

	if (number % 2) {
		request.policy = "open"; /* trusted local mode */
		request.consent = true;
	} else {
		request.mounts = mounts;
		request.mounts_count = 1;
	}
	request.env = env;
	request.out = out;
	request.args = args;
	request.changes = true;
	request.files = files;
	request.files_count = 2;
	return request;
}

static void finish(struct brig_run *run)
{
	struct brig_error error = { 0 };

	if (brig_run_wait(run, &error) < 0) {
		CHECK(error.message[0] != '\0');
		free(brig_error_json(&error));
	}
	struct brig_result *result = brig_run_take_result(run);
	if (result) {
		char *json = brig_result_json(result);
		CHECK(json != NULL);
		free(json);
	}
	brig_result_free(result);
	brig_run_free(run);
}

static struct brig_run *start(struct brig_context *context, const struct brig_request *request)
{
	struct brig_run *run = NULL;
	struct brig_error error = { 0 };

	if (brig_run_start(context, request, &run, &error) < 0) {
		CHECK(error.message[0] != '\0');
		return NULL;
	}
	return run;
}

static void case_runs(void)
{
	static const char *const codes[][2] = {
		{ "bash", "echo out; echo err >&2; echo file > out/file" },
		{ "python", "print(1 / 0)" },
		{ "c", "int main(" },
		{ "c", "int main(void) { return 0; }" },
		{ "c", "int main(void) { return 0; }" }, /* from the cache, if it was stored */
		{ "java", "class A { public static void main(String[] a) { } }" },
		{ "cobol", "x" },
	};
	struct brig_context *context = host_context();

	for (unsigned i = 0; i < 2 * sizeof(codes) / sizeof(codes[0]); i++) {
		struct brig_request request = request_for(i, codes[i / 2][0], codes[i / 2][1]);
		struct brig_run *run = start(context, &request);
		if (run) {
			finish(run);
		}
	}
	brig_context_free(context);
}

static void case_ended_from_outside(void)
{
	struct brig_context *context = host_context();

	for (unsigned i = 0; i < 8; i++) {
		struct brig_request request = request_for(i, "bash", "echo begun; sleep 60");
		request.limits.wall_ns = 500 * MS;
		struct brig_run *run = start(context, &request);
		if (!run) {
			continue;
		}
		if (i & 2) {
			brig_run_step(run, NULL);
		}
		if (i & 4) {
			brig_run_free(run);
		} else {
			brig_run_cancel(run);
			finish(run);
		}
	}
	brig_context_free(context);
}

static void count(void *user, int stream, const void *data, size_t size)
{
	(void)stream;
	(void)data;
	*(size_t *)user += size;
}

static void case_streams(void)
{
	struct brig_context *context = host_context();
	char chunk[10000];

	memset(chunk, 'x', sizeof(chunk));
	for (unsigned i = 0; i < 4; i++) {
		size_t taken = 0;
		struct brig_request request =
			request_for(i, "bash", "cat; head -c 100000 /dev/zero");
		request.on_output = count;
		request.user = &taken;
		request.stdin_feed = i < 2;
		request.stdin_data = i < 2 ? NULL : chunk;
		request.stdin_size = i < 2 ? 0 : sizeof(chunk);
		request.limits.stdout_bytes = 5000;
		struct brig_run *run = start(context, &request);
		for (int turn = 0; run && turn < 20 && brig_run_step(run, NULL) == 0; turn++) {
			brig_run_feed(run, chunk, sizeof(chunk));
			host_sleep_ms(20);
		}
		if (run) {
			brig_run_feed_end(run);
			finish(run);
		}
	}
	brig_context_free(context);
}

static const struct host_case cases[] = {
	CASE(runs),
	CASE(ended_from_outside),
	CASE(streams),
};

int main(int argc, char **argv)
{
	return host_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
