/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a virtual machine that are made without one. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/prepare/choice.h"
#include "vm/vm.h"

#define MIB (1ull << 20)

static void test_memory(void **state)
{
	(void)state;
	assert_int_equal(vm_memory(16 * MIB), 256 * MIB);
	assert_int_equal(vm_memory(160 * MIB), 256 * MIB);
	assert_int_equal(vm_memory(161 * MIB), 320 * MIB);
	assert_int_equal(vm_memory(256 * MIB), 384 * MIB);
	assert_int_equal(vm_memory(1000 * MIB), 1280 * MIB);
	for (uint64_t limit = 32; limit < 100000; limit += 37) {
		uint64_t need = limit * MIB + VM_GUEST_BYTES, size = vm_memory(limit * MIB);
		assert_true(size >= need);
		assert_true(size <= 256 * MIB || size < need + need / 4);
	}
}

static bool has_word(const struct strlist *list, const char *word)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strstr(list->items[i], word)) {
			return true;
		}
	}
	return false;
}

static void test_command(void **state)
{
	struct vm_machine machine = { .program = "/usr/bin/q",
				      .accel = VM_ACCEL_TCG,
				      .memory_bytes = 256 * MIB };

	(void)state;
	for (int start = VM_START_BOOT; start <= VM_START_RESTORE; start++) {
		_cleanup_(strlist_done)
		struct strlist command = { 0 };
		machine.start = (enum vm_start)start;
		assert_int_equal(vm_command(&machine, &command), 0);
		assert_string_equal(command.items[0], "/usr/bin/q");
		assert_true(has_word(&command, "spawn=deny") && has_word(&command, "256M"));
		assert_true(has_word(&command, "readonly=on") && has_word(&command, "tcg,"));
		assert_false(has_word(&command, "netdev") || has_word(&command, "/home"));
		assert_int_equal(has_word(&command, "-incoming"), start == VM_START_RESTORE);
		assert_int_equal(has_word(&command, "-mon"), start == VM_START_SAVE);
		assert_int_equal(has_word(&command, "brig.park"), start != VM_START_BOOT);
	}
}

static unsigned field(const char *entry, unsigned number)
{
	char text[9] = { 0 };

	memcpy(text, entry + 6 + 8 * number, 8);
	return (unsigned)strtoul(text, NULL, 16);
}

/* The kernel's own rules: every entry is found by the lengths of the one before it. */
static void test_initrd(void **state)
{
	static const struct vm_kernel kernel = { .path = "/k", .modules = "" };
	_cleanup_(buf_done)
	struct buf disk = { 0 };
	struct brig_error err = { 0 };
	bool init = false, end = false;

	(void)state;
	assert_int_equal(vm_initrd(&kernel, &disk, &err), 0);
	for (size_t at = 0; at < disk.size && !end;) {
		const char *entry = disk.data + at, *name = entry + 110;
		assert_int_equal(at % 4, 0);
		assert_memory_equal(entry, "070701", 6);
		size_t length = field(entry, 11), size = field(entry, 6);
		assert_int_equal(strlen(name) + 1, length);
		end = strcmp(name, "TRAILER!!!") == 0;
		size_t data = (at + 110 + length + 3) / 4 * 4;
		if (strcmp(name, "init") == 0) {
			init = true;
			assert_int_equal(size, vm_init_image_size);
			assert_memory_equal(disk.data + data, vm_init_image, size);
			assert_int_equal(field(entry, 1), S_IFREG | 0555);
		}
		at = (data + size + 3) / 4 * 4;
	}
	assert_true(init && end);
}

static void make_file(const struct vm_cache *cache, const char *name, const char *text)
{
	const struct spec spec = { 0 };
	_cleanup_close_ int fd = vm_cache_new(cache, &spec);

	assert_true(fd >= 0);
	struct vm_sum sum;
	uint64_t value = 0;
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(vm_cache_seal(fd, &sum), 0);
	assert_int_equal(vm_sum_turn(&sum, &value), 1);
	assert_int_equal(vm_cache_publish(cache, &sum, value, name), 0);
}

