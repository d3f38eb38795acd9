/* SPDX-License-Identifier: Apache-2.0 */
/* Memory figures from /proc: see bench_memory.h. */
#include "cli/bench/bench_memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PROCESSES_MAX 65536

struct process {
	pid_t pid, parent;
	bool inside; /* in a process namespace below ours */
	bool ours;   /* below this process */
};

struct processes {
	struct process *list; /* owned */
	size_t count, capacity;
};

static int read_file(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
	if (n < 0) {
		return -errno;
	}
	text[n] = '\0';
	return 0;
}

/* The number after a name at the start of a line; NULL: not found. */
static const char *field(const char *text, const char *name)
{
	char start[32];

	snprintf(start, sizeof(start), "\n%s:", name);
	const char *at = strstr(text, start);
	return at ? at + strlen(start) : NULL;
}

static unsigned words(const char *line)
{
	unsigned count = 0;
	bool in_word = false;

	for (; *line && *line != '\n'; line++) {
		bool blank = *line == ' ' || *line == '\t';
		count += !blank && !in_word;
		in_word = !blank;
	}
	return count;
}

static int add(struct processes *all, pid_t pid)
{
	char text[8192];

	if (all->count == PROCESSES_MAX || read_file(pid, "status", text, sizeof(text)) < 0) {
		return 0; /* ended in between */
	}
	const char *parent = field(text, "PPid"), *levels = field(text, "NSpid");
	if (!parent) {
		return 0;
	}
	if (all->count == all->capacity) {
		size_t capacity = all->capacity ? all->capacity * 2 : 256;
		struct process *list = reallocarray(all->list, capacity, sizeof(*list));
		if (!list) {
			return -ENOMEM;
		}
		all->list = list;
		all->capacity = capacity;
	}
	all->list[all->count++] = (struct process){
		.pid = pid,
		.parent = (pid_t)strtol(parent, NULL, 10),
		.inside = levels && words(levels) > 1,
		.ours = pid == getpid(),
	};
	return 0;
}

static int list_all(struct processes *all)
{
	DIR *dir = opendir("/proc");
	int r = 0;

	if (!dir) {
		return -errno;
	}
	for (struct dirent *entry; r == 0 && (entry = readdir(dir));) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);
		if (*end == '\0' && pid > 0) {
			r = add(all, (pid_t)pid);
		}
	}
	closedir(dir);
	return r;
}

static bool is_ours(const struct processes *all, pid_t pid)
{
	for (size_t i = 0; i < all->count; i++) {
		if (all->list[i].pid == pid) {
			return all->list[i].ours;
		}
	}
	return false;
}

/* Until no process is added: a child can have a lower number than its parent. */
static void mark_ours(struct processes *all)
{
	bool added = true;

	while (added) {
		added = false;
		for (size_t i = 0; i < all->count; i++) {
			struct process *process = &all->list[i];
			if (!process->ours && is_ours(all, process->parent)) {
				process->ours = added = true;
			}
		}
	}
}

static uint64_t kib_of(const char *text, const char *name)
{
	const char *at = field(text, name);

	return at ? strtoull(at, NULL, 10) * 1024u : 0;
}

static void sum(struct bench_memory_sum *into, pid_t pid)
{
	char text[4096];

	into->processes++;
	if (read_file(pid, "smaps_rollup", text, sizeof(text)) < 0) {
		into->unread++;
		return;
	}
	into->private_bytes += kib_of(text, "Private_Clean") + kib_of(text, "Private_Dirty");
	into->proportional_bytes += kib_of(text, "Pss");
	into->resident_bytes += kib_of(text, "Rss");
}

static void processes_done(struct processes *all)
{
	free(all->list);
}

int bench_memory_read(struct bench_memory *ret)
{
	_cleanup_(processes_done)
	struct processes all = { 0 };
	struct bench_memory memory = { 0 };
	int r = list_all(&all);

	if (r < 0) {
		return r;
	}
	mark_ours(&all);
	for (size_t i = 0; i < all.count; i++) {
		const struct process *process = &all.list[i];
		if (process->ours && process->pid != getpid()) {
			sum(process->inside ? &memory.cells : &memory.templates, process->pid);
		}
	}
	*ret = memory;
	return 0;
}
