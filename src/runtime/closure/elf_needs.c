/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an ELF file's program headers and dynamic section. */
#include "runtime/closure/elf_needs.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define SEGMENTS_MAX  64
#define DYNAMIC_MAX   1024 /* entries */
#define LIBRARIES_MAX 256
#define NEAR_SIZE     4096
#define STRINGS_MAX   (1u << 30)

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__riscv)
#define MACHINE EM_RISCV
#endif
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTE_ORDER_DATA ELFDATA2LSB
#else
#define BYTE_ORDER_DATA ELFDATA2MSB
#endif

struct elf {
	int fd;
	Elf64_Phdr segments[SEGMENTS_MAX];
	size_t segments_count;
	Elf64_Dyn dynamic[DYNAMIC_MAX];
	size_t dynamic_count;
	uint64_t strings_offset, strings_size;
	char near[NEAR_SIZE]; /* the strings read last: strings of one kind are close together */
	uint64_t near_offset;
	size_t near_size;
};

void elf_needs_done(struct elf_needs *needs)
{
	strlist_done(&needs->libraries);
}

/* All bytes or -EBADMSG. */
static int read_at(int fd, void *to, size_t size, uint64_t offset)
{
	ssize_t n;

	if (offset > INT64_MAX - size) {
		return -EBADMSG;
	}
	n = pread(fd, to, size, (off_t)offset);
	if (n < 0) {
		return -errno;
	}
	return (size_t)n == size ? 0 : -EBADMSG;
}

/* A NUL-terminated text of at most `limit` bytes in the file. */
static int read_text(int fd, uint64_t offset, uint64_t limit, char text[ELF_TEXT_MAX])
{
	size_t want = limit < ELF_TEXT_MAX ? (size_t)limit : ELF_TEXT_MAX;
	ssize_t n;

	if (offset > INT64_MAX - ELF_TEXT_MAX) {
		return -EBADMSG;
	}
	n = pread(fd, text, want, (off_t)offset);
	if (n < 0) {
		return -errno;
	}
	return memchr(text, '\0', (size_t)n) ? 0 : -EBADMSG;
}

static int read_header(struct elf *elf)
{
	Elf64_Ehdr header;
	ssize_t n = pread(elf->fd, &header, sizeof(header), 0);

	if (n < 0) {
		return -errno;
	}
	if ((size_t)n < SELFMAG || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
		return -ENOEXEC;
	}
	if ((size_t)n != sizeof(header) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != BYTE_ORDER_DATA || header.e_machine != MACHINE ||
	    (header.e_type != ET_EXEC && header.e_type != ET_DYN) ||
	    header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > SEGMENTS_MAX) {
		return -EBADMSG;
	}
	elf->segments_count = header.e_phnum;
	return read_at(elf->fd, elf->segments, header.e_phnum * sizeof(Elf64_Phdr), header.e_phoff);
}

static const Elf64_Phdr *find_segment(const struct elf *elf, uint32_t type)
{
	for (size_t i = 0; i < elf->segments_count; i++) {
		if (elf->segments[i].p_type == type) {
			return &elf->segments[i];
		}
	}
	return NULL;
}

/* The dynamic section has addresses in memory; the segments give their offsets in the file. */
static int offset_of(const struct elf *elf, uint64_t address, uint64_t *ret)
{
	for (size_t i = 0; i < elf->segments_count; i++) {
		const Elf64_Phdr *s = &elf->segments[i];

		if (s->p_type == PT_LOAD && address >= s->p_vaddr &&
		    address - s->p_vaddr < s->p_filesz &&
		    s->p_offset <= INT64_MAX - (address - s->p_vaddr)) {
			*ret = s->p_offset + (address - s->p_vaddr);
			return 0;
		}
	}
	return -EBADMSG;
}