/* The file, checked. */
static int find(const struct vm_cache *cache, const char *name)
{
	struct vm_sum sum = { 0 };
	_cleanup_close_ int fd = vm_cache_find(cache, name, &sum);

	if (fd < 0) {
		return fd;
	}
	int r = sum.size ? vm_cache_check(cache, name, &sum) : 1;
	return r < 0 ? r : TAKE_FD(fd);
}

/* A large file takes several turns, and the sum is that of all of its bytes, in their order. */
static void test_sum(void **state)
{
	const uint64_t size = (20u << 20) + 5;
	uint64_t first = 0, second = 0, moved = 0;
	struct vm_sum sum;
	unsigned turns = 1;

	(void)state;
	_cleanup_close_ int fd = memfd_create("sum", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(pwrite(fd, "a", 1, 100), 1);
	for (vm_sum_begin(&sum, fd, size); vm_sum_turn(&sum, &first) == 0; turns++) {
	}
	assert_int_equal(turns, 3);
	vm_sum_begin(&sum, fd, size);
	while (vm_sum_turn(&sum, &second) == 0) {
	}
	assert_int_equal(first, second);
	assert_int_equal(pwrite(fd, "\0", 1, 100) + pwrite(fd, "a", 1, (off_t)size - 1), 2);
	vm_sum_begin(&sum, fd, size);
	while (vm_sum_turn(&sum, &moved) == 0) {
	}
	assert_int_not_equal(first, moved);
}

/* A tree of any size costs a turn no more than a thousand entries; every change counts. */
/* All of /usr, for a program of the host, may be more than an image can have. */
static void test_too_much_for_an_image(void **state)
{
	char dir[] = "/tmp/brig-vm-XXXXXX", file[64], name[VM_NAME_MAX];
	struct step step = { .kind = STEP_BIND };
	const struct plan plan = { .steps = &step, .count = 1 };
	struct brig_error err = { 0 };
	struct vm_naming naming;
	int r = 0;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/large", dir);
	_cleanup_close_ int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(VM_IMAGE_BYTES_MAX + 1)), 0);
	step.bind.source = dir;
	step.bind.target = dir;
	vm_naming_begin(&naming, &plan);
	while (r == 0) {
		r = vm_naming_turn(&naming, name, &err);
	}
	vm_naming_done(&naming);
	assert_int_equal(r, -EFBIG);
	assert_non_null(strstr(err.message, "4 GiB"));
	assert_non_null(strstr(err.remedy, "closure"));
	unlink(file);
	rmdir(dir);
}

static void test_naming(void **state)
{
	char top[] = "/tmp/brig-test-vm-XXXXXX", path[64], names[3][VM_NAME_MAX];
	struct step steps[] = { { .kind = STEP_DIR, .dir = { .target = "/usr" } },
				{ .kind = STEP_BIND,
				  .bind = { .source = top, .target = "/usr/x" } } };
	const struct plan plan = { .steps = steps, .count = ARRAY_SIZE(steps) };
	struct brig_error err = { 0 };
	unsigned turns = 0;

	(void)state;
	assert_non_null(mkdtemp(top));
	for (int i = 0; i < 2500; i++) {
		snprintf(path, sizeof(path), "%s/%d", top, i);
		assert_int_equal(i % 50 ? mknod(path, S_IFREG | 0600, 0) : mkdir(path, 0700), 0);
	}
	for (int round = 0; round < 3; round++) {
		struct vm_naming naming;
		int r = 0;
		vm_naming_begin(&naming, &plan);
		for (turns = 0; r == 0; turns++) {
			r = vm_naming_turn(&naming, names[round], &err);
		}
		assert_int_equal(r, 1);
		assert_int_equal(naming.depth, 0);
		vm_naming_done(&naming);
		assert_true(turns >= 3);
		snprintf(path, sizeof(path), "%s/50/new", top);
		assert_int_equal(round != 1 || mknod(path, S_IFREG | 0600, 0) == 0, 1);
	}
	assert_string_equal(names[0], names[1]);
	assert_string_not_equal(names[1], names[2]);
	/* One that is given up in the middle leaves no directory open. */
	struct vm_naming naming;
	vm_naming_begin(&naming, &plan);
	assert_int_equal(vm_naming_turn(&naming, names[0], &err), 0);
	assert_true(naming.depth > 0);
	vm_naming_done(&naming);
	char command[96];
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	assert_int_equal(system(command), 0);
}

