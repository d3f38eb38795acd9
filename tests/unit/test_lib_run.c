/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole runs through the library. tests/lib does this from outside and in more ways; here they also
 * run under the sanitizers, which cannot follow a program that is linked elsewhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <brig/brig.h>

#define MS 1000000ull

static char cache[] = "/tmp/brig-test-run-XXXXXX";

static int set_up(void **state)
{
	struct brig_context_options options = { .size = sizeof(options), .cache_dir = cache };
	struct brig_context *context = NULL;

	if (!mkdtemp(cache) || brig_context_new(&options, &context, NULL) < 0) {
		return -1;
	}
	*state = context;
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	brig_context_free(*state);
	snprintf(command, sizeof(command), "rm -rf %s", cache);
	return system(command);
}

static struct brig_request request_for(const char *language, const char *code)
{
	return (struct brig_request){ .size = sizeof(struct brig_request),
				      .language = language,
				      .code = code };
}

static struct brig_run *start(void **state, const struct brig_request *request)
{
	struct brig_run *run = NULL;
	struct brig_error error = { 0 };

	if (brig_run_start(*state, request, &run, &error) < 0) {
		fail_msg("%s (%s)", error.message, error.remedy);
	}
	return run;
}

static void finish(struct brig_run *run, enum brig_status status, const char *output)
{
	struct brig_error error = { 0 };

	if (brig_run_wait(run, &error) < 0) {
		fail_msg("%s (%s)", error.message, error.remedy);
	}
	struct brig_result *result = brig_run_take_result(run);
	char *json = brig_result_json(result);
	assert_non_null(json);
	if (result->status != status || strcmp(result->stdout_data, output) != 0) {
		fail_msg("not %s with \"%s\": %s", brig_status_name(status), output, json);
	}
	free(json);
	brig_result_free(result);
	brig_run_free(run);
}

static void ways_to_end(void **state)
{
	static const struct {
		const char *language, *code;
		enum brig_status status;
		const char *output;
	} kinds[] = {
		{ "bash", "echo out; echo err >&2; echo file > out/file; rm data.txt", BRIG_OK,
		  "out\n" },
		{ "bash", "echo partial; exit 3", BRIG_FAILED, "partial\n" },
		{ "bash", "echo partial; kill -9 $$", BRIG_FAILED, "partial\n" },
		{ "bash", "echo partial; sleep 60 & sleep 60", BRIG_TIMEOUT, "partial\n" },
		{ "c", "int main(", BRIG_COMPILE_FAILED, "" },
		{ "c", "#include <stdio.h>\nint main(void) { return puts(\"c\") < 0; }", BRIG_OK,
		  "c\n" },
		{ "c", "#include <stdio.h>\nint main(void) { return puts(\"c\") < 0; }", BRIG_OK,
		  "c\n" },
	};
	static const struct brig_file_in file = { .name = "data.txt", .data = "x", .size = 1 };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct brig_request request = request_for(kinds[i].language, kinds[i].code);
		request.changes = true;
		request.files = &file;
		request.files_count = 1;
		request.limits.wall_ns = kinds[i].status == BRIG_TIMEOUT ? 300 * MS : 0;
		finish(start(state, &request), kinds[i].status, kinds[i].output);
	}
}

static void trusted(void **state)
{
	struct brig_request request = request_for("bash", "echo out; echo x > out/x");

	request.policy = "open";
	request.consent = true;
	finish(start(state, &request), BRIG_OK, "out\n");
	request.code = "echo begun; (setsid sleep 60 &); sleep 60";
	request.limits.wall_ns = 300 * MS;
	finish(start(state, &request), BRIG_TIMEOUT, "begun\n");
}

static void refused_call(void **state)
{
	struct brig_request request =
		request_for("python", "import socket\n"
				      "try: socket.socket(38, socket.SOCK_SEQPACKET)\n"
				      "except OSError: print('refused')\n");
	struct brig_run *run = start(state, &request);

	assert_int_equal(brig_run_wait(run, NULL), 0);
	struct brig_result *result = brig_run_take_result(run);
	assert_string_equal(result->stdout_data, "refused\n");
	free(brig_result_json(result));
	brig_result_free(result);
	brig_run_free(run);
}

static void cancelled_and_freed(void **state)
{
	struct brig_request request = request_for("bash", "sleep 60");

	for (unsigned i = 0; i < 6; i++) {
		struct brig_run *run = start(state, &request);
		usleep(i * 10000);
		assert_int_equal(brig_run_step(run, NULL), 0);
		if (i % 2) {
			brig_run_free(run);
		} else {
			brig_run_cancel(run);
			finish(run, BRIG_CANCELLED, "");
		}
	}
}

static void count(void *user, int stream, const void *data, size_t size)
{
	(void)stream;
	(void)data;
	*(size_t *)user += size;
}

static void streams(void **state)
{
	static char input[300000];
	struct brig_request request = request_for("bash", "cat");
	size_t taken = 0;

	memset(input, 'x', sizeof(input));
	request.stdin_data = input;
	request.stdin_size = sizeof(input);
	request.on_output = count;
	request.user = &taken;
	request.discard_output = true;
	finish(start(state, &request), BRIG_OK, "");
	assert_int_equal(taken, sizeof(input));
	request.code = "exec <&-; echo deaf"; /* and no SIGPIPE */
	request.discard_output = false;
	finish(start(state, &request), BRIG_OK, "deaf\n");
	request.code = "echo 0123456789";
	request.limits.stdout_bytes = 4;
	finish(start(state, &request), BRIG_OUTPUT_LIMIT, "0123");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ways_to_end),  cmocka_unit_test(trusted),
		cmocka_unit_test(refused_call), cmocka_unit_test(cancelled_and_freed),
		cmocka_unit_test(streams),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
