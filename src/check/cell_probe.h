/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions about files, and the answers of the kernel in a real cell. All questions of a call are
 * asked in one cell; those about writing to a host directory in a second one, since only that one
 * mounts it for writing.
 */
#ifndef BRIG_CHECK_CELL_PROBE_H
#define BRIG_CHECK_CELL_PROBE_H

#include <brig/brig.h>
#include <stdbool.h>
#include <stddef.h>

#include "prober/prober.h"

struct check;

struct probe {
	enum prober_wish wish;
	const char *path; /* borrowed */
	bool answered;
	bool ended; /* the attempt ended the program: there is no answer */
	struct prober_answer answer;
};

struct probes {
	struct probe *items; /* owned */
	size_t count, room;
};
void probes_done(struct probes *probes);
/* The place of this question: a new one, or that of the same question before. */
int probes_add(struct probes *probes, enum prober_wish wish, const char *path, size_t *ret,
	       struct brig_error *err);

/* Asks this question, and with it all that are not answered yet. */
int probe_ask(struct check *check, size_t place, struct brig_error *err);
/* The mount of the policy that a path names by its text: its place there; -1: none. */
int probe_mount(const struct check *check, const char *path);
/* "NAME" of "/mnt/NAME/..."; false: another path. */
bool probe_mount_name(const char *path, char ret[65]);

/*
 * One cell: asks the questions in their order, and returns how many were answered; at least one, or
 * -errno. Private to probe*.c.
 */
int probe_cell(struct check *check, struct probe *const *list, size_t count,
	       struct brig_error *err);
#endif
