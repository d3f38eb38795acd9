/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Untrusted requests as JSON: the first byte chooses the kind. Checked: accepted ones are within
 * their bounds, refused ones have a reason, and nothing is left behind either way.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
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

static void check_ask(const struct ask *ask, enum ask_kind kind)
{
	const struct brig_request *run = &ask->call.run;
	const char *why;

	require(kind != ASK_RUN || (run->code && run->code_size == strlen(run->code)));
	require(run->code_size > 0 || kind != ASK_RUN);
	require(run->files_count <= ASK_FILES_MAX);
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

static void try_ask(enum ask_kind kind, const char *text, size_t size)
{
	struct problem problem = { 0 };
	struct ask *ask = NULL;

	if (ask_parse(kind, text, size, &ask, &problem) == 0) {
		check_ask(ask, kind);
		json_t *input = json_object_get(ask->root, "env");
		if (input && ask_overlay(ask, input, "input", &problem) == 0) {
			check_ask(ask, kind);
		}
		ask_free(ask);
	} else {
		require(!ask && problem.kind != PROBLEM_NONE && problem.detail[0]);
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
		try_ask(ASK_RUN, text, size - 1);
		break;
	case 1:
		try_ask(ASK_SESSION, text, size - 1);
		break;
	case 2:
		try_ask(ASK_CHECK, text, size - 1);
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
