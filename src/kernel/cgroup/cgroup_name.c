/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of groups: brig-<pid>-<start time>-<id>. They show whether the creator still lives, even
 * after its pid was reused by another process.
 *
 * A pid is valid in one pid namespace only. A creator in any but the host's first one adds
 * ":<namespace's inode>", so that a sweep from another namespace leaves its groups alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/id.h"
#include "kernel/cgroup/cgroup_internal.h"

#define PID_NS_FIRST 0xEFFFFFFCu /* PROC_PID_INIT_INO: fixed since Linux 3.8 */

/*
 * Field 22. The name in field 2 may contain blanks and brackets: count from the last bracket. A
 * process that only waits to be reaped (field 3: Z, X) counts as gone.
 */
static int start_time(const char *pid, unsigned long long *ret)
{
	char path[64], text[1024];
	char *at;
	ssize_t n;
	uint64_t value;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	n = cgroup_file_read(AT_FDCWD, path, text, sizeof(text));
	if (n < 0) {
		return (int)n;
	}
	at = strrchr(text, ')');
	if (at && at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X')) {
		return -ESRCH;
	}
	for (int field = 2; at && field < 22; field++) {
		at = strchr(at + 1, ' ');
	}
	if (!at || !cgroup_text_u64(at + 1, &value)) {
		return -EIO;
	}
	*ret = value;
	return 0;
}

static int pid_namespace(unsigned long long *ret)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) < 0) {
		return -errno;
	}
	*ret = st.st_ino == PID_NS_FIRST ? 0 : (unsigned long long)st.st_ino;
	return 0;
}

static int learn_self(struct cgroup_manager *manager)
{
	pid_t pid = getpid();

	if (manager->pid == pid) {
		return 0;
	}
	int r = start_time("self", &manager->start);
	if (r < 0) {
		return r;
	}
	r = pid_namespace(&manager->pid_ns);
	if (r < 0) {
		return r;
	}
	manager->pid = pid;
	return 0;
}

int cgroup_name_make(struct cgroup_manager *manager, const char *id, char name[CGROUP_NAME_MAX])
{
	int r = learn_self(manager);
	int n;

	if (r < 0) {
		return r;
	}
	if (!id_name_valid(id)) {
		return -EINVAL;
	}
	n = snprintf(name, CGROUP_NAME_MAX, "brig-%d-%llu-%s", (int)manager->pid, manager->start,
		     id);
	if (manager->pid_ns != 0) {
		n += snprintf(name + n, CGROUP_NAME_MAX - (size_t)n, ":%llu", manager->pid_ns);
	}
	return n < CGROUP_NAME_MAX ? 0 : -ENAMETOOLONG;
}

/* Parses "<number><end>" and advances. */
static bool take_number(const char **text, char end, unsigned long long *ret)
{
	uint64_t value;
	size_t n = strspn(*text, "0123456789");

	if (n == 0 || (*text)[n] != end || !cgroup_text_u64(*text, &value)) {
		return false;
	}
	*ret = value;
	*text += n + (end != '\0');
	return true;
}

#define ID_SIZE 65

static bool name_parse(const char *name, unsigned long long *pid, unsigned long long *start,
		       unsigned long long *pid_ns, char id[ID_SIZE])
{
	const char *at = name;
	const char *colon;
	size_t n;

	if (strncmp(at, "brig-", 5) != 0) {
		return false;
	}
	at += 5;
	if (!take_number(&at, '-', pid) || !take_number(&at, '-', start) || *pid == 0 ||
	    *pid > INT32_MAX) {
		return false;
	}
	n = strcspn(at, ":");
	if (n >= ID_SIZE) {
		return false;
	}
	memcpy(id, at, n);
	id[n] = '\0';
	colon = at + n;
	*pid_ns = 0;
	if (*colon == ':') {
		colon++;
		if (!take_number(&colon, '\0', pid_ns)) {
			return false;
		}
	}
	return id_name_valid(id);
}

bool cgroup_name_is_delegated(const char *name)
{
	unsigned long long pid, start, pid_ns;
	char id[ID_SIZE];

	return name_parse(name, &pid, &start, &pid_ns, id) && strcmp(id, CGROUP_DELEGATED) == 0;
}

/* In doubt the creator lives: a group left over is less harm than a cell killed. */
bool cgroup_name_stale(struct cgroup_manager *manager, const char *name)
{
	unsigned long long pid, start, pid_ns, now;
	char text[24], id[ID_SIZE];
	int r;

	if (!name_parse(name, &pid, &start, &pid_ns, id) || learn_self(manager) < 0 ||
	    pid_ns != manager->pid_ns) {
		return false;
	}
	snprintf(text, sizeof(text), "%llu", pid);
	r = start_time(text, &now);
	if (r == 0) {
		return now != start;
	}
	if (r == -ESRCH) {
		return true;
	}
	/* hidepid hides live processes of other users from /proc; the signal check does not. */
	return r == -ENOENT && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}
