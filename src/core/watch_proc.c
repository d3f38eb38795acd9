/* Summing /proc: see watch_proc.h. */
#include "core/watch_proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/sys.h"

#define PROCESSES_MAX 4096 /* more than any policy's limit on processes allows */

static int read_small(int proc, const char *pid, const char *file, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "%.20s/%s", pid, file);
	_cleanup_close_ int fd = openat(proc, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
	if (n < 0) {
		return -1;
	}
	text[n] = '\0';
	return 0;
}

/* Fields behind the last ')': the program chooses its own name, brackets and all. */
static void add_stat(const char *text, struct proc_usage *sum)
{
	unsigned long long utime, stime;
	long long cutime, cstime, threads;
	const char *rest = strrchr(text, ')');

	if (rest && sscanf(rest + 1,
			   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld "
			   "%*d %*d %lld",
			   &utime, &stime, &cutime, &cstime, &threads) == 5) {
		uint64_t ticks = utime + stime + (uint64_t)cutime + (uint64_t)cstime;
		sum->cpu_ns += ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
		sum->tasks += (uint64_t)threads;
	}
}

/* Resident minus file-backed: what the process made itself. Shared memory counts once for each. */
static void add_memory(const char *text, struct proc_usage *sum)
{
	static const char *const kinds[] = { "RssAnon:", "RssShmem:", "VmPTE:" };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *at = strstr(text, kinds[i]);
		if (at) {
			sum->memory_bytes += strtoull(at + strlen(kinds[i]), NULL, 10) * 1024u;
		}
	}
}

void proc_usage(int proc, struct proc_usage *ret)
{
	char text[4096];
	unsigned seen = 0;
	DIR *dir = NULL;
	int fd = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*ret = (struct proc_usage){ 0 };
	if (fd >= 0 && !(dir = fdopendir(fd))) {
		close(fd);
	}
	for (struct dirent *entry; dir && seen < PROCESSES_MAX && (entry = readdir(dir));) {
		const char *pid = entry->d_name;
		if (pid[0] < '1' || pid[0] > '9' || strcmp(pid, "1") == 0) {
			continue; /* 1 is brig-init */
		}
		seen++;
		if (read_small(proc, pid, "stat", text, sizeof(text)) == 0) {
			add_stat(text, ret);
		}
		if (read_small(proc, pid, "status", text, sizeof(text)) == 0) {
			add_memory(text, ret);
		}
	}
	if (dir) {
		closedir(dir);
	}
}
