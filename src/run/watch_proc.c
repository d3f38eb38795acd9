/* SPDX-License-Identifier: Apache-2.0 */
/* Summing /proc: see watch_proc.h. */
#include "run/watch_proc.h"

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
#define INIT_PID      1    /* brig-init: its own time is brig's, but it waits for orphans */

struct look {
	struct proc_seen *seen; /* owned */
	size_t count, capacity;
	uint64_t ticks;
	bool partial; /* something that is there could not be read */
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

/* Grown by doubling; without memory the process is summed all the same, but not remembered. */
static void remember(struct look *look, const struct proc_seen *seen)
{
	if (look->count == look->capacity) {
		size_t capacity = look->capacity ? look->capacity * 2 : 16;
		struct proc_seen *list = realloc(look->seen, capacity * sizeof(*list));
		if (!list) {
			look->partial = true;
			return;
		}
		look->seen = list;
		look->capacity = capacity;
	}
	look->seen[look->count++] = *seen;
}

/* What stands behind the last ')': the program chooses its own name, brackets and all. */
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

static void add_stat(struct look *look, uint64_t pid, const char *text)
{
	uint64_t utime, stime, start, cutime, cstime, threads;

	if (!stat_field(text, STAT_UTIME, &utime) || !stat_field(text, STAT_STIME, &stime) ||
	    !stat_field(text, STAT_CUTIME, &cutime) || !stat_field(text, STAT_CSTIME, &cstime) ||
	    !stat_field(text, STAT_THREADS, &threads) || !stat_field(text, STAT_START, &start)) {
		look->partial = true;
		return;
	}
	struct proc_seen seen = { .pid = pid,
				  .start = start,
				  .own = pid == INIT_PID ? 0 : utime + stime,
				  .waited = (uint64_t)cutime + (uint64_t)cstime };
	look->sum.tasks += pid == INIT_PID ? 0 : (uint64_t)threads;
	look->ticks += seen.own + seen.waited;
	remember(look, &seen);
}

/*
 * What the process made itself: not what it maps from files. Shared memory counts once for each.
 * At the start of a line, because the first line is a name that the program chooses.
 */
static bool add_memory(struct look *look, const char *text)
{
	static const char *const kinds[] = { "\nRssAnon:", "\nRssShmem:", "\nVmPTE:", "\nVmSwap:" };
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *at = strstr(text, kinds[i]);
		if (at) {
			any = true;
			look->sum.memory_bytes += strtoull(at + strlen(kinds[i]), NULL, 10) * 1024u;
		}
	}
	return any;
}

static DIR *open_list(int proc, const char *path)
{
	_cleanup_close_ int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir) {
		(void)TAKE_FD(fd); /* closedir does it */
	}
	return dir;
}

/* A first thread that has ended shows no memory, though the others still have it all. */
static void add_memory_by_thread(struct look *look, int proc, const char *pid)
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
		found = read_small(proc, path, text, sizeof(text)) == 0 && add_memory(look, text);
	}
	if (dir) {
		closedir(dir);
	}
}

/*
 * brig-init hides from an ordinary user in the cell's /proc, because it cannot be traced; the
 * warden's own /proc shows it, if that belongs to the warden's pid namespace: its parent tells.
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

static void add_init(struct look *look, int proc, pid_t init)
{
	char text[4096];

	if (read_own_init(init, text, sizeof(text)) ||
	    read_small(proc, "1/stat", text, sizeof(text)) == 0) {
		add_stat(look, INIT_PID, text);
	}
}

static void add_process(struct look *look, int proc, const char *pid)
{
	char path[64], text[4096];

	snprintf(path, sizeof(path), "%.20s/stat", pid);
	int r = read_small(proc, path, text, sizeof(text));
	if (r < 0) {
		look->partial |= r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -EINTR;
		return;
	}
	add_stat(look, strtoull(pid, NULL, 10), text);
	snprintf(path, sizeof(path), "%.20s/status", pid);
	if (read_small(proc, path, text, sizeof(text)) == 0 && !add_memory(look, text)) {
		add_memory_by_thread(look, proc, pid);
	}
}

static int by_pid(const void *a, const void *b)
{
	uint64_t left = ((const struct proc_seen *)a)->pid;
	uint64_t right = ((const struct proc_seen *)b)->pid;

	return left < right ? -1 : left > right;
}

/* What is gone since the last look, and what more is waited for; both in ticks. */
static void compare(const struct proc_memory *memory, const struct look *look, uint64_t *gone,
		    uint64_t *waited)
{
	size_t i = 0;

	*gone = *waited = 0;
	for (size_t j = 0; j < look->count; j++) {
		const struct proc_seen *now = &look->seen[j];

		for (; i < memory->count && memory->seen[i].pid < now->pid; i++) {
			*gone += memory->seen[i].own + memory->seen[i].waited;
		}
		/* Who is new cannot have waited for anybody older. */
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
 * Who was waited for shows in the parent's figures, with at least what was last seen of it. The
 * rest of what is gone is lost, but only at the look after: a look is no instant, and the parent
 * may have been read before its child ended.
 */
static void settle(struct proc_memory *memory, struct look *look)
{
	uint64_t gone, waited;

	if (look->count) {
		qsort(look->seen, look->count, sizeof(*look->seen), by_pid);
	}
	compare(memory, look, &gone, &waited);
	uint64_t found = waited < memory->missing ? waited : memory->missing;
	memory->lost += memory->missing - found;
	waited -= found;
	memory->missing = gone > waited ? gone - waited : 0;
	free(memory->seen);
	memory->seen = TAKE_PTR(look->seen);
	memory->count = look->count;
}

void proc_usage(int proc, pid_t init, struct proc_memory *memory, struct proc_usage *ret)
{
	struct look look = { 0 };
	DIR *dir = open_list(proc, ".");
	unsigned seen = 0;

	look.partial = !dir;
	/* First, as the kernel lists parents before children: what ends meanwhile counts once. */
	add_init(&look, proc, init);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    strcmp(entry->d_name, "1") == 0) {
			continue;
		}
		if (seen++ == PROCESSES_MAX) {
			look.partial = true;
			break;
		}
		add_process(&look, proc, entry->d_name);
	}
	if (dir) {
		closedir(dir);
	}
	/*
	 * Who was not seen is not gone for that: the last whole look stays what is compared with.
	 */
	if (!look.partial) {
		settle(memory, &look);
	}
	free(look.seen);
	look.sum.cpu_ns =
		(look.ticks + memory->lost) * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	*ret = look.sum;
}

void proc_memory_done(struct proc_memory *memory)
{
	free(memory->seen);
	*memory = (struct proc_memory){ 0 };
}
