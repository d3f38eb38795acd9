/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that every run writes to. A clone shares the template's pages, and each first write to one
 * is a fault that copies it. Pages that are pinned in the template are copied at once when it is
 * cloned, for a third of that price.
 *
 * They are learned from a few children of the template, which run a small program; each reports the
 * pages that are its own at the end. They are pinned as buffers of an io_uring, which is used for
 * nothing else. Clones do not have it.
 *
 * Pages that every run only reads, code mostly, are shared for good. But fork() does not copy their
 * entries in the page table, so each clone has a fault for a window of them. These windows are
 * learned with the others, so that a clone can have the faults before its assignment.
 */
#ifndef BRIG_TEMPLATE_HOT_PAGES_H
#define BRIG_TEMPLATE_HOT_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOT_PAGES_MAX 4096

/* Numbers of pages, in ascending order: those that are written to, then those that are read. */
struct hot_pages {
	size_t count;
	uint64_t pages[HOT_PAGES_MAX];
};

/* In a child: writes the numbers of its own pages to the pipe. 0 or -errno. */
int hot_pages_report(int pipe);
/*
 * In the template: the report of a child. 0; -ETIME: it has not ended in this time; -E2BIG: it has
 * more pages than that; -ENODATA: it ended without a report; -errno.
 */
int hot_pages_read(int pipe, unsigned wait_ms, struct hot_pages *ret);
/* Keeps those that are in the other as well. */
void hot_pages_intersect(struct hot_pages *pages, const struct hot_pages *other);
/* An address in each window that is read: how many. */
size_t hot_pages_read_ones(const struct hot_pages *pages, const volatile char **ret, size_t room);
/* For the rest of the template's life. The number of pages, or -errno: the host refuses it. */
int hot_pages_pin(const struct hot_pages *pages);
#endif
