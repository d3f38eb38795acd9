/* SPDX-License-Identifier: Apache-2.0 */
/* Follows a path, one component at a time: see path_walk.c. */
#ifndef BRIG_PROBER_PATH_WALK_H
#define BRIG_PROBER_PATH_WALK_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "prober/prober.h"

struct path_walk {
	int fd; /* owned, O_PATH: the file, or the last directory that exists; -1: none */
	struct stat info;
	int errnum; /* of the component after it; 0: the path exists */
	bool depends;
	char name[NAME_MAX + 1];               /* that component */
	char rest[PROBER_PATH_MAX + PATH_MAX]; /* and the path after it */
};
void path_walk(const char *path, struct path_walk *ret);
void path_walk_done(struct path_walk *walk);
bool path_is_proc(int fd);
#endif
