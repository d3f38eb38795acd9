/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the mounts of a cell, as /proc/PID/mountinfo lists them: nothing is mounted that is not of
 * the plan, and nothing can be written but what the plan says.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "kernel/mountinfo.h"
#include "launcher/launcher_provider.h"

enum mount_place {
	PLACE_STRANGE,
	PLACE_FIXED,    /* read-only */
	PLACE_FREE,     /* either way: it is no file system of the host */
	PLACE_WRITABLE, /* on the cell's tmpfs */
	PLACE_MOUNT,    /* a directory of the host that can be written */
};

static enum mount_place place_of(const struct plan *plan, const char *place)
{
	static const struct {
		const char *path;
		enum mount_place kind;
	} known[] = {
		{ "/", PLACE_FIXED },           { "/sandbox", PLACE_WRITABLE },
		{ "/tmp", PLACE_WRITABLE },     { "/dev/shm", PLACE_WRITABLE },
		{ "/dev/null", PLACE_FREE },    { "/dev/zero", PLACE_FREE },
		{ "/dev/full", PLACE_FREE },    { "/dev/random", PLACE_FREE },
		{ "/dev/urandom", PLACE_FREE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i].path, place) == 0) {
			return known[i].kind;
		}
	}
	if (mountinfo_is_in(place, "proc")) {
		return PLACE_FREE;
	}
	for (unsigned i = 0; i < plan->count; i++) {
		const struct step *step = &plan->steps[i];
		if (step->kind == STEP_BIND && mountinfo_is_in(place, step->bind.target)) {
			return PLACE_FIXED;
		}
		if (step->kind == STEP_MOUNT && mountinfo_is_in(place, step->mount.target)) {
			return step->mount.attributes & MOUNT_ATTR_RDONLY ? PLACE_FIXED
									  : PLACE_MOUNT;
		}
	}
	return PLACE_STRANGE;
}

static const char *complaint(const struct plan *plan, const struct mountinfo *line, dev_t work)
{
	switch (place_of(plan, line->place)) {
	case PLACE_FIXED:
		return mountinfo_is_fixed(line) ? NULL : "can be written";
	case PLACE_WRITABLE:
		/* Another file system would have no limit. */
		return makedev(line->major, line->minor) == work ? NULL : "is not brig's";
	case PLACE_FREE:
	case PLACE_MOUNT:
		return NULL;
	default:
		return "is mounted, but not in the plan";
	}
}

int launcher_check_mounts(struct run *run, const char *mountinfo, char *why, size_t size)
{
	const struct plan *plan = &held_of(run)->plan;
	struct stat work;
	unsigned count = 0;

	if (fstat(run->sandbox, &work) < 0) {
		return -errno;
	}
	for (const char *at = mountinfo; *at; at = mountinfo_next(at), count++) {
		struct mountinfo line = { .place = "a line of mountinfo" };
		const char *wrong = mountinfo_read(at, &line) ? complaint(plan, &line, work.st_dev)
							      : "is not known";
		if (wrong) {
			snprintf(why, size, "%.80s %s", line.place, wrong);
			return -EINVAL;
		}
	}
	return count > 0 ? 0 : -EINVAL;
}

/* The last one covers those before it. */
bool launcher_check_proc(const char *mountinfo)
{
	bool good = false;

	for (const char *at = mountinfo; *at; at = mountinfo_next(at)) {
		struct mountinfo line = { 0 };
		if (!mountinfo_read(at, &line)) {
			return false;
		}
		if (strcmp(line.place, "/proc") != 0) {
			continue;
		}
		const char *subset = strstr(line.rest, "subset=pid");
		good = mountinfo_is_type(&line, "proc") && subset &&
		       subset < line.rest + strcspn(line.rest, "\n");
	}
	return good;
}
