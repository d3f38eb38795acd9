/* SPDX-License-Identifier: Apache-2.0 */
/* Runs many requests, one JSON object a line, in one context: cells are made ahead for them. */
#include <brig/brig.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text(const json_t *ask, const char *key)
{
	return json_string_value(json_object_get(ask, key));
}

static uint64_t ms(const json_t *ask, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(ask, key)) * 1000000u;
}

static char *answer(struct brig_context *context, const json_t *ask)
{
	const json_t *code = json_object_get(ask, "code");
	const char *name = text(ask, "file_name"), *data = text(ask, "file_data");
	struct brig_file_in file = { .name = name, .data = data, .size = data ? strlen(data) : 0 };
	const char *env[] = { text(ask, "env"), NULL };
	struct brig_request request = {
		.size = sizeof(request),
		.language = "python",
		.code = json_string_value(code),
		.code_size = json_string_length(code),
		.policy = text(ask, "policy"),
		.guard = text(ask, "guard"),
		.check = json_is_true(json_object_get(ask, "check")),
		.consent = json_is_true(json_object_get(ask, "consent")),
		.want_value = json_is_true(json_object_get(ask, "value")),
		.limits = { .wall_ns = ms(ask, "timeout_ms"), .cpu_ns = ms(ask, "timeout_ms") },
		.files = name ? &file : NULL,
		.files_count = name ? 1 : 0,
		.env = env[0] ? env : NULL,
		.start = json_is_true(json_object_get(ask, "cold")) ? BRIG_START_COLD
								    : BRIG_START_WARM,
	};
	struct brig_run *run = NULL;
	struct brig_result *result = NULL;
	struct brig_error error = { 0 };
	int r = brig_run_start(context, &request, &run, &error);

	if (r == 0) {
		r = brig_run_wait(run, &error);
	}
	if (r == 0) {
		result = brig_run_take_result(run);
	}
	char *json = r == 0 ? brig_result_json(result) : brig_error_json(&error);
	brig_result_free(result);
	brig_run_free(run);
	return json;
}

int main(int argc, char **argv)
{
	struct brig_warm_options warm = { .size = sizeof(warm), .cells_max = 2 };
	struct brig_context_options options = { .size = sizeof(options),
						.config_dir = argc > 1 ? argv[1] : NULL,
						.warm = &warm };
	struct brig_context *context = NULL;
	struct brig_error error = { 0 };
	char *line = NULL;
	size_t room = 0;

	if (brig_context_new(&options, &context, &error) < 0) {
		fprintf(stderr, "%s\n", error.message);
		return 1;
	}
	while (getline(&line, &room, stdin) > 0) {
		json_t *ask = json_loads(line, JSON_ALLOW_NUL, NULL);
		char *json = ask ? answer(context, ask) : NULL;
		puts(json ? json : "null");
		fflush(stdout);
		free(json);
		json_decref(ask);
	}
	free(line);
	brig_context_free(context);
	return 0;
}
