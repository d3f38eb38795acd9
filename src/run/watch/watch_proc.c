/* SPDX-License-Identifier: Apache-2.0 */
/* Sums the figures in /proc: see watch_proc.h. */
#include "run/watch/watch_proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/sys.h"

#define PROCESSES_MAX 4096 /* more than any policy's limit on processes allows */
#define INIT_PID      1    /* brig-init: its own time counts for brig, but it waits for orphans */

struct proc_scan {
	struct proc_seen *seen; /* owned */
	size_t count, capacity;
	uint64_t ticks;
	bool partial; /* an existing process could not be read */
	struct proc_usage sum;
};

static int read_small(int proc, const char *path, char *text, size_t size)
{
	_cleanup_close_ int fd = openat(proc, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
	if (n < 0) {
		return -errno;
	}
	text[n] = '\0';
	return 0;
}

/* Grown by doubling; without memory the process is counted, but not remembered. */
static void remember(struct proc_scan *scan, const struct proc_seen *seen)
{
	if (scan->count == scan->capacity) {
		size_t capacity = scan->capacity ? scan->capacity * 2 : 16;
		struct proc_seen *list = realloc(scan->seen, capacity * sizeof(*list));
		if (!list) {
			scan->partial = true;
			return;
		}
		scan->seen = list;
		scan->capacity = capacity;
	}
	scan->seen[scan->count++] = *seen;
}

/* Fields after the last ')': the program chooses its own name, which may contain brackets. */
enum stat_field {
	STAT_PARENT = 1,
	STAT_UTIME = 11,
	STAT_STIME = 12,
	STAT_CUTIME = 13,
	STAT_CSTIME = 14,
	STAT_THREADS = 17,
	STAT_START = 19,
};

static bool stat_field(const char *text, enum stat_field field, uint64_t *ret)
{
	const char *at = strrchr(text, ')');
	char *end = NULL;

	at = at ? strchr(at, ' ') : NULL;
	for (unsigned i = 0; at && i < (unsigned)field; i++) {
		at = strchr(at + 1, ' ');
	}
	if (!at || at[1] < '0' || at[1] > '9') {
		return false;
	}
	errno = 0;
	*ret = strtoull(at + 1, &end, 10);
	return errno == 0;
}

static void add_stat(struct proc_scan *scan, uint64_t pid, const char *text)
{
	uint64_t utime, stime, start, cutime, cstime, threads;

	if (!stat_field(text, STAT_UTIME, &utime) || !stat_field(text, STAT_STIME, &stime) ||
	    !stat_field(text, STAT_CUTIME, &cutime) || !stat_field(text, STAT_CSTIME, &cstime) ||
	    !stat_field(text, STAT_THREADS, &threads) || !stat_field(text, STAT_START, &start)) {
		scan->partial = true;
		return;
	}
	struct proc_seen seen = { .pid = pid,
				  .start = start,
				  .own = pid == INIT_PID ? 0 : utime + stime,
				  .waited = (uint64_t)cutime + (uint64_t)cstime };
	scan->sum.tasks += pid == INIT_PID ? 0 : (uint64_t)threads;
	scan->ticks += seen.own + seen.waited;
	remember(scan, &seen);
}

/*
 * Memory of the process itself, without mapped files. Shared memory counts once for each process.
 * Matched at the start of a line, because the first line is a name that the program chooses.
 */
static bool add_memory(struct proc_scan *scan, const char *text)
{
	static const char *const kinds[] = { "\nRssAnon:", "\nRssShmem:", "\nVmPTE:", "\nVmSwap:" };
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *at = strstr(text, kinds[i]);
		if (at) {
			any = true;
			scan->sum.memory_bytes += strtoull(at + strlen(kinds[i]), NULL, 10) * 1024u;
		}
	}
	return any;
}

static DIR *open_list(int proc, const char *path)
{
	_cleanup_close_ int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir) {
		(void)TAKE_FD(fd); /* closedir closes it */
	}
	return dir;
}

/* A first thread that has ended shows no memory, though the other threads still have all of it. */
static void add_memory_by_thread(struct proc_scan *scan, int proc, const char *pid)
{
	char path[64], text[4096];
	bool found = false;

	snprintf(path, sizeof(path), "%.20s/task", pid);
	DIR *dir = open_list(proc, path);
	unsigned tried = 0;
	for (struct dirent *entry;
	     dir && !found && tried < PROCESSES_MAX && (entry = readdir(dir));) {
		if (entry->d_name[0] == '.' || strcmp(entry->d_name, pid) == 0) {
			continue;
		}
		tried++;
		snprintf(path, sizeof(path), "%.20s/task/%.20s/status", pid, entry->d_name);
		found = read_small(proc, path, text, sizeof(text)) == 0 && add_memory(scan, text);
	}
	if (dir) {
		closedir(dir);
	}
}

