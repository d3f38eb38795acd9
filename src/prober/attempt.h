/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts what a question names: see attempt.c. */
#ifndef BRIG_PROBER_ATTEMPT_H
#define BRIG_PROBER_ATTEMPT_H

#include "prober/path_walk.h"

/* The result of an attempt: 0 or an errno, and how it was found. */
struct attempt {
	int errnum;
	enum prober_means means;
};
/* `own` is the device number of the cell's own tmpfs. */
struct attempt attempt(enum prober_wish wish, const char *path, const struct path_walk *walk,
		       dev_t own);

/* A file, with the directories above it, made where a walk ended: see made_file.c. */
#define MADE_DEPTH_MAX 32
struct made_file {
	int dirs[MADE_DEPTH_MAX + 1]; /* owned, but for the first */
	char names[MADE_DEPTH_MAX + 1][NAME_MAX + 1];
	unsigned depth;
	bool file;
};
/* 0, or an errno and nothing is left. */
int made_file_create(const struct path_walk *walk, struct made_file *ret);
void made_file_remove(struct made_file *made);
#endif
