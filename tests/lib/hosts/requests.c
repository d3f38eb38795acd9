/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and their refusals: the error, its reason, and its remedy. */
#include <stddef.h>

#include "host.h"

static const struct brig_error untouched = { .errnum = 4711 };

/* Must be refused: nothing runs, and the out-parameter stays as it was. */
static struct brig_error refused(const struct brig_request *request)
{
	struct brig_context *context = host_context();
	struct brig_run *marker = (struct brig_run *)&context, *run = marker;
	struct brig_error error = { 0 };
	unsigned fds = host_count_fds();
	int r = brig_run_start(context, request, &run, &error);

	CHECK(r < 0);
	CHECK(run == marker);
	CHECK(error.code != BRIG_E_NONE);
	CHECK(error.message[0] != '\0' && !strchr(error.message, '\n'));
	CHECK_EQ(host_count_fds(), fds);
	CHECK_EQ(host_count_children(), 0);
	/* The parameter for the reason is optional. */
	CHECK_EQ(brig_run_start(context, request, &run, NULL), r);
	brig_context_free(context);
	return error;
}

static void case_above_the_ceiling(void)
{
	struct brig_request request = host_code("bash", "true");

	request.limits.memory_bytes = 1ull << 50;
	struct brig_error error = refused(&request);
	CHECK(strstr(error.message, "memory"));
	CHECK(strstr(error.message, "4G") || strstr(error.remedy, "4G"));

	request = host_code("bash", "true");
	request.limits.wall_ns = UINT64_MAX;
	error = refused(&request);
	CHECK(strstr(error.message, "wall"));
	CHECK(strstr(error.message, "300s") || strstr(error.message, "5m") ||
	      strstr(error.remedy, "300s") || strstr(error.remedy, "5m"));
}

static void case_nothing_or_too_much(void)
{
	const char *const command[] = { "/bin/true", NULL }, *const none[] = { NULL };
	struct brig_request request = { .size = sizeof(request) };

	CHECK_EQ(refused(&request).code, BRIG_E_INPUT);
	request.code = "true";
	request.command = command;
	CHECK_EQ(refused(&request).code, BRIG_E_INPUT);
	request.code = NULL;
	request.command = none;
	CHECK_EQ(refused(&request).code, BRIG_E_INPUT);
	request = host_code("bash", "");
	CHECK_EQ(refused(&request).code, BRIG_E_INPUT);
	request = host_code(NULL, NULL);
	request.file = "/nowhere/at/all.py";
	CHECK(strstr(refused(&request).message, "/nowhere/at/all.py"));
}

static void case_unknown_words(void)
{
	struct brig_request request = host_code("cobol", "x");
	struct brig_error error = refused(&request);

	CHECK_EQ(error.code, BRIG_E_RUNTIME);
	CHECK(strstr(error.message, "cobol"));
	CHECK(strstr(error.remedy, "python") && strstr(error.remedy, "javascript"));
	request = host_code("bash", "true");
	request.policy = "nosuch";
	error = refused(&request);
	CHECK_EQ(error.code, BRIG_E_POLICY);
	CHECK(strstr(error.message, "nosuch"));
	request.policy = "../../etc/passwd";
	CHECK(refused(&request).code != BRIG_E_SYSTEM);
	/* The policy without walls needs a person's consent. */
	request.policy = "open";
	CHECK_EQ(refused(&request).code, BRIG_E_CONSENT);
}

static void case_bad_files(void)
{
	static const char *const names[] = { "", "/abs", "../up", "a/../../b", "a//b", "." };
	struct brig_file_in file = { .data = "x", .size = 1 };
	struct brig_request request = host_code("bash", "true");

	request.files = &file;
	request.files_count = 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		file.name = names[i];
		CHECK_EQ(refused(&request).code, BRIG_E_INPUT);
	}
	file.name = NULL;
	CHECK_EQ(refused(&request).code, BRIG_E_INPUT);
	file = (struct brig_file_in){ .name = "x", .path = "/nowhere/x" };
	CHECK(strstr(refused(&request).message, "/nowhere/x"));
	const char *const env[] = { "NO EQUALS SIGN", NULL };
	request = host_code("bash", "true");
	request.env = env;
	CHECK_EQ(refused(&request).code, BRIG_E_INPUT);
}

/* A program that was built before the struct grew: fields that it lacks count as zero. */
static void case_older_struct(void)
{
	struct brig_context *context = host_context();
	struct brig_request request;

	memset(&request, 0xa5, sizeof(request));
	memset(&request, 0, offsetof(struct brig_request, files));
	request.size = offsetof(struct brig_request, files);
	request.language = "bash";
	request.code = "echo old; cat";
	struct brig_result *result = host_run(context, &request);
	CHECK_STATUS(result, BRIG_OK);
	CHECK_OUT(result, "old\n");
	brig_result_free(result);
	struct brig_error error = { 0 };
	result = NULL;
	CHECK_OK(brig_execute_code(context, "bash", "echo short", &request, &result, &error),
		 &error);
	CHECK_OUT(result, "short\n");
	brig_result_free(result);
	brig_context_free(context);

	struct brig_context_options options;
	memset(&options, 0xa5, sizeof(options));
	options.size = offsetof(struct brig_context_options, cache_dir);
	options.config_dir = NULL;
	CHECK_OK(brig_context_new(&options, &context, &error), &error);
	brig_context_free(context);
}