/* One truth: the limits of the group are those that the page names. */
static void test_group(void **state)
{
	const struct vm_machine machine = { .memory_bytes = vm_memory(256 * MIB) };
	const struct held_group group = vm_group(&machine);

	(void)state;
	assert_int_equal(group.memory_bytes, (384 + 256) * MIB);
	assert_int_equal(group.processes, 50);
}

static void damage(const struct vm_cache *cache, const char *name, off_t at, off_t cut)
{
	assert_int_equal(fchmodat(cache->dir, name, 0600, 0), 0);
	_cleanup_close_ int fd = openat(cache->dir, name, O_RDWR);
	assert_true(fd >= 0);
	assert_true(at < 0 || pwrite(fd, "X", 1, at) == 1);
	assert_true(cut < 0 || ftruncate(fd, cut) == 0);
	assert_int_equal(fchmod(fd, 0444), 0);
}

static void test_cache(void **state)
{
	char top[] = "/tmp/brig-test-vm-XXXXXX";
	struct vm_cache cache = { .dir = -1 };
	struct brig_error err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(top));
	assert_int_equal(vm_cache_open(top, &cache, &err), 0);
	assert_int_equal(find(&cache, "state-a"), -ENOENT);
	make_file(&cache, "state-a", "some content that is long enough to be summed up");
	for (int i = 0; i < 2; i++) {
		_cleanup_close_ int fd = find(&cache, "state-a");
		assert_true(fd >= 0);
	}
	/* A changed byte, a cut file: neither is used, and both are gone. */
	make_file(&cache, "state-b", "some content that is long enough to be summed up");
	damage(&cache, "state-b", 5, -1);
	assert_int_equal(find(&cache, "state-b"), -ENOENT);
	make_file(&cache, "state-c", "some content that is long enough to be summed up");
	damage(&cache, "state-c", -1, 20);
	assert_int_equal(vm_cache_find(&cache, "state-c", NULL), -ENOENT);
	assert_int_equal(faccessat(cache.dir, "state-c", F_OK, 0), -1);
	/* One lock. */
	_cleanup_close_ int lock = vm_cache_lock(&cache);
	assert_true(lock >= 0);
	assert_int_equal(vm_cache_lock(&cache), -EWOULDBLOCK);
	/* Notes. */
	assert_false(vm_cache_noted(&cache, "no-x"));
	vm_cache_note(&cache, "no-x");
	assert_true(vm_cache_noted(&cache, "no-x"));
	static const char *const names[] = { "state-a", "lock", "no-x" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		vm_cache_remove(&cache, names[i]);
	}
	assert_int_equal(unlinkat(AT_FDCWD, cache.path, AT_REMOVEDIR), 0);
	vm_cache_done(&cache);
	assert_int_equal(rmdir(top), 0);
}

static void used_at(const struct vm_cache *cache, const char *name, time_t when)
{
	const struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when } };

	assert_int_equal(utimensat(cache->dir, name, times, 0), 0);
}

static bool is_there(const struct vm_cache *cache, const char *name)
{
	return faccessat(cache->dir, name, F_OK, 0) == 0;
}

