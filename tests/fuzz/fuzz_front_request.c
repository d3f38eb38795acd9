/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Untrusted requests as JSON: the first byte chooses the kind. Checked: accepted ones are within
 * their bounds, refused ones have a reason, and nothing is left behind either way.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/files/path.h"
#include "front/access/tokens.h"
#include "front/execution/stored.h"
#include "front/request/execution_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition) {
		abort();
	}
}

static void check_execution_request(const struct execution_request *request,
				    enum execution_request_kind kind)
{
	const struct brig_request *run = &request->call.run;
	const char *why;

	require(kind != EXECUTION_REQUEST_RUN ||
		(run->code && run->code_size == strlen(run->code)));
	require(run->code_size > 0 || kind != EXECUTION_REQUEST_RUN);
	require(run->files_count <= EXECUTION_REQUEST_FILES_MAX);
	for (size_t i = 0; i < run->files_count; i++) {
		require(path_is_beneath(run->files[i].name, &why));
		require(run->files[i].data || run->files[i].size == 0);
		require(!run->files[i].path);
	}
	for (const char *const *env = run->env; env && *env; env++) {
		require(strchr(*env, '=') > *env);
	}
	require(!run->file && !run->command && !run->mounts && !run->consent && !run->tenant);
	require(run->limits.wall_ns <= UINT64_C(1000000000000) * 1000000);
	require(run->limits.memory_bytes <= UINT64_C(1) << 50);
}

static void try_execution_request(enum execution_request_kind kind, const char *text, size_t size)
{
	struct problem problem = { 0 };
	struct execution_request *request = NULL;

	if (execution_request_parse(kind, text, size, &request, &problem) == 0) {
		check_execution_request(request, kind);
		json_t *input = json_object_get(request->root, "env");
		if (input && execution_request_overlay(request, input, "input", &problem) == 0) {
			check_execution_request(request, kind);
		}
		execution_request_free(request);
	} else {
		require(!request && problem.kind != PROBLEM_NONE && problem.detail[0]);
		struct buf out = { 0 };
		problem_write(&problem, &out);
		json_t *again = json_loadb(out.data, out.size, 0, NULL);
		require(again != NULL);
		json_decref(again);
		buf_done(&out);
	}
}

static void try_tokens(const char *text, size_t size)
{
	struct brig_error error = { 0 };
	struct tokens tokens = { 0 };

	if (tokens_parse(text, size, &tokens, &error) == 0) {
		for (size_t i = 0; i < tokens.count; i++) {
			require(tokens.items[i].name[0] && tokens.items[i].tenant[0]);
		}
		tokens_done(&tokens);
	} else {
		require(error.message[0]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0) {
		return 0;
	}
	/* As the HTTP layer passes it: counted, not ended by a NUL. */
	char *text = malloc(size);
	require(text != NULL);
	memcpy(text, data + 1, size - 1);
	switch (data[0] % 5) {
	case 0:
		try_execution_request(EXECUTION_REQUEST_RUN, text, size - 1);
		break;
	case 1:
		try_execution_request(EXECUTION_REQUEST_SESSION, text, size - 1);
		break;
	case 2:
		try_execution_request(EXECUTION_REQUEST_CHECK, text, size - 1);
		break;
	case 3:
		try_tokens(text, size - 1);
		break;
	default: {
		struct stored stored;
		struct block *block = block_copy(text, size - 1);
		if (block && stored_read(block, &stored) == 0) {
			struct rope out = { 0 };
			stored_write(&stored, &out);
			rope_done(&out);
			stored_done(&stored);
		}
		block_unref(block);
	}
	}
	free(text);
	return 0;
}