/* The reason is written only on failure. */
static void case_error_untouched(void)
{
	struct brig_context *context = NULL;
	struct brig_error error = untouched;
	struct brig_result *result = NULL;

	CHECK_EQ(brig_context_new(NULL, &context, &error), 0);
	CHECK_EQ(brig_execute_code(context, "bash", "exit 1", NULL, &result, &error), 0);
	CHECK_STATUS(result, BRIG_FAILED);
	brig_result_free(result);
	CHECK(memcmp(&error, &untouched, sizeof(error)) == 0);
	CHECK(brig_execute_code(context, "bash", NULL, NULL, &result, &error) < 0);
	CHECK(brig_execute_file(context, NULL, NULL, &result, &error) < 0);
	CHECK(error.message[0]);
	brig_context_free(context);
}

static void case_null_is_nothing(void)
{
	brig_context_free(NULL);
	brig_run_free(NULL);
	brig_result_free(NULL);
}

static void case_words(void)
{
	struct brig_error error = { .code = BRIG_E_INPUT, .message = "a \"b\"" };
	char *json = brig_error_json(&error);

	CHECK(json && strstr(json, "\"a \\\"b\\\"\"") && strstr(json, "\"input\""));
	free(json);
	CHECK(strcmp(brig_status_name(BRIG_OK), "ok") == 0);
	CHECK(strcmp(brig_status_name(BRIG_COMPILE_FAILED), "compile_failed") == 0);
	CHECK(strcmp(brig_status_name((enum brig_status)99), "error") == 0);
	CHECK(strcmp(brig_code_name(BRIG_E_CONSENT), "consent") == 0);
	CHECK(strstr(brig_result_schema(), "\"$schema\""));
}

/* Everything that a request may hold, at once. */
static void case_everything(void)
{
	static const struct brig_file_in files[] = {
		{ .name = "in/data.txt", .data = "content\n", .size = 8 },
		{ .name = "tool",
		  .data = "#!/bin/bash\necho tool $1\n",
		  .size = 24,
		  .executable = true },
	};
	const char *const args[] = { "one", "", NULL };
	const char *const env[] = { "COLOUR=blue", NULL };
	const char *const out[] = { "*.made", NULL };
	struct brig_context *context = host_context();
	struct brig_request request =
		host_code("bash", "echo $# $1 $COLOUR; cat in/data.txt; ./tool x; cat; echo 1 > "
				  "a.made; echo 22 > out/b; echo 3 > unnamed; rm tool");

	request.args = args;
	request.env = env;
	request.out = out;
	request.files = files;
	request.files_count = 2;
	request.changes = true;
	request.stdin_data = "input\n";
	request.stdin_size = 6;
	struct brig_result *result = host_run(context, &request);
	CHECK_STATUS(result, BRIG_OK);
	CHECK_OUT(result, "2 one blue\ncontent\ntool x\ninput\n");
	CHECK_EQ(result->files_count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct brig_file_out *file = &result->files[i];
		bool made = strcmp(file->path, "a.made") == 0;
		CHECK(made || strcmp(file->path, "out/b") == 0);
		CHECK_EQ(file->size, made ? 2 : 3);
		CHECK(memcmp(file->data, made ? "1\n" : "22\n", file->size) == 0);
		CHECK_EQ(strlen(file->sha256), 64);
	}
	CHECK(result->changes_reported);
	unsigned created = 0, deleted = 0;
	for (size_t i = 0; i < result->changes_count; i++) {
		created += result->changes[i].kind == 'c';
		deleted += result->changes[i].kind == 'd' &&
			   strcmp(result->changes[i].path, "tool") == 0;
	}
	CHECK(created >= 3);
	CHECK_EQ(deleted, 1);
	CHECK_EQ(strlen(result->id), 26);
	CHECK(strncmp(result->policy, "default@sha256:", 15) == 0);
	CHECK(strcmp(result->provider, "native") == 0 && strstr(result->layers, "seccomp"));
	CHECK(result->limits.wall_ns > 0 && result->limits.memory_bytes > 0);
	brig_result_free(result);
	brig_context_free(context);
}

/* By a path, by a name that was made here, or by one that the policy lists. */
static void case_venv(void)
{
	struct brig_request request = host_code("python", "1");

	request.venv = "/etc";
	struct brig_error error = refused(&request);
	CHECK_EQ(error.code, BRIG_E_INPUT);
	CHECK(strstr(error.message, "/etc is not a virtualenv") && error.remedy[0]);
	request.venv = "no/path";
	CHECK_EQ(refused(&request).code, BRIG_E_INPUT);
	request.venv = "no-such-name";
	error = refused(&request);
	CHECK_EQ(error.code, BRIG_E_INPUT);
	CHECK(strstr(error.message, "no-such-name"));
	request.mounts_listed = true;
	error = refused(&request);
	CHECK_EQ(error.code, BRIG_E_POLICY);
	CHECK(strstr(error.message, "lists no virtualenv named no-such-name"));
	request.venv = "/etc";
	CHECK_EQ(refused(&request).code, BRIG_E_POLICY);
	request = host_code("bash", "true");
	request.venv = "/etc";
	CHECK_EQ(refused(&request).code, BRIG_E_INPUT);
	/* A shorter struct has none. */
	request.size = offsetof(struct brig_request, venv);
	struct brig_context *context = host_context();
	struct brig_result *result = host_run(context, &request);
	CHECK_STATUS(result, BRIG_OK);
	brig_result_free(result);
	brig_context_free(context);
}

static const struct host_case cases[] = {
	CASE(above_the_ceiling), CASE(nothing_or_too_much),
	CASE(unknown_words),     CASE(bad_files),
	CASE(older_struct),      CASE(error_untouched),
	CASE(null_is_nothing),   CASE(words),
	CASE(everything),        CASE(venv),
};

int main(int argc, char **argv)
{
	return host_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