static int read_dynamic(struct elf *elf, const Elf64_Phdr *segment)
{
	uint64_t count = segment->p_filesz / sizeof(Elf64_Dyn), strings = 0;
	int r;

	if (count > DYNAMIC_MAX) {
		return -EBADMSG;
	}
	r = read_at(elf->fd, elf->dynamic, (size_t)count * sizeof(Elf64_Dyn), segment->p_offset);
	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < count && elf->dynamic[i].d_tag != DT_NULL; i++) {
		elf->dynamic_count = i + 1;
		if (elf->dynamic[i].d_tag == DT_STRTAB) {
			strings = elf->dynamic[i].d_un.d_ptr;
		} else if (elf->dynamic[i].d_tag == DT_STRSZ) {
			elf->strings_size = elf->dynamic[i].d_un.d_val;
		}
	}
	if (elf->dynamic_count == 0) {
		return 0;
	}
	return offset_of(elf, strings, &elf->strings_offset);
}

static bool near_text(const struct elf *elf, uint64_t offset, char text[ELF_TEXT_MAX])
{
	const char *start;
	size_t left, size;

	if (offset < elf->near_offset || offset - elf->near_offset >= elf->near_size) {
		return false;
	}
	start = elf->near + (offset - elf->near_offset);
	left = elf->near_size - (size_t)(offset - elf->near_offset);
	size = strnlen(start, left);
	if (size == left || size >= ELF_TEXT_MAX) {
		return false;
	}
	memcpy(text, start, size + 1);
	return true;
}

static int read_string(struct elf *elf, uint64_t index, char text[ELF_TEXT_MAX])
{
	uint64_t offset, left;
	ssize_t n;

	if (index >= elf->strings_size || index > STRINGS_MAX ||
	    elf->strings_offset > INT64_MAX - NEAR_SIZE - index) {
		return -EBADMSG;
	}
	offset = elf->strings_offset + index;
	left = elf->strings_size - index;
	if (near_text(elf, offset, text)) {
		return 0;
	}
	n = pread(elf->fd, elf->near, left < NEAR_SIZE ? (size_t)left : NEAR_SIZE, (off_t)offset);
	if (n < 0) {
		return -errno;
	}
	elf->near_offset = offset;
	elf->near_size = (size_t)n;
	return near_text(elf, offset, text) ? 0 : -EBADMSG;
}

static int take_entry(struct elf *elf, const Elf64_Dyn *entry, struct elf_needs *needs)
{
	char text[ELF_TEXT_MAX];
	int r;

	switch (entry->d_tag) {
	case DT_NEEDED:
		r = read_string(elf, entry->d_un.d_val, text);
		if (r < 0) {
			return r;
		}
		if (needs->libraries.count >= LIBRARIES_MAX) {
			return -EBADMSG;
		}
		return strlist_add(&needs->libraries, text);
	case DT_RUNPATH:
		return read_string(elf, entry->d_un.d_val, needs->runpath);
	case DT_RPATH:
		/* The loader uses it only without a DT_RUNPATH. */
		return needs->runpath[0] ? 0 : read_string(elf, entry->d_un.d_val, needs->runpath);
	default:
		return 0;
	}
}

static int read_needs(struct elf *elf, struct elf_needs *needs)
{
	const Elf64_Phdr *loader, *dynamic;
	int r = read_header(elf);

	if (r < 0) {
		return r;
	}
	loader = find_segment(elf, PT_INTERP);
	if (loader) {
		r = read_text(elf->fd, loader->p_offset, loader->p_filesz, needs->loader);
		if (r < 0 || needs->loader[0] != '/') {
			return r < 0 ? r : -EBADMSG;
		}
	}
	dynamic = find_segment(elf, PT_DYNAMIC);
	r = dynamic ? read_dynamic(elf, dynamic) : 0;
	for (size_t i = 0; r == 0 && i < elf->dynamic_count; i++) {
		r = take_entry(elf, &elf->dynamic[i], needs);
	}
	return r;
}

int elf_needs_read(int fd, struct elf_needs *ret)
{
	struct elf elf = { .fd = fd };
	_cleanup_(elf_needs_done)
	struct elf_needs needs = { 0 };
	int r = read_needs(&elf, &needs);

	if (r < 0) {
		return r;
	}
	*ret = needs;
	needs = (struct elf_needs){ 0 };
	return 0;
}