/* The least recently used ones are deleted, one at a time, and none that is open. */
static void test_eviction(void **state)
{
	static const char *const names[] = { "root-a", "root-b", "root-c", "root-d", "root-e" };
	char top[] = "/tmp/brig-test-vm-XXXXXX";
	struct vm_cache cache = { .dir = -1 };
	struct brig_error err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(top));
	assert_int_equal(vm_cache_open(top, &cache, &err), 0);
	vm_cache_note(&cache, "no-x");
	used_at(&cache, "no-x", 1);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		make_file(&cache, names[i], "content");
		used_at(&cache, names[i], 1000 + (time_t)i);
	}
	assert_false(vm_cache_evict(&cache, names[0]));
	cache.bytes_max = 1;
	/* The first was used just now, the second is in use, and the last is the new one. */
	close(find(&cache, names[0]));
	_cleanup_close_ int open_one = find(&cache, names[1]);
	used_at(&cache, names[1], 1001);
	assert_true(vm_cache_evict(&cache, names[4]));
	assert_false(is_there(&cache, names[2]));
	assert_true(is_there(&cache, names[0]) && is_there(&cache, names[3]));
	assert_true(vm_cache_evict(&cache, names[4]));
	assert_false(is_there(&cache, names[3]));
	assert_true(vm_cache_evict(&cache, names[4]));
	assert_false(is_there(&cache, names[0]));
	assert_false(vm_cache_evict(&cache, names[4]));
	close_fd(&open_one);
	assert_true(vm_cache_evict(&cache, names[4]));
	assert_false(vm_cache_evict(&cache, names[4]));
	assert_true(is_there(&cache, names[4]) && is_there(&cache, "no-x"));
	vm_cache_remove(&cache, names[4]);
	vm_cache_remove(&cache, "no-x");
	assert_int_equal(unlinkat(AT_FDCWD, cache.path, AT_REMOVEDIR), 0);
	vm_cache_done(&cache);
	assert_int_equal(rmdir(top), 0);
}

/* Only the tool's own failure says something about a state, or about KVM. */
static void test_blame(void **state)
{
	static const struct brig_error refused = { 0 };
	const struct held_cell failed = { .has_handles = true,
					  .tool_done = true,
					  .tool_status = 1 << 8 };
	struct held_cell held = failed;

	(void)state;
	assert_true(vm_tool_failed(&held));
	held.tool_status = 127 << 8; /* it was not executed */
	assert_false(vm_tool_failed(&held));
	held.tool_status = SIGKILL;
	assert_false(vm_tool_failed(&held));
	held = failed;
	held.build_errnum = ENOMEM;
	assert_false(vm_tool_failed(&held));
	held = failed;
	held.has_handles = false;
	assert_false(vm_tool_failed(&held));
	held = failed;
	held.tool_done = false;
	assert_false(vm_tool_failed(&held));
	held = failed;
	held.refused = (struct brig_error *)(uintptr_t)&refused;
	assert_false(vm_tool_failed(&held));
}

/* A trial that had not enough time is repeated soon, other slow ones are not. */
static void test_age_of_findings(void **state)
{
	struct probe_finding found = { .state = PROBE_MISSING, .errnum = ENODEV };

	(void)state;
	assert_int_equal(choice_age_ns(&found, 1), CHOICE_AGE_NS);
	assert_int_equal(choice_age_ns(&found, CHOICE_SLOW_NS + 1), CHOICE_SLOW_AGE_NS);
	found.errnum = ETIMEDOUT;
	assert_int_equal(choice_age_ns(&found, CHOICE_SLOW_NS + 1), CHOICE_AGE_NS);
	found.state = PROBE_OK;
	assert_int_equal(choice_age_ns(&found, CHOICE_SLOW_NS + 1), CHOICE_SLOW_AGE_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_initrd),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_sum),
		cmocka_unit_test(test_naming),
		cmocka_unit_test(test_too_much_for_an_image),
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_eviction),
		cmocka_unit_test(test_blame),
		cmocka_unit_test(test_age_of_findings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
