/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking what a payload left behind, as hostile as it likes: links, fifos, sockets, devices,
 * names that are no text, trees of any depth. Nothing is followed; every step is by dirfd.
 * Call only when every process of the cell is dead.
 */
#ifndef BRIG_RUN_WALK_H
#define BRIG_RUN_WALK_H

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

/* A walk in steps, each of a few names: for whoever has others to serve meanwhile. */
int walk_new(int root, struct walk **ret);
void walk_free(struct walk *walk);
/* 1: an entry, which holds until the next call; 2: none yet; 0: that was all; -errno. */
int walk_next(struct walk *walk, struct walk_entry *ret);
const struct walk_report *walk_report_of(const struct walk *walk);
/* How many names it has read so far, also those that are no entries: that is what it costs. */
unsigned walk_names(const struct walk *walk);

/* A regular file for reading, whatever its mode; -errno when it is anything else. */
int walk_open(const struct walk_entry *entry);
#endif
