/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a virtual machine that are made without one. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
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
	struct vm_machine machine = { .qemu = "/usr/bin/q",
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
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(vm_cache_publish(cache, fd, name), 0);
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
	assert_int_equal(vm_cache_find(&cache, "state-a", true), -ENOENT);
	make_file(&cache, "state-a", "some content that is long enough to be summed up");
	for (int i = 0; i < 2; i++) {
		_cleanup_close_ int fd = vm_cache_find(&cache, "state-a", true);
		assert_true(fd >= 0);
	}
	/* A changed byte, a cut file: neither is used, and both are gone. */
	make_file(&cache, "state-b", "some content that is long enough to be summed up");
	damage(&cache, "state-b", 5, -1);
	assert_int_equal(vm_cache_find(&cache, "state-b", true), -ENOENT);
	make_file(&cache, "state-c", "some content that is long enough to be summed up");
	damage(&cache, "state-c", -1, 20);
	assert_int_equal(vm_cache_find(&cache, "state-c", false), -ENOENT);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_initrd),
		cmocka_unit_test(test_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
