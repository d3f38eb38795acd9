/* SPDX-License-Identifier: Apache-2.0 */
/* Reading ELF files: an artificial one, each of its fields broken in turn, and real ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "runtime/closure/elf_needs.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_RISCV
#endif

/* One page: header, segments, dynamic section, strings. */
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	Elf64_Dyn dynamic[6];
	char strings[64];
};

#define LOADER  1
#define LIBRARY 12
#define RUNPATH 22

static struct image make_image(void)
{
	struct image image = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB },
			.e_type = ET_DYN,
			.e_machine = MACHINE,
			.e_phoff = offsetof(struct image, segments),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 3,
		},
		.segments = {
			{ .p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = sizeof(struct image) },
			{ .p_type = PT_INTERP,
			  .p_offset = offsetof(struct image, strings) + LOADER, .p_filesz = 11 },
			{ .p_type = PT_DYNAMIC, .p_offset = offsetof(struct image, dynamic),
			  .p_filesz = sizeof(image.dynamic) },
		},
		.dynamic = {
			{ .d_tag = DT_STRTAB,
			  .d_un.d_ptr = 0x1000 + offsetof(struct image, strings) },
			{ .d_tag = DT_STRSZ, .d_un.d_val = sizeof(image.strings) },
			{ .d_tag = DT_NEEDED, .d_un.d_val = LIBRARY },
			{ .d_tag = DT_RUNPATH, .d_un.d_val = RUNPATH },
			{ .d_tag = DT_NEEDED, .d_un.d_val = LIBRARY + 3 },
			{ .d_tag = DT_NULL },
		},
	};

	memcpy(image.strings + LOADER, "/lib/ld.so", 11);
	memcpy(image.strings + LIBRARY, "libx.so.1", 10);
	memcpy(image.strings + RUNPATH, "$ORIGIN/../lib", 15);
	return image;
}

static int read_image(const void *data, size_t size, struct elf_needs *needs)
{
	_cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), (ssize_t)size);
	return elf_needs_read(fd, needs);
}

static void test_right(void **state)
{
	struct image image = make_image();
	struct elf_needs needs = { 0 };

	(void)state;
	assert_int_equal(read_image(&image, sizeof(image), &needs), 0);
	assert_string_equal(needs.loader, "/lib/ld.so");
	assert_string_equal(needs.runpath, "$ORIGIN/../lib");
	assert_int_equal(needs.libraries.count, 2);
	assert_string_equal(needs.libraries.items[0], "libx.so.1");
	assert_string_equal(needs.libraries.items[1], "x.so.1");
	elf_needs_done(&needs);
	/* A static program. */
	image.header.e_phnum = 1;
	assert_int_equal(read_image(&image, sizeof(image), &needs), 0);
	assert_string_equal(needs.loader, "");
	assert_int_equal(needs.libraries.count, 0);
	elf_needs_done(&needs);
}

static void expect(const struct image *image, int want)
{
	struct elf_needs needs = { 0 };

	assert_int_equal(read_image(image, sizeof(*image), &needs), want);
	assert_null(needs.libraries.items);
}

#define BROKEN(...)                                                                                \
	do {                                                                                       \
		struct image image = make_image();                                                 \
		__VA_ARGS__;                                                                       \
		expect(&image, -EBADMSG);                                                          \
	} while (0)

static void test_broken(void **state)
{
	(void)state;
	BROKEN(image.header.e_ident[EI_CLASS] = ELFCLASS32);
	BROKEN(image.header.e_ident[EI_DATA] = ELFDATA2MSB);
	BROKEN(image.header.e_machine = EM_S390);
	BROKEN(image.header.e_type = ET_REL);
	BROKEN(image.header.e_phentsize = 1);
	BROKEN(image.header.e_phnum = 0xffff);
	BROKEN(image.header.e_phoff = UINT64_MAX);
	BROKEN(image.header.e_phoff = INT64_MAX);
	BROKEN(image.header.e_phoff = sizeof(image));
	BROKEN(image.segments[1].p_offset = UINT64_MAX - 3);
	BROKEN(image.segments[1].p_filesz = 5);
	BROKEN(image.segments[1].p_filesz = 0);
	BROKEN(image.strings[LOADER] = 'l');
	BROKEN(image.segments[2].p_filesz = UINT64_MAX);
	BROKEN(image.segments[2].p_offset = UINT64_MAX);
	BROKEN(image.segments[2].p_offset = sizeof(image) - 8);
	BROKEN(image.segments[0].p_vaddr = UINT64_MAX);
	BROKEN(image.segments[0].p_filesz = 0);
	BROKEN(image.segments[0].p_offset = UINT64_MAX);
	BROKEN(image.dynamic[0].d_un.d_ptr = 0);
	BROKEN(image.dynamic[1].d_un.d_val = 0);
	BROKEN(image.dynamic[2].d_un.d_val = UINT64_MAX);
	BROKEN(image.dynamic[1].d_un.d_val = UINT64_MAX; image.dynamic[2].d_un.d_val = INT64_MAX);
	BROKEN(image.dynamic[1].d_un.d_val = UINT64_MAX; image.dynamic[2].d_un.d_val = 1 << 20);
	BROKEN(memset(image.strings + LIBRARY, 'x', sizeof(image.strings) - LIBRARY));
}

static void test_cut(void **state)
{
	struct image image = make_image();

	(void)state;
	/* Up to the end of the used part; behind it there are only NULs. */
	for (size_t size = 0; size < offsetof(struct image, strings) + RUNPATH + 14; size++) {
		struct elf_needs needs = { 0 };
		int r = read_image(&image, size, &needs);

		assert_int_equal(r, size < SELFMAG ? -ENOEXEC : -EBADMSG);
	}
}

static void test_not_elf(void **state)
{
	struct elf_needs needs = { 0 };
	_cleanup_close_ int dir_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(read_image("#!/bin/sh\n", 10, &needs), -ENOEXEC);
	assert_int_equal(elf_needs_read(dir_fd, &needs), -EISDIR);
}

static void test_real(void **state)
{
	struct elf_needs needs = { 0 };
	_cleanup_close_ int fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(elf_needs_read(fd, &needs), 0);
	if (needs.loader[0]) {
		assert_true(needs.libraries.count > 0);
	}
	elf_needs_done(&needs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right), cmocka_unit_test(test_broken),
		cmocka_unit_test(test_cut),   cmocka_unit_test(test_not_elf),
		cmocka_unit_test(test_real),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
