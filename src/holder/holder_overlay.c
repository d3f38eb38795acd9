/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A private view of shared files (the layer overlay): an overlay above each directory of the host
 * that the cell uses, before anything is bound from it. Its inodes belong to this cell alone, so
 * locks, leases, watches and sockets of the host are out of reach. Only async-signal-safe calls:
 * see holder.c.
 */
#include <errno.h>
#include <string.h>
#include <sys/mount.h>

#include "holder/holder.h"

static bool makes_layer(const struct holder_start *start)
{
	/* A kernel that emulates has locks and watches of its own, and opens no sockets. */
	return (start->spec->layers & LAYER_BIT(LAYER_OVERLAY)) != 0 && !start->emulated;
}

int holder_overlay(const struct holder_start *start, const char *path)
{
	static const char begin[] = "lowerdir=" HOLDER_EMPTY ":";
	char options[HOLDER_PATH_MAX];

	if (!makes_layer(start)) {
		return 0;
	}
	if (sizeof(begin) + strlen(path) > sizeof(options)) {
		return -ENAMETOOLONG;
	}
	stpcpy(stpcpy(options, begin), path);
	/* As in a native cell: see step_overlay(). */
	return mount("brig", path, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, options) < 0
		       ? -errno
		       : 0;
}

int holder_overlay_host(const struct holder_start *start)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < start->plan->count; i++) {
		const struct step *step = &start->plan->steps[i];
		/* The others are relative: mounted directories of the caller. */
		if (step->kind == STEP_OVERLAY && step->overlay.target[0] == '/') {
			r = holder_overlay(start, step->overlay.target);
		}
	}
	return r;
}
