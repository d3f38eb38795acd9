/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of /proc/PID/mountinfo: the mounts of a process, as it sees them. */
#ifndef BRIG_KERNEL_MOUNTINFO_H
#define BRIG_KERNEL_MOUNTINFO_H

#include <stdbool.h>

/* ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS... - TYPE SOURCE OPTIONS */
struct mountinfo {
	unsigned major, minor;
	char root[4096]; /* of the mount, in its file system */
	char place[4096];
	char options[256];
	const char *rest; /* after " - "; ends at the end of the line */
};

/* The line that begins there. False: it cannot be read, which counts against it. */
bool mountinfo_read(const char *at, struct mountinfo *ret);
/* The line after it; "": there is none. */
const char *mountinfo_next(const char *at);
/* Is the mount read-only? */
bool mountinfo_is_fixed(const struct mountinfo *line);
/* Is it of a file system of this type? */
bool mountinfo_is_type(const struct mountinfo *line, const char *type);
/* Is `place` the directory "/target", or in it? */
bool mountinfo_is_in(const char *place, const char *target);

#endif
