/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups whose creator was killed before it could remove them: found by name, emptied, removed. If
 * there are none, this is one fstat() per hierarchy.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/cgroup/cgroup_internal.h"

#define MEMBERS_MAX 64 /* killed per pass; the caller repeats while some are left */
#define GROUP_NS    UINT64_C(500000000)
#define SWEEP_NS    UINT64_C(3000000000)

static size_t read_members(int tree_fd, const char *group, pid_t pids[MEMBERS_MAX])
{
	char path[CGROUP_PATH_MAX], text[CGROUP_TEXT_MAX];
	char *save = NULL;
	size_t n = 0;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	if (cgroup_file_read(tree_fd, path, text, sizeof(text)) <= 0) {
		return 0;
	}
	for (char *word = strtok_r(text, "\n", &save); word && n < MEMBERS_MAX;
	     word = strtok_r(NULL, "\n", &save)) {
		uint64_t pid;

		/* 0 is a process of another pid namespace; never ourselves, never init. */
		if (cgroup_text_u64(word, &pid) && pid > 1 && pid <= INT32_MAX &&
		    (pid_t)pid != getpid()) {
			pids[n++] = (pid_t)pid;
		}
	}
	return n;
}

static bool listed(pid_t pid, const pid_t *pids, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (pids[i] == pid) {
			return true;
		}
	}
	return false;
}

/*
 * A pid may be reused by another process between reading the list and the signal. A pidfd (since
 * Linux 5.3) opened in between refers either to the member that is still listed afterwards, or to a
 * dead process.
 */
void cgroup_kill_members(int tree_fd, const char *group)
{
	pid_t before[MEMBERS_MAX], after[MEMBERS_MAX];
	int pidfds[MEMBERS_MAX];
	char path[CGROUP_PATH_MAX];
	size_t count, left;

	/* Prevents new ones meanwhile; the file exists in the pids hierarchy only. */
	snprintf(path, sizeof(path), "%s/pids.max", group);
	cgroup_file_write(tree_fd, path, "0");
	count = read_members(tree_fd, group, before);
	for (size_t i = 0; i < count; i++) {
		pidfds[i] = (int)syscall(SYS_pidfd_open, before[i], 0);
	}
	left = count ? read_members(tree_fd, group, after) : 0;
	for (size_t i = 0; i < count; i++) {
		if (pidfds[i] >= 0 && listed(before[i], after, left)) {
			syscall(SYS_pidfd_send_signal, pidfds[i], SIGKILL, NULL, 0);
		}
		close_fd(&pidfds[i]);
	}
}

#define INNER_DEPTH 2 /* a delegated group, the groups in it */

static void remove_inner(int dir_fd, bool kill, int depth)
{
	_cleanup_close_ int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	if (!dir) {
		return;
	}
	TAKE_FD(copy);
	while ((entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.') {
			continue;
		}
		_cleanup_close_ int inner = openat(dir_fd, entry->d_name,
						   O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (inner >= 0 && depth > 1) {
			remove_inner(inner, kill, depth - 1);
		}
		if (unlinkat(dir_fd, entry->d_name, AT_REMOVEDIR) < 0 && errno == EBUSY && kill) {
			cgroup_kill_members(dir_fd, entry->d_name);
		}
	}
	closedir(dir);
}

void cgroup_remove_inner(int tree_fd, const char *group, bool kill)
{
	_cleanup_close_ int fd =
		openat(tree_fd, group, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd >= 0) {
		remove_inner(fd, kill, INNER_DEPTH);
	}
}

static bool remove_group(const struct cgroup_tree *tree, const char *name, uint64_t deadline_ns)
{
	uint64_t until_ns = clock_now_ns() + GROUP_NS;
	char path[CGROUP_PATH_MAX], file[CGROUP_PATH_MAX + 16];
	long sleep_ns = 50000;

	snprintf(path, sizeof(path), "%s%s", tree->prefix, name);
	snprintf(file, sizeof(file), "%s/cgroup.kill", path);
	until_ns = until_ns < deadline_ns ? until_ns : deadline_ns;
	while (unlinkat(tree->fd, path, AT_REMOVEDIR) < 0) {
		if (errno != EBUSY || clock_now_ns() >= until_ns) {
			return errno == ENOENT;
		}
		if (cgroup_file_write(tree->fd, file, "1") < 0) {
			cgroup_kill_members(tree->fd, path);
		}
		cgroup_remove_inner(tree->fd, path, true);
		nanosleep(&(struct timespec){ .tv_nsec = sleep_ns }, NULL);
		sleep_ns = sleep_ns < 10000000 ? sleep_ns * 2 : sleep_ns;
	}
	return true;
}

/* cgroup file systems count subdirectories as links: two means none. */
static DIR *open_populated(const struct cgroup_tree *tree)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	DIR *dir;

	if (!*tree->prefix && fstat(tree->fd, &st) == 0 && st.st_nlink == 2) {
		return NULL;
	}
	fd = openat(tree->fd, *tree->prefix ? tree->prefix : ".",
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || !(dir = fdopendir(fd))) {
		return NULL;
	}
	TAKE_FD(fd);
	return dir;
}

/* A name found in one hierarchy is removed from this and all later ones: it counts once. */
static int sweep_tree(struct cgroup_manager *manager, size_t tree, uint64_t deadline_ns)
{
	DIR *dir = open_populated(&manager->trees[tree]);
	const struct dirent *entry;
	int count = 0;

	while (dir && (entry = readdir(dir)) && clock_now_ns() < deadline_ns) {
		bool gone = true;

		if (strncmp(entry->d_name, "brig-", 5) != 0 ||
		    strlen(entry->d_name) >= CGROUP_NAME_MAX ||
		    !cgroup_name_stale(manager, entry->d_name)) {
			continue;
		}
		for (size_t i = tree; i < manager->tree_count; i++) {
			gone &= remove_group(&manager->trees[i], entry->d_name, deadline_ns);
		}
		count += gone;
	}
	if (dir) {
		closedir(dir);
	}
	return count;
}

int cgroup_manager_sweep(struct cgroup_manager *manager)
{
	uint64_t deadline_ns = clock_now_ns() + SWEEP_NS;
	int count = 0;

	for (size_t i = 0; i < manager->tree_count; i++) {
		count += sweep_tree(manager, i, deadline_ns);
	}
	return count;
}
