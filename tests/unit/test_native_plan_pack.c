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
#include "native/plan/step_members.h"

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

static const uint16_t ports[] = { 80, 443 };
static const struct net_prefix routes[] = {
	{ .address = { .family = 4, .bytes = { 10, 1, 2, 0 } }, .bits = 24 },
	{ .address = { .family = 6, .bytes = { 0x20, 1 } }, .bits = 16 },
};

static struct spec held_spec(void)
{
	return (struct spec){
		.provider = &native_provider,
		.layers = LAYER_BIT(LAYER_COUNT) - 1,
		.ranged = true,
		.own_devices = true,
		.first_id = 5000,
		.limits = { .disk_bytes = 64u << 20, .disk_inodes = 100 },
		.closure = &closure,
		.devices = 77,
		.filter = &filter,
		.landlock_abi = 6,
		.gate = 78,
		.gate_ports = ports,
		.gate_ports_count = ARRAY_SIZE(ports),
		.gate_routes = routes,
		.gate_routes_count = ARRAY_SIZE(routes),
		.kind = CELL_CLONED,
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

/* With every member that is no pointer and no descriptor, the packed step is the same bytes. */
static void assert_same_step(const struct step *from, const struct step *to)
{
	struct step a = *from, b = *to;
	const struct step_member *member = NULL;

	assert_int_equal(from->kind, to->kind);
	assert_int_equal(step_fd(to), -1); /* a number of another process has no meaning here */
	step_set_fd(&a, -1);
	while ((member = step_member_next(from, member))) {
		if (member->type == MEMBER_FD || member->type == MEMBER_FLAG) {
			continue;
		}
		const char *was = step_pointer(from, member), *is = step_pointer(to, member);
		assert_true((was == NULL) == (is == NULL));
		if (was && member->type == MEMBER_ITEMS) {
			assert_memory_equal(was, is, step_items(from, member) * member->width);
		} else if (was) {
			assert_string_equal(was, is);
		}
		step_set_pointer(&a, member, NULL);
		step_set_pointer(&b, member, NULL);
	}
	assert_memory_equal(&a, &b, sizeof(a));
}

static void comes_back_whole(void **state)
{
	struct spec spec = held_spec(), got_spec;
	struct plan plan, got;
	struct plan_sizes sizes;
	struct brig_error err = { 0 };
	size_t size, routed = 0;

	(void)state;
	assert_int_equal(plan_make(&spec, &plan, &err), 0);
	void *block = packed(&plan, &size);
	assert_int_equal(plan_unpack(block, size, &got, &sizes, &got_spec), 0);
	assert_int_equal(got.count, plan.count);
	for (unsigned i = 0; i < plan.count; i++) {
		assert_same_step(&plan.steps[i], &got.steps[i]);
		routed += got.steps[i].kind == STEP_ROUTE;
	}
	assert_int_equal(routed, 2);
	assert_true(got_spec.layers == spec.layers);
	assert_int_equal(got_spec.kind, CELL_CLONED);
	assert_true(got_spec.ranged && got_spec.parks);
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

/* The byte of a flag is 0 or 1: anything else would not be a bool. */
static void refuses_other_flags(void **state)
{
	struct spec spec = held_spec(), got_spec;
	struct plan plan, got;
	struct plan_sizes sizes;
	size_t size;

	(void)state;
	assert_int_equal(plan_make(&spec, &plan, NULL), 0);
	char *block = packed(&plan, &size);
	assert_int_equal(plan_unpack(block, size, &got, &sizes, &got_spec), 0);
	size_t first = (size_t)((char *)got.steps - block);
	munmap(block, size);
	for (unsigned i = 0; i < plan.count; i++) {
		const struct step_member *member = NULL;
		while ((member = step_member_next(&plan.steps[i], member))) {
			if (member->type == MEMBER_FLAG) {
				block = packed(&plan, &size);
				block[first + i * sizeof(struct step) + member->offset] = 2;
				assert_int_equal(plan_unpack(block, size, &got, &sizes, &got_spec),
						 -EPROTO);
				munmap(block, size);
			}
		}
	}
	plan_done(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back_whole),
		cmocka_unit_test(survives_any_word),
		cmocka_unit_test(refuses_other_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
