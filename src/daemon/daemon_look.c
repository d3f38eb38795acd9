/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container as the kernel shows it, when its agent is ready and before there is a program: its
 * mounts, and the privileges of its first process. The operator's image, the daemon's settings and
 * the mounts of the host decide about both, and the daemon's answers name neither.
 *
 * These files of /proc are open to all, so brig needs no right to trace the process. A runtime with
 * a kernel of its own has no such process: then the operator must have named that runtime.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/daemon.h"
#include "kernel/mountinfo.h"

/* A line is about a hundred bytes, and a language has some hundred files. */
#define FILE_BYTES  1048576u
#define LINES_MAX   8192u
#define SMALL_BYTES 1048576u
#define PROGRAM_ID  1000u
#define AGENT_NAME  "brig-agent" /* as the kernel names its process */

struct sight {
	const struct daemon_cell *cell;
	uint64_t disk_bytes; /* of each place */
	char *why;
	size_t size;
};

static int complain(const struct sight *sight, const char *what, const char *wrong)
{
	snprintf(sight->why, sight->size, "%.200s %s", what, wrong);
	return -ENOTSUP;
}

/* With a NUL at its end. -EFBIG: it is too long to be right. */
static int read_of(pid_t pid, const char *name, struct buf *ret)
{
	char path[64], chunk[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return -errno;
	}
	while ((n = read(fd, chunk, sizeof(chunk))) > 0 && ret->size <= FILE_BYTES) {
		buf_add(ret, chunk, (size_t)n);
	}
	if (n < 0 || ret->failed || ret->size > FILE_BYTES) {
		return n < 0 ? -errno : ret->failed ? -ENOMEM : -EFBIG;
	}
	return ret->size ? 0 : -ENODATA;
}

/* --- mounts ----------------------------------------------------------------------------------- */

enum use {
	USE_PROGRAM, /* the program's, with the limit of the disk */
	USE_ROOT,    /* of the container's root, who is not there; or small */
	USE_KERNEL,  /* no files are kept there */
};

/* The places that may be mounted for writing, and how daemons mount them. */
static const struct {
	const char *path, *type;
	enum use use;
} places[] = {
	{ "/sandbox", "tmpfs", USE_PROGRAM },
	{ "/tmp", "tmpfs", USE_PROGRAM },
	{ "/dev/shm", "tmpfs", USE_PROGRAM },
	{ "/proc", "proc", USE_KERNEL },
	{ "/dev", "tmpfs", USE_ROOT },
	{ "/dev/pts", "devpts", USE_KERNEL },
	{ "/dev/mqueue", "mqueue", USE_KERNEL },
	/* The directories of version 1: with crun (1.8) all may write there, a megabyte. */
	{ "/sys/fs/cgroup", "tmpfs", USE_ROOT },
};

/* With ids of its own a container has the host's devices, each bound. */
static const char *const devices[] = { "null", "zero", "full", "random", "urandom", "tty" };

/* "size=64k": the kernel writes it in KiB, unless it is half of the memory. */
static uint64_t size_of(const struct mountinfo *line)
{
	const char *at = line->rest, *end = at + strcspn(at, "\n");
	struct sysinfo host;

	while ((at = strstr(at, "size=")) && at < end) {
		if (at[-1] == ',') {
			return strtoull(at + strlen("size="), NULL, 10) * 1024;
		}
		at++;
	}
	return sysinfo(&host) < 0 ? UINT64_MAX : (uint64_t)host.totalram * host.mem_unit / 2;
}

static bool is_too_large(const struct sight *sight, const struct mountinfo *line, enum use use)
{
	const char *mode = strstr(line->rest, ",mode=755");

	switch (use) {
	case USE_PROGRAM:
		return size_of(line) > sight->disk_bytes;
	case USE_ROOT:
		return (!mode || mode > line->rest + strcspn(line->rest, "\n")) &&
		       size_of(line) > SMALL_BYTES;
	default:
		return false;
	}
}

/* "/dev/null" over a file that would show something of the host. */
static bool is_mask(const struct mountinfo *line)
{
	return mountinfo_is_in(line->place, "proc") &&
	       (strcmp(line->root, "/null") == 0 || strcmp(line->root, "/dev/null") == 0);
}

static bool is_device(const struct mountinfo *line)
{
	size_t prefix = strlen("/dev/");

	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		if (strncmp(line->place, "/dev/", prefix) == 0 &&
		    strcmp(line->place + prefix, devices[i]) == 0) {
			return mountinfo_is_type(line, "devtmpfs") ||
			       mountinfo_is_type(line, "tmpfs");
		}
	}
	return false;
}

/* NULL: it is right. */
static const char *writable_wrong(const struct sight *sight, const struct mountinfo *line)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (strcmp(places[i].path, line->place) != 0) {
			continue;
		}
		if (!mountinfo_is_type(line, places[i].type)) {
			return "can be written, and is another file system";
		}
		return is_too_large(sight, line, places[i].use) ? "is larger than it may be" : NULL;
	}
	return is_mask(line) || is_device(line) ? NULL : "can be written";
}

/* A mount of the host beneath a bound directory: the language's files do not name it. */
static bool is_beneath(const struct plan *plan, const char *place)
{
	bool beneath = false;

	for (unsigned i = 0; i < plan->count; i++) {
		const struct step *step = &plan->steps[i];
		if (step->kind == STEP_BIND && mountinfo_is_in(place, step->bind.target)) {
			if (strcmp(place + 1, step->bind.target) == 0) {
				return false;
			}
			beneath = true;
		}
	}
	return beneath;
}