/*
 * brig-init is hidden from an ordinary user in the cell's /proc, because it cannot be traced. The
 * warden's own /proc shows it, if that belongs to the warden's pid namespace: its parent proves
 * that.
 */
static bool read_own_init(pid_t init, char *text, size_t size)
{
	char path[64];
	uint64_t parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", init);
	if (init <= 0 || read_small(AT_FDCWD, path, text, size) < 0) {
		return false;
	}
	return stat_field(text, STAT_PARENT, &parent) && parent == (uint64_t)getpid();
}

static void add_init(struct proc_scan *scan, int proc, pid_t init)
{
	char text[4096];

	if (read_own_init(init, text, sizeof(text)) ||
	    read_small(proc, "1/stat", text, sizeof(text)) == 0) {
		add_stat(scan, INIT_PID, text);
	}
}

static void add_process(struct proc_scan *scan, int proc, const char *pid)
{
	char path[64], text[4096];

	snprintf(path, sizeof(path), "%.20s/stat", pid);
	int r = read_small(proc, path, text, sizeof(text));
	if (r < 0) {
		scan->partial |= r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -EINTR;
		return;
	}
	add_stat(scan, strtoull(pid, NULL, 10), text);
	snprintf(path, sizeof(path), "%.20s/status", pid);
	if (read_small(proc, path, text, sizeof(text)) == 0 && !add_memory(scan, text)) {
		add_memory_by_thread(scan, proc, pid);
	}
}

static int by_pid(const void *a, const void *b)
{
	uint64_t left = ((const struct proc_seen *)a)->pid;
	uint64_t right = ((const struct proc_seen *)b)->pid;

	return left < right ? -1 : left > right;
}

/*
 * The time of processes that are gone since the last scan, and the time newly waited for; in ticks.
 */
static void sum_changes(const struct proc_memory *memory, const struct proc_scan *scan,
			uint64_t *gone, uint64_t *waited)
{
	size_t i = 0;

	*gone = *waited = 0;
	for (size_t j = 0; j < scan->count; j++) {
		const struct proc_seen *now = &scan->seen[j];

		for (; i < memory->count && memory->seen[i].pid < now->pid; i++) {
			*gone += memory->seen[i].own + memory->seen[i].waited;
		}
		/* A new process cannot have waited for an older one. */
		if (i < memory->count && memory->seen[i].pid == now->pid) {
			const struct proc_seen *then = &memory->seen[i++];
			if (then->start != now->start) {
				*gone += then->own + then->waited;
			} else if (now->waited > then->waited) {
				*waited += now->waited - then->waited;
			}
		}
	}
	for (; i < memory->count; i++) {
		*gone += memory->seen[i].own + memory->seen[i].waited;
	}
}

/*
 * A process that was waited for shows in its parent's figures, with at least the time last seen.
 * The rest of the time that is gone is lost, but only at the scan after: a scan takes time, and the
 * parent may have been read before its child ended.
 */
static void compare_scans(struct proc_memory *memory, struct proc_scan *scan)
{
	uint64_t gone, waited;

	if (scan->count) {
		qsort(scan->seen, scan->count, sizeof(*scan->seen), by_pid);
	}
	sum_changes(memory, scan, &gone, &waited);
	uint64_t found = waited < memory->missing ? waited : memory->missing;
	memory->lost += memory->missing - found;
	waited -= found;
	memory->missing = gone > waited ? gone - waited : 0;
	free(memory->seen);
	memory->seen = TAKE_PTR(scan->seen);
	memory->count = scan->count;
}

void proc_usage(int proc, pid_t init, struct proc_memory *memory, struct proc_usage *ret)
{
	struct proc_scan scan = { 0 };
	DIR *dir = open_list(proc, ".");
	unsigned seen = 0;

	scan.partial = !dir;
	/*
	 * First, as the kernel lists parents before children: a process that ends meanwhile counts
	 * once.
	 */
	add_init(&scan, proc, init);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    strcmp(entry->d_name, "1") == 0) {
			continue;
		}
		if (seen++ == PROCESSES_MAX) {
			scan.partial = true;
			break;
		}
		add_process(&scan, proc, entry->d_name);
	}
	if (dir) {
		closedir(dir);
	}
	/*
	 * A process that was not seen may still exist: the next scan is compared with the last
	 * complete one.
	 */
	if (!scan.partial) {
		compare_scans(memory, &scan);
	}
	free(scan.seen);
	scan.sum.cpu_ns =
		(scan.ticks + memory->lost) * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	*ret = scan.sum;
}

void proc_memory_done(struct proc_memory *memory)
{
	free(memory->seen);
	*memory = (struct proc_memory){ 0 };
}
