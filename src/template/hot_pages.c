/* SPDX-License-Identifier: Apache-2.0 */
/* Pages that every run writes to: see hot_pages.h. */
#include "template/hot_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files/write_all.h"
#include "kernel/sys.h"
#include "template/mappings.h"

#define NS_PER_MS 1000000u
#define RING_FD   254 /* above the interpreter's own */
/* The kernel's bound for buffers of a ring since 5.13; before that it is UIO_MAXIOV. */
#define RANGES_MAX 16384

/* Of an entry in /proc/self/pagemap: Documentation/admin-guide/mm/pagemap.rst. */
#define PAGEMAP_PRESENT   (1ull << 63)
#define PAGEMAP_FILE      (1ull << 61)
#define PAGEMAP_EXCLUSIVE (1ull << 56)

/*
 * A number with this bit is of a page that is only read: the first of its window that is there. A
 * fault maps the pages of a window at once, if they are in memory (fault_around_bytes).
 */
#define HOT_READ     (1ull << 62)
#define WINDOW_PAGES 16

/* A larger mapping, of a gibibyte, is a reservation: it is not looked through. */
#define MAPPING_PAGES_MAX (1u << 18)

/* In terms of pagemap: which pages of such mappings count. */
struct interest {
	bool written;        /* of mappings that can be written to, or of the others, of files */
	uint64_t mask, want; /* of an entry */
};

static const struct interest interests[] = {
	{ true, PAGEMAP_PRESENT | PAGEMAP_FILE | PAGEMAP_EXCLUSIVE,
	  PAGEMAP_PRESENT | PAGEMAP_EXCLUSIVE },
	{ false, PAGEMAP_PRESENT, PAGEMAP_PRESENT },
};

static bool counts(const struct interest *interest, const struct mapping *mapping)
{
	if (mapping->end - mapping->first > MAPPING_PAGES_MAX) {
		return false;
	}
	return interest->written ? mapping->written
				 : !mapping->written && mapping->read && mapping->file;
}

static size_t number_pages(const struct interest *interest, const uint64_t *entries, uint64_t first,
			   uint64_t count, uint64_t *ret)
{
	size_t found = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t page = first + i;
		if ((entries[i] & interest->mask) != interest->want) {
			continue;
		}
		if (interest->written) {
			ret[found++] = page;
		} else if (!found ||
			   (ret[found - 1] & ~HOT_READ) / WINDOW_PAGES != page / WINDOW_PAGES) {
			ret[found++] = page | HOT_READ;
		}
	}
	return found;
}

