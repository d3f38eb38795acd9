/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of the cell's pid 1 that do not concern files: identity, keyring, clocks. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/caps.h"
#include "kernel/process.h"
#include "kernel/sys.h"
#include "native/cell/cell.h"
#include "native/plan/step_members.h"

/* Waits for the warden's next record, which must be of this kind. */
static int receive_record(struct cell *cell, enum wire_kind kind, int fds[WIRE_FDS_MAX],
			  unsigned *count, uint32_t *value)
{
	struct pollfd ready = { .fd = cell->control, .events = POLLIN };
	struct wire_record record = { 0 };

	while (poll(&ready, 1, -1) < 0) {
		if (errno != EINTR) {
			return -errno;
		}
	}
	int r = wire_receive(cell->control, &record, fds, count);
	*value = record.value;
	return r == 1 && record.kind == (uint32_t)kind ? 0 : -ECANCELED;
}

/*
 * The kernel checks the opener of the file (since the fix of CVE-2021-4197): unless that is root,
 * the joining process must open it.
 */
static int open_tasks(int *fd)
{
	int tasks = openat(*fd, "tasks", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	if (tasks < 0) {
		return -errno;
	}
	close(*fd);
	*fd = tasks;
	return 0;
}

/* Each process writes "0" itself: a pid written by another process stalls for milliseconds. */
int step_join(struct cell *cell, const struct step *step)
{
	int fds[WIRE_FDS_MAX];
	unsigned count = 0;
	uint32_t directories = 0;
	int r = receive_record(cell, WIRE_GROUP, fds, &count, &directories);

	(void)step;
	for (unsigned i = 0; i < count; i++) {
		r = r == 0 && directories ? open_tasks(&fds[i]) : r;
		if (r == 0 && write(fds[i], "0", 1) != 1) {
			r = -errno;
		}
		close(fds[i]);
	}
	return r == 0 && count == 0 ? -ECANCELED : r;
}

int step_await(struct cell *cell, const struct step *step)
{
	int fds[WIRE_FDS_MAX];
	unsigned count = 0;

	(void)step;
	/* Done in time that would be spent waiting: the payload inherits the signals. */
	int r = process_reset_signals();
	if (r < 0) {
		return r;
	}
	uint32_t none;
	return receive_record(cell, WIRE_RELEASE, fds, &count, &none);
}

static int write_self(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0) {
		return -errno;
	}
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

int step_selfmap(struct cell *cell, const struct step *step)
{
	int r = write_self("/proc/self/setgroups", "deny");

	(void)cell;
	if (r < 0) {
		return r;
	}
	r = write_self("/proc/self/uid_map", step->selfmap.line);
	return r < 0 ? r : write_self("/proc/self/gid_map", step->selfmap.line);
}

#define KEPT_MAX (PLAN_STEPS_MAX + 9)

/* The descriptors that the set-up still needs. */
static unsigned kept_fds(const struct cell *cell, int kept[KEPT_MAX])
{
	const int own[] = { cell->stdio[0], cell->stdio[1],   cell->stdio[2],
			    cell->control,  cell->value_fd,   cell->assignment_fd,
			    cell->go[0],    cell->channel_fd, cell->init_image };
	unsigned count = 0;

	_Static_assert(ARRAY_SIZE(own) + PLAN_STEPS_MAX <= KEPT_MAX, "room for all");
	for (unsigned i = 0; i < ARRAY_SIZE(own); i++) {
		if (own[i] >= 0) {
			kept[count++] = own[i];
		}
	}
	for (unsigned i = 0; i < cell->plan->count; i++) {
		int fd = step_fd(&cell->plan->steps[i]);
		if (fd >= 0) {
			kept[count++] = fd;
		}
	}
	return count;
}

/* Closes the gaps between the descriptors that are needed; 0 to 2 too, unless they are needed. */
int step_close(struct cell *cell, const struct step *step)
{
	int kept[KEPT_MAX];
	unsigned count = kept_fds(cell, kept);
	unsigned next = 0;

	(void)step;
	for (;;) {
		int keep = -1;
		/* the smallest kept fd that is not below `next` */
		for (unsigned i = 0; i < count; i++) {
			if (kept[i] >= (int)next && (keep < 0 || kept[i] < keep)) {
				keep = kept[i];
			}
		}
		unsigned last = keep < 0 ? ~0u : (unsigned)keep - 1;
		if (keep != (int)next) {
			int r = sys_close_range(next, last, 0);
			if (r < 0) {
				return r;
			}
		}
		if (keep < 0) {
			return 0;
		}
		next = (unsigned)keep + 1;
	}
}

int step_become(struct cell *cell, const struct step *step)
{
	(void)cell;
	/* The umask is the host program's: brig's modes must apply as written. */
	umask(0);
	/*
	 * Raw system calls: the C library's functions would signal the host's other threads, under
	 * a lock.
	 */
	if (syscall(SYS_setresgid, 0, 0, 0) < 0) {
		return -errno;
	}
	/* Where setgroups is denied (an ordinary user's map), no group can be gained anyway. */
	if (step->become.may_setgroups && syscall(SYS_setgroups, 0, NULL) < 0) {
		return -errno;
	}
	if (syscall(SYS_setresuid, 0, 0, 0) < 0) {
		return -errno;
	}
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

/* Settings of our own user namespace, through the host's /proc while it is still mounted. */
int step_counts(struct cell *cell, const struct step *step)
{
	_cleanup_close_ int fd = open(step->counts.file, O_WRONLY | O_CLOEXEC);

	(void)cell;
	if (fd < 0) {
		/* Kernels without the setting, and containers that lock it, are no error. */
		return errno == ENOENT || errno == EROFS || errno == EACCES ? 0 : -errno;
	}
	return write(fd, step->counts.content, strlen(step->counts.content)) < 0 ? -errno : 0;
}

int step_keyring(struct cell *cell, const struct step *step)
{
	(void)cell;
	(void)step;
	int r = sys_keyctl_join_session();
	/* A kernel without keyrings has none to share. */
	return r == -ENOSYS ? 0 : r < 0 ? r : 0;
}

/* Not before it is inside the group: a namespace made at the clone would show the group's name. */
int step_cgroupns(struct cell *cell, const struct step *step)
{
	(void)cell;
	(void)step;
	return unshare(CLONE_NEWCGROUP) < 0 ? -errno : 0;
}

int step_hostname(struct cell *cell, const struct step *step)
{
	(void)cell;
	if (sethostname(step->hostname.name, strlen(step->hostname.name)) < 0) {
		return -errno;
	}
	return setdomainname("(none)", 6) < 0 ? -errno : 0;
}

/* Decimal without stdio; returns the new end. */
static char *put_number(char *at, int64_t value)
{
	char digits[20];
	unsigned n = 0;
	uint64_t rest = value < 0 ? (uint64_t)-value : (uint64_t)value;

	if (value < 0) {
		*at++ = '-';
	}
	do {
		digits[n++] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	while (n) {
		*at++ = digits[--n];
	}
	return at;
}

static char *put_offset(char *at, const char *clock_name, clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	at = stpcpy(at, clock_name);
	*at++ = ' ';
	at = put_number(at, -(int64_t)now.tv_sec);
	return stpcpy(at, " 0\n");
}

int clocks_begin(void)
{
	char text[96];
	char *at = text;

	if (unshare(CLONE_NEWTIME) < 0) {
		return -errno;
	}
	at = put_offset(at, "monotonic", CLOCK_MONOTONIC);
	at = put_offset(at, "boottime", CLOCK_BOOTTIME);
	/*
	 * /proc/self can be opened only while we are dumpable (proc(5)); there is no payload yet
	 * that could read it.
	 */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0) {
		return -errno;
	}
	_cleanup_close_ int fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	int saved = errno;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) {
		return -errno;
	}
	if (fd < 0) {
		return -saved;
	}
	return write(fd, text, (size_t)(at - text)) < 0 ? -errno : 0;
}

/* Only children that do not share our memory begin with the new clocks (timens_on_fork()). */
static int enter_time(void)
{
	_cleanup_close_ int fd = open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		return -errno;
	}
	return setns(fd, CLONE_NEWTIME) < 0 ? -errno : 0;
}

/* Hides the host's uptime. */
int step_time(struct cell *cell, const struct step *step)
{
	int r = clocks_begin();

	(void)step;
	return r == 0 && cell->twin ? enter_time() : r;
}

int step_seal(struct cell *cell, const struct step *step)
{
	if (step->seal.drop_caps) {
		int r = caps_drop_all();
		if (r < 0) {
			return r;
		}
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		return -errno;
	}
	/*
	 * It is the memory that is dumpable. Where that will be the payload's, brig-init's own
	 * program does this.
	 */
	return !cell->twin && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}
