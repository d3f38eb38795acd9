/* SPDX-License-Identifier: Apache-2.0 */
/* A packed plan is the same plan: step by step, byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "native/plan/plan_pack.h"

static struct closure_item items[] = {
	{ CLOSURE_LINK, (char *)(uintptr_t) "/bin", (char *)(uintptr_t) "usr/bin" },
	{ CLOSURE_DIR, (char *)(uintptr_t) "/usr/lib", NULL },
};
static const struct closure closure = { items, ARRAY_SIZE(items) };
static struct sock_filter code[] = {
	{ .code = BPF_LD | BPF_W | BPF_ABS, .k = 4 },
	{ .code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW },
};
static const struct bpf_program filter = { code, 2 };

static struct spec held_spec(void)
{
	return (struct spec){
		.layers = LAYER_BIT(LAYER_COUNT) - 1,
		.ranged = true,
		.own_devices = true,
		.first_id = 5000,
		.limits = { .disk_bytes = 64u << 20, .disk_inodes = 100 },
		.closure = &closure,
		.devices = 77,
		.filter = &filter,
		.landlock_abi = 6,
		.held = true,
		.cloned = true,
		.parks = true,
	};
}

static void *packed(const struct plan *plan, size_t *size)
{
	struct stat info;
	int fd = plan_pack(plan);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &info), 0);
	*size = (size_t)info.st_size;
	void *block = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(block, MAP_FAILED);
	close(fd);
	return block;
}

static void same_text(const char *a, const char *b)
{
	assert_true((a == NULL) == (b == NULL));
	if (a) {
		assert_string_equal(a, b);
	}
}

static void comes_back_whole(void **state)
{
	struct spec spec = held_spec(), got_spec;
	struct plan plan, got;
	struct plan_sizes sizes;
	struct brig_error err = { 0 };
	size_t size;

	(void)state;
	assert_int_equal(plan_make(&spec, &plan, &err), 0);
	void *block = packed(&plan, &size);
	assert_int_equal(plan_unpack(block, size, &got, &sizes, &got_spec), 0);
	assert_int_equal(got.count, plan.count);
	for (unsigned i = 0; i < plan.count; i++) {
		const struct step *a = &plan.steps[i], *b = &got.steps[i];
		assert_int_equal(a->kind, b->kind);
		assert_int_equal(a->size, b->size);
		assert_int_equal(a->value, b->value);
		assert_int_equal(a->flags, b->flags);
		same_text(a->path, b->path);
		same_text(a->text, b->text);
		assert_int_equal(b->fd, -1); /* a number of another process has no meaning here */
		if (a->kind == STEP_SECCOMP) {
			assert_memory_equal(a->data, b->data, sizeof(code));
		} else if (a->data) {
			assert_memory_equal(a->data, b->data, a->size);
		}
	}
	assert_true(got_spec.layers == spec.layers);
	assert_true(got_spec.ranged && got_spec.held && got_spec.cloned && got_spec.parks);
	plan_done(&plan);
	munmap(block, size);
}

static void survives_any_word(void **state)
{
	static const uint64_t words[] = { 0, 1, 8, 500, UINT32_MAX, UINT64_MAX, UINT64_MAX / 8 };
	struct spec spec = held_spec(), got_spec;
	struct plan plan, got;
	struct plan_sizes sizes;
	struct brig_error err = { 0 };
	size_t size;

	(void)state;
	assert_int_equal(plan_make(&spec, &plan, &err), 0);
	void *good = packed(&plan, &size);
	void *copy = test_malloc(size);
	for (size_t at = 0; at + 8 <= size; at += 8) {
		for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
			memcpy(copy, good, size);
			memcpy((char *)copy + at, &words[i], 8);
			plan_unpack(copy, size, &got, &sizes, &got_spec);
		}
	}
	for (size_t cut = 0; cut < size; cut += 64) {
		memcpy(copy, good, size);
		assert_int_equal(plan_unpack(copy, cut, &got, &sizes, &got_spec), -EPROTO);
	}
	test_free(copy);
	munmap(good, size);
	plan_done(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back_whole),
		cmocka_unit_test(survives_any_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