static int report_mapping(int pagemap, const struct interest *interest,
			  const struct mapping *mapping, int pipe)
{
	uint64_t entries[512], own[512];

	for (uint64_t page = mapping->first; page < mapping->end; page += ARRAY_SIZE(entries)) {
		uint64_t want = mapping->end - page < ARRAY_SIZE(entries) ? mapping->end - page
									  : ARRAY_SIZE(entries);
		ssize_t n = pread(pagemap, entries, want * sizeof(entries[0]),
				  (off_t)(page * sizeof(entries[0])));
		if (n != (ssize_t)(want * sizeof(entries[0]))) {
			return n < 0 ? -errno : -EIO;
		}
		size_t count = number_pages(interest, entries, page, want, own);
		int r = write_all(pipe, own, count * sizeof(own[0]));
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int report_kind(int pagemap, const struct interest *interest, int pipe)
{
	_cleanup_(mappings_close)
	FILE *maps = fopen("/proc/self/maps", "re");
	struct mapping mapping;
	int r = maps ? 0 : -errno;

	while (r == 0 && mappings_next(maps, &mapping)) {
		if (counts(interest, &mapping)) {
			r = report_mapping(pagemap, interest, &mapping, pipe);
		}
	}
	return r;
}

int hot_pages_report(int pipe)
{
	_cleanup_close_ int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	int r = pagemap < 0 ? -errno : 0;

	for (size_t i = 0; i < ARRAY_SIZE(interests) && r == 0; i++) {
		r = report_kind(pagemap, &interests[i], pipe);
	}
	return r;
}

/* Data or the end. */
static int wait_until(int pipe, uint64_t end_ns)
{
	struct pollfd ready = { .fd = pipe, .events = POLLIN };

	for (;;) {
		uint64_t now = clock_now_ns();
		int n = now >= end_ns ? 0 : poll(&ready, 1, (int)((end_ns - now) / NS_PER_MS) + 1);
		if (n >= 0 || errno != EINTR) {
			return n > 0 ? 0 : n < 0 ? -errno : -ETIME;
		}
	}
}

int hot_pages_read(int pipe, unsigned wait_ms, struct hot_pages *ret)
{
	uint64_t end_ns = clock_now_ns() + (uint64_t)wait_ms * NS_PER_MS;
	char *at = (char *)ret->pages;
	size_t room = sizeof(ret->pages), size = 0;

	ret->count = 0;
	for (;;) {
		int r = wait_until(pipe, end_ns);
		if (r < 0) {
			return r;
		}
		ssize_t n = read(pipe, at + size, room - size);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return -errno;
		}
		if (n == 0) {
			break;
		}
		size += (size_t)n;
		if (size == room) {
			return -E2BIG; /* copying so much would cost more than it saves */
		}
	}
	ret->count = size / sizeof(ret->pages[0]);
	return size % sizeof(ret->pages[0]) || !ret->count ? -ENODATA : 0;
}

void hot_pages_intersect(struct hot_pages *pages, const struct hot_pages *other)
{
	size_t kept = 0;

	for (size_t i = 0, j = 0; i < pages->count && j < other->count;) {
		if (pages->pages[i] == other->pages[j]) {
			pages->pages[kept++] = pages->pages[i];
		}
		bool less = pages->pages[i] <= other->pages[j];
		bool more = pages->pages[i] >= other->pages[j];
		i += less;
		j += more;
	}
	pages->count = kept;
}

/* Those of our own mappings, as ranges; a child may have had others. */
static size_t ranges_of(const struct hot_pages *pages, bool files, struct iovec *ret,
			size_t *ret_pages)
{
	_cleanup_(mappings_close)
	FILE *maps = fopen("/proc/self/maps", "re");
	struct mapping mapping;
	size_t count = 0, at = 0;
	uint64_t next = 0;

	*ret_pages = 0;
	while (maps && mappings_next(maps, &mapping)) {
		if (!mapping.written || (mapping.file && !files)) {
			continue;
		}
		while (at < pages->count && pages->pages[at] < mapping.first) {
			at++;
		}
		for (; at < pages->count && pages->pages[at] < mapping.end; at++) {
			if (count && pages->pages[at] == next) {
				ret[count - 1].iov_len += 1u << MAPPING_PAGE_SHIFT;
			} else if (count == RANGES_MAX) {
				return count;
			} else {
				uintptr_t address = (uintptr_t)pages->pages[at]
						    << MAPPING_PAGE_SHIFT;
				ret[count++] =
					(struct iovec){ (void *)address, 1u << MAPPING_PAGE_SHIFT };
			}
			next = pages->pages[at] + 1;
			(*ret_pages)++;
		}
		next = 0; /* a buffer is of one mapping */
	}
	return count;
}

size_t hot_pages_read_ones(const struct hot_pages *pages, const volatile char **ret, size_t room)
{
	_cleanup_(mappings_close)
	FILE *maps = fopen("/proc/self/maps", "re");
	struct mapping mapping;
	size_t count = 0, at = 0;

	while (maps && mappings_next(maps, &mapping)) {
		if (!counts(&interests[1], &mapping)) {
			continue;
		}
		while (at < pages->count && pages->pages[at] < (mapping.first | HOT_READ)) {
			at++;
		}
		for (; at < pages->count && pages->pages[at] < (mapping.end | HOT_READ); at++) {
			if (count == room) {
				return count;
			}
			uintptr_t address = (uintptr_t)(pages->pages[at] & ~HOT_READ)
					    << MAPPING_PAGE_SHIFT;
			ret[count++] = (const char *)address;
		}
	}
	return count;
}

/* Kernels before 6.7 pin no pages of files, not even written ones: then without them. */
static int register_pages(int ring, const struct hot_pages *pages)
{
	_cleanup_free_ struct iovec *ranges = calloc(RANGES_MAX, sizeof(*ranges));
	int r = -ENOMEM;

	for (int files = 1; ranges && files >= 0; files--) {
		size_t pinned;
		size_t count = ranges_of(pages, files, ranges, &pinned);
		if (count == 0) {
			/* It knows no cleanup attributes. */
			/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
			return -ENODATA;
		}
		r = sys_result(syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, ranges,
				       count));
		if (r == 0) {
			return (int)pinned;
		}
	}
	return r;
}

int hot_pages_pin(const struct hot_pages *pages)
{
	struct io_uring_params params = { 0 };
	struct rlimit before, most;

	if (getrlimit(RLIMIT_MEMLOCK, &before) < 0) {
		return -errno;
	}
	int ring = sys_result(syscall(SYS_io_uring_setup, 1, &params));
	if (ring < 0) {
		return ring;
	}
	most = (struct rlimit){ before.rlim_max, before.rlim_max };
	setrlimit(RLIMIT_MEMLOCK, &most);
	int r = register_pages(ring, pages);
	setrlimit(RLIMIT_MEMLOCK, &before);
	/* It stays open: its end would release the pages. */
	int high = r > 0 ? fcntl(ring, F_DUPFD_CLOEXEC, RING_FD) : -1;
	if (high >= 0 || r <= 0) {
		close(ring);
	}
	return r;
}