static const char *mount_wrong(const struct sight *sight, const struct mountinfo *line)
{
	if (!mountinfo_is_fixed(line)) {
		return writable_wrong(sight, line);
	}
	/* An operator's image has files of its own, and no binds of the language's. */
	return !sight->cell->agent_path && is_beneath(&sight->cell->plan, line->place)
		       ? "is a mount of the host beneath a bound directory"
		       : NULL;
}

static int check_mounts(const struct sight *sight, const char *text)
{
	unsigned count = 0;

	for (const char *at = text; *at; at = mountinfo_next(at)) {
		struct mountinfo line = { .place = "a line of mountinfo" };
		const char *wrong = ++count > LINES_MAX          ? "is one too many"
				    : !mountinfo_read(at, &line) ? "is not known"
								 : mount_wrong(sight, &line);
		if (wrong) {
			return complain(sight, line.place, wrong);
		}
	}
	return count > 0 ? 0 : complain(sight, "the list of mounts", "is empty");
}

/* --- privileges ------------------------------------------------------------------------------- */

/* The value of a line of /proc/PID/status; NULL: there is no such line. */
static const char *value_of(const char *status, const char *name)
{
	char begin[32];

	snprintf(begin, sizeof(begin), "\n%s:\t", name);
	const char *at = strstr(status, begin);
	return at ? at + strlen(begin) : NULL;
}

static bool take_number(const char **at, uint64_t *ret)
{
	char *end = NULL;

	*ret = strtoull(*at, &end, 10);
	bool taken = end != *at;
	*at = end;
	return taken;
}

/* The user of the program, as it is seen from here: lines of "INSIDE OUTSIDE COUNT". */
static uint64_t user_outside(const char *map)
{
	uint64_t inside, outside, count;

	while (take_number(&map, &inside) && take_number(&map, &outside) &&
	       take_number(&map, &count)) {
		if (PROGRAM_ID >= inside && PROGRAM_ID - inside < count) {
			return outside + (PROGRAM_ID - inside);
		}
	}
	return UINT64_MAX;
}

static bool has_users(const char *text, uint64_t user)
{
	char *end = NULL;

	for (int i = 0; text && i < 4; i++, text = end) {
		if (strtoull(text, &end, 10) != user || end == text) {
			return false;
		}
	}
	return text != NULL;
}

static int check_privileges(const struct sight *sight, const char *status, const char *map)
{
	static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		const char *at = value_of(status, sets[i]);
		if (!at || strtoull(at, NULL, 16) != 0) {
			return complain(sight, sets[i], "is not empty");
		}
	}
	const char *locked = value_of(status, "NoNewPrivs");
	if (!locked || locked[0] != '1') {
		return complain(sight, "NoNewPrivs", "is not set");
	}
	return has_users(value_of(status, "Uid"), user_outside(map))
		       ? 0
		       : complain(sight, "the agent's user", "is not the one that brig asked for");
}

/* --- all of it -------------------------------------------------------------------------------- */

int daemon_look_at(const struct daemon_cell *cell, uint64_t disk_bytes,
		   const struct daemon_seen *seen, char *why, size_t size)
{
	const struct sight sight = { cell, disk_bytes, why, size };
	const char *begin = "Name:\t" AGENT_NAME "\n";

	if (strncmp(seen->status, begin, strlen(begin)) != 0) {
		return cell->settings && cell->settings->runtime
			       ? 0
			       : complain(&sight, "its first process", "is not brig's agent");
	}
	int r = check_privileges(&sight, seen->status, seen->users);
	return r < 0 ? r : check_mounts(&sight, seen->mounts);
}

/* Its number may be another process's by now. */
static bool has_ended(const struct daemon_cell *cell)
{
	struct pollfd end = { .fd = cell->pidfd, .events = POLLIN };

	return poll(&end, 1, 0) != 0;
}

int daemon_look(struct daemon_cell *cell, uint64_t disk_bytes)
{
	_cleanup_(buf_done)
	struct buf mounts = { 0 };
	_cleanup_(buf_done)
	struct buf status = { 0 };
	_cleanup_(buf_done)
	struct buf users = { 0 };
	char why[256] = "it cannot be seen in /proc";

	int r = read_of(cell->pid, "mountinfo", &mounts);
	r = r < 0 ? r : read_of(cell->pid, "status", &status);
	r = r < 0 ? r : read_of(cell->pid, "uid_map", &users);
	if (r == 0 && mounts.data && status.data && users.data) {
		const struct daemon_seen seen = { mounts.data, status.data, users.data };
		r = daemon_look_at(cell, disk_bytes, &seen, why, sizeof(why));
	}
	if (has_ended(cell)) {
		return 0; /* that is reported */
	}
	if (r == 0) {
		return 1;
	}
	r = error_set(&cell->err, BRIG_E_HOST, -r,
		      "the container by %s has other walls than brig asked for: %s",
		      cell->kind->title, why);
	error_remedy(&cell->err,
		     cell->agent_path ? "use an image without volumes, and a daemon without mounts "
					"or privileges of its own for containers"
				      : "unmount what is mounted beneath the language's "
					"directories, and see the daemon's settings; a runtime "
					"with a kernel of its own has to be named in the policy");
	return r;
}
