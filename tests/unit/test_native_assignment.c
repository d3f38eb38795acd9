/* SPDX-License-Identifier: Apache-2.0 */
/* An assignment is read as it was written; invalid ones are refused before they are used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "native/messages/assignment.h"

static const char *const argv[] = { "/usr/bin/prog", "", "two words", NULL };
static const char *const envp[] = { "A=1", "EMPTY=", NULL };
static const struct spec_input inputs[] = {
	{ .name = "code.py", .data = "print(1)", .size = 8, .fd = -1, .mode = 0644 },
	{ .name = "a/b/none", .data = "", .size = 0, .fd = -1, .mode = 0755 },
};

static struct spec whole_spec(void)
{
	return (struct spec){
		.provider = &native_provider,
		.layers = LAYER_BIT(LAYER_COUNT) - 1,
		.limits = { .cpu_ns = 3000000000u,
			    .processes = 7,
			    .open_files = 9,
			    .file_bytes = 10 },
		.inputs = inputs,
		.inputs_count = ARRAY_SIZE(inputs),
		.argv = argv,
		.envp = envp,
		.devices = -1,
	};
}

static void *map_assignment(const struct spec *spec, size_t *size)
{
	struct stat info;
	int fd = assignment_open();

	assert_true(fd >= 0);
	assert_int_equal(assignment_write(fd, spec), 0);
	assert_int_equal(fstat(fd, &info), 0);
	*size = (size_t)info.st_size;
	void *block = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(block, MAP_FAILED);
	/* Sealed: neither the sender nor the receiver can change it any more. */
	assert_int_equal(ftruncate(fd, 1), -1);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	close(fd);
	return block;
}

static void comes_back_whole(void **state)
{
	struct spec spec = whole_spec();
	struct assignment assignment = { 0 };
	size_t size;
	void *block = map_assignment(&spec, &size);

	(void)state;
	assert_int_equal(assignment_read(block, size, &assignment), 0);
	assert_int_equal(assignment.argc, 3);
	assert_int_equal(assignment.envc, 2);
	for (int i = 0; argv[i]; i++) {
		assert_string_equal(assignment.argv[i], argv[i]);
	}
	assert_null(assignment.argv[3]);
	assert_string_equal(assignment.envp[1], "EMPTY=");
	assert_null(assignment.envp[2]);
	assert_int_equal(assignment.inputs_count, 2);
	assert_string_equal(assignment.inputs[0].name, "code.py");
	assert_memory_equal(assignment.inputs[0].data, "print(1)", 8);
	assert_int_equal(assignment.inputs[1].size, 0);
	assert_int_equal(assignment.inputs[1].mode, 0755);
	munmap(block, size);
}

static void has_only_limits_of_the_request(void **state)
{
	struct spec spec = whole_spec();
	struct assignment assignment = { 0 };
	size_t size;
	void *block = map_assignment(&spec, &size);
	bool files = false;

	(void)state;
	assert_int_equal(assignment_read(block, size, &assignment), 0);
	for (uint64_t i = 0; i < assignment.rlimits_count; i++) {
		assert_int_not_equal(assignment.rlimits[i].resource, RLIMIT_CORE);
		files |= assignment.rlimits[i].resource == RLIMIT_NOFILE &&
			 assignment.rlimits[i].value == 9;
	}
	assert_true(files);
	munmap(block, size);
}

static void refuses_too_much(void **state)
{
	struct spec spec = whole_spec();
	struct spec_input huge = {
		.name = "x", .data = "", .size = ASSIGNMENT_BYTES_MAX, .fd = -1
	};
	struct spec_input wraps = { .name = "x", .data = "", .size = UINT64_MAX, .fd = -1 };

	(void)state;
	spec.inputs = &huge;
	spec.inputs_count = 1;
	assert_int_equal(assignment_write(-1, &spec), -E2BIG);
	spec.inputs = &wraps;
	assert_int_equal(assignment_write(-1, &spec), -E2BIG);
}

/* Every word of the head and of the tables changed: an answer, never a crash. */
static void survives_any_word(void **state)
{
	static const uint64_t words[] = { 0, 1, 7, 8, UINT32_MAX, UINT64_MAX, UINT64_MAX / 8 };
	struct spec spec = whole_spec();
	struct assignment assignment;
	size_t size;
	void *good = map_assignment(&spec, &size);
	void *copy = test_malloc(size);

	(void)state;
	for (size_t at = 0; at + 8 <= size && at < 512; at += 8) {
		for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
			memcpy(copy, good, size);
			memcpy((char *)copy + at, &words[i], 8);
			assignment_read(copy, size, &assignment);
		}
	}
	for (size_t cut = 0; cut < size; cut++) {
		memcpy(copy, good, size);
		assert_int_equal(assignment_read(copy, cut, &assignment), -EPROTO);
	}
	test_free(copy);
	munmap(good, size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back_whole),
		cmocka_unit_test(has_only_limits_of_the_request),
		cmocka_unit_test(refuses_too_much),
		cmocka_unit_test(survives_any_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
