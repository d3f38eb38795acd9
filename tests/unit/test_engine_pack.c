/* SPDX-License-Identifier: Apache-2.0 */
/* A call is unpacked as it was packed; all other input is refused, to the last byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/files/spool.h"
#include "engine/engine_pack.h"

static const char *const args[] = { "", "two words", NULL };
static const char *const env[] = { "A=1", NULL };
static const char *const out[] = { NULL };
static const struct brig_file_in files[] = {
	{ .name = "a/b.txt", .data = "x\0y", .size = 3, .executable = true },
	{ .name = "empty", .data = "", .size = 0 },
};

static struct engine_call whole_call(void)
{
	return (struct engine_call){
		.op = ENGINE_EXECUTE,
		.tenant = "uid:7",
		.session = "01ARZ3NDEKTSV4RRFFQ69G5FAV",
		.data = "bytes",
		.size = 5,
		.idle_ns = 1,
		.life_ns = 2,
		.policies = args,
		.stream = true,
		.run = {
			.language = "python",
			.code = "print(1)",
			.args = args,
			.env = env,
			.out = out,
			.network = out,
			.files = files,
			.files_count = ARRAY_SIZE(files),
			.limits = { .wall_ns = 11, .net_bytes = 12 },
			.stdin_data = "in\0put",
			.stdin_size = 6,
			.start = BRIG_START_WARM,
			.want_value = true,
		},
	};
}

static void comes_back_whole(void **state)
{
	struct engine_call call = whole_call();
	_cleanup_free_ char *block = NULL;
	struct engine_unpacked got;
	size_t size;

	(void)state;
	assert_int_equal(engine_pack(&call, &block, &size), 0);
	assert_int_equal(engine_unpack(block, size, NULL, &got), 0);
	assert_int_equal(got.call.op, ENGINE_EXECUTE);
	assert_string_equal(got.call.tenant, "uid:7");
	assert_string_equal(got.call.run.tenant, "uid:7");
	assert_string_equal(got.call.session, call.session);
	assert_null(got.call.path);
	assert_null(got.call.run.policy);
	assert_string_equal(got.call.run.code, "print(1)");
	assert_int_equal(got.call.run.code_size, 8);
	assert_string_equal(got.call.run.args[1], "two words");
	assert_null(got.call.run.args[2]);
	assert_non_null(got.call.run.out);
	assert_null(got.call.run.out[0]);
	/* No list means everything, an empty list means nothing: they must not be confused. */
	assert_non_null(got.call.run.network);
	assert_null(got.call.run.network[0]);
	assert_string_equal(got.call.policies[1], "two words");
	assert_int_equal(got.call.run.files_count, 2);
	assert_memory_equal(got.call.run.files[0].data, "x\0y", 3);
	assert_true(got.call.run.files[0].executable);
	assert_int_equal(got.call.run.files[1].size, 0);
	assert_int_equal(got.call.run.limits.wall_ns, 11);
	assert_int_equal(got.call.run.limits.net_bytes, 12);
	assert_memory_equal(got.call.run.stdin_data, "in\0put", 6);
	assert_int_equal(got.call.run.start, BRIG_START_WARM);
	assert_true(got.call.stream && got.call.run.want_value && !got.call.run.consent);
	/* Fields that only the warden itself may set are not sent. */
	assert_null(got.call.run.file);
	assert_null(got.call.run.command);
	assert_null(got.call.run.mounts);
	engine_unpacked_done(&got);
}

static void is_refused_when_cut_or_longer(void **state)
{
	struct engine_call call = whole_call();
	_cleanup_free_ char *block = NULL;
	struct engine_unpacked got;
	size_t size;

	(void)state;
	assert_int_equal(engine_pack(&call, &block, &size), 0);
	for (size_t less = 0; less < size; less++) {
		/* A buffer of exactly its size, so that a sanitizer detects a read beyond it. */
		char *copy = malloc(less + 1);
		memcpy(copy, block, less);
		assert_int_equal(engine_unpack(copy, less, NULL, &got), -EPROTO);
		free(copy);
	}
	char *longer = calloc(1, size + 1);
	memcpy(longer, block, size);
	assert_int_equal(engine_unpack(longer, size + 1, NULL, &got), -EPROTO);
	free(longer);
	assert_int_equal(engine_unpack(NULL, 0, NULL, &got), -EPROTO);
}

static void survives_any_changed_byte(void **state)
{
	struct engine_call call = whole_call();
	_cleanup_free_ char *block = NULL;
	struct engine_unpacked got;
	size_t size;

	(void)state;
	assert_int_equal(engine_pack(&call, &block, &size), 0);
	for (size_t i = 0; i < size; i++) {
		for (int value = 0; value < 256; value += 51) {
			char was = block[i];
			block[i] = (char)value;
			if (engine_unpack(block, size, NULL, &got) == 0) {
				assert_non_null(got.call.tenant);
				engine_unpacked_done(&got);
			}
			block[i] = was;
		}
	}
}

static void errors_end_their_strings(void **state)
{
	struct brig_error error, got;

	(void)state;
	memset(&error, 'x', sizeof(error));
	error.code = BRIG_E_INPUT;
	assert_int_equal(engine_error_read(&error, sizeof(error), &got), 0);
	assert_int_equal(strlen(got.message), sizeof(got.message) - 1);
	error.code = 99;
	assert_int_equal(engine_error_read(&error, sizeof(error), &got), -EPROTO);
	assert_int_equal(engine_error_read(&error, sizeof(error) - 1, &got), -EPROTO);
}

/* Data in an attached block is not packed: only its offset there is. */
static void long_values_are_shared(void **state)
{
	static const char text[] = "0123456789code\0file\0";
	struct engine_call call = whole_call();
	struct brig_file_in file = { .name = "f", .size = 4 };
	_cleanup_(spool_done)
	struct spool spool = { 0 };
	_cleanup_(block_unrefp)
	struct block *shared = NULL;
	_cleanup_free_ char *block = NULL;
	struct engine_unpacked got;
	size_t size;

	(void)state;
	spool_add(&spool, text, sizeof(text) - 1);
	assert_int_equal(spool_end(&spool, &shared), 0);
	call.block = shared;
	call.run.code = shared->data + 10;
	call.run.code_size = 4;
	file.data = shared->data + 15;
	call.run.files = &file;
	call.run.files_count = 1;
	assert_int_equal(engine_pack(&call, &block, &size), 0);
	assert_null(memmem(block, size, "code", 4));
	assert_int_equal(engine_unpack(block, size, shared, &got), 0);
	assert_ptr_equal(got.call.run.code, shared->data + 10);
	assert_int_equal(got.call.run.code_size, 4);
	assert_ptr_equal(got.call.run.files[0].data, shared->data + 15);
	assert_ptr_equal(got.call.block, shared);
	engine_unpacked_done(&got);

	/*
	 * Without the block, or with one that is too short or has no NUL there, the call is
	 * refused.
	 */
	assert_int_equal(engine_unpack(block, size, NULL, &got), -EPROTO);
	struct block shorter = { .fd = shared->fd, .data = shared->data, .size = 14 };
	assert_int_equal(engine_unpack(block, size, &shorter, &got), -EPROTO);
	struct block other = { .fd = shared->fd, .data = "01234567890123456789", .size = 20 };
	assert_int_equal(engine_unpack(block, size, &other, &got), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_values_are_shared),
		cmocka_unit_test(comes_back_whole),
		cmocka_unit_test(is_refused_when_cut_or_longer),
		cmocka_unit_test(survives_any_changed_byte),
		cmocka_unit_test(errors_end_their_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
