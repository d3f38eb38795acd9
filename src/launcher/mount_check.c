/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the mounts of a cell, as /proc/PID/mountinfo lists them: nothing is mounted that is not of
 * the plan, and nothing can be written but what the plan says.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "launcher/launcher_provider.h"

/* ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS... - TYPE SOURCE OPTIONS */
struct line {
	unsigned major, minor;
	char place[512];
	char options[256];
	const char *rest; /* after " - "; ends at the end of the line */
};

enum mount_place {
	PLACE_STRANGE,
	PLACE_FIXED,    /* read-only */
	PLACE_FREE,     /* either way: it is no file system of the host */
	PLACE_WRITABLE, /* on the cell's tmpfs */
	PLACE_MOUNT,    /* a directory of the host that can be written */
};

/* The kernel writes blanks and the like as "\040". */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] && text[3]) {
			*to++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 +
				       (text[3] - '0'));
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/* A field of the line, counted from 0. False: there is none, or it is too long. */
static bool read_field(const char *at, unsigned number, char *ret, size_t size)
{
	for (; number > 0; number--) {
		at += strcspn(at, " \n");
		at += *at == ' ';
	}
	size_t length = strcspn(at, " \n");
	if (length == 0 || length >= size) {
		return false;
	}
	memcpy(ret, at, length);
	ret[length] = '\0';
	return true;
}

static bool read_device(const char *at, struct line *ret)
{
	char text[32], *end = NULL;

	if (!read_field(at, 2, text, sizeof(text))) {
		return false;
	}
	ret->major = (unsigned)strtoul(text, &end, 10);
	if (end == text || *end != ':') {
		return false;
	}
	const char *rest = end + 1;
	ret->minor = (unsigned)strtoul(rest, &end, 10);
	return end != rest && *end == '\0';
}

/* False: it cannot be read, which counts against it. */
static bool read_line(const char *at, struct line *ret)
{
	if (!read_device(at, ret) || !read_field(at, 4, ret->place, sizeof(ret->place)) ||
	    !read_field(at, 5, ret->options, sizeof(ret->options))) {
		return false;
	}
	const char *rest = strstr(at, " - ");
	if (!rest || rest > at + strcspn(at, "\n")) {
		return false;
	}
	ret->rest = rest + strlen(" - ");
	unescape(ret->place);
	return true;
}

static const char *next_line(const char *at)
{
	at += strcspn(at, "\n");
	return *at ? at + 1 : at;
}

/* Is `place` the directory "/target", or in it? */
static bool is_in(const char *place, const char *target)
{
	size_t length = strlen(target);

	return place[0] == '/' && strncmp(place + 1, target, length) == 0 &&
	       (place[1 + length] == '\0' || place[1 + length] == '/');
}

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
	if (is_in(place, "proc")) {
		return PLACE_FREE;
	}
	for (unsigned i = 0; i < plan->count; i++) {
		const struct step *step = &plan->steps[i];
		if (step->kind == STEP_BIND && is_in(place, step->bind.target)) {
			return PLACE_FIXED;
		}
		if (step->kind == STEP_MOUNT && is_in(place, step->mount.target)) {
			return step->mount.attributes & MOUNT_ATTR_RDONLY ? PLACE_FIXED
									  : PLACE_MOUNT;
		}
	}
	return PLACE_STRANGE;
}

static bool is_fixed(const char *options)
{
	return strncmp(options, "ro", 2) == 0 && (options[2] == ',' || options[2] == '\0');
}

static const char *complaint(const struct plan *plan, const struct line *line, dev_t work)
{
	switch (place_of(plan, line->place)) {
	case PLACE_FIXED:
		return is_fixed(line->options) ? NULL : "can be written";
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
	for (const char *at = mountinfo; *at; at = next_line(at), count++) {
		struct line line = { .place = "a line of mountinfo" };
		const char *wrong =
			read_line(at, &line) ? complaint(plan, &line, work.st_dev) : "is not known";
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

	for (const char *at = mountinfo; *at; at = next_line(at)) {
		struct line line = { 0 };
		if (!read_line(at, &line)) {
			return false;
		}
		if (strcmp(line.place, "/proc") != 0) {
			continue;
		}
		const char *subset = strstr(line.rest, "subset=pid");
		good = strncmp(line.rest, "proc ", 5) == 0 && subset &&
		       subset < line.rest + strcspn(line.rest, "\n");
	}
	return good;
}
