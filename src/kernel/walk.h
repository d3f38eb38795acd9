/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the tree that a hostile payload left behind: links, fifos, sockets, devices, names that are
 * not text, trees of any depth. No link is followed; every step is relative to a directory
 * descriptor. Call only when every process of the cell is dead.
 */
#ifndef BRIG_KERNEL_WALK_H
#define BRIG_KERNEL_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

#define WALK_DEPTH_MAX   32
#define WALK_ENTRIES_MAX 100000

struct walk_entry {
	const char *path; /* relative to the start, checked by path_is_beneath */
	const char *name;
	int dir; /* its directory */
	const struct stat *stat;
};

struct walk_report {
	unsigned odd_names; /* entries with names that brig does not pass on */
	unsigned too_deep;
	bool too_many;
};

struct walk;

/* A walk in steps of a few names each, for a caller that serves other runs meanwhile. */
int walk_new(int root, struct walk **ret);
void walk_free(struct walk *walk);
/* 1: an entry, valid until the next call; 2: none in this step; 0: the end; -errno. */
int walk_next(struct walk *walk, struct walk_entry *ret);
const struct walk_report *walk_report_of(const struct walk *walk);
/* How many names it has read so far, also those that are no entries: the cost of the walk. */
unsigned walk_names(const struct walk *walk);

/* Opens a regular file for reading, whatever its mode; -errno for anything else. */
int walk_open(const struct walk_entry *entry);
#endif
