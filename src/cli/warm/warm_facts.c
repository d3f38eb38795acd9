/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and compares the facts of two processes: see warm_facts.h. */
#include "cli/warm/warm_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/warm/warm_groups.h"

/* Lines of the status that must be equal; of those with `value` both must have exactly that. */
static const struct status_line {
	const char *key, *value, *what;
} status_lines[] = {
	{ "TracerPid", "0", "it is traced" },
	{ "Uid", NULL, "user ids" },
	{ "Gid", NULL, "group ids" },
	{ "Groups", NULL, "supplementary groups" },
	{ "CapInh", NULL, "inheritable capabilities" },
	{ "CapPrm", NULL, "permitted capabilities" },
	{ "CapEff", NULL, "effective capabilities" },
	{ "CapBnd", NULL, "bounding capabilities" },
	{ "CapAmb", NULL, "ambient capabilities" },
	{ "NoNewPrivs", NULL, "no_new_privs" },
	/* Filters cannot be compared. */
	{ "Seccomp", "0", "a system-call filter" },
	{ "Cpus_allowed_list", NULL, "processors" },
	{ "Mems_allowed_list", NULL, "memory nodes" },
};
_Static_assert(ARRAY_SIZE(status_lines) <= WARM_FACTS_LINES, "room for all");

static const struct {
	const char *path, *what;
	bool optional; /* a kernel may not have it */
} id_files[] = {
	{ "ns/user", "user namespace", false },
	{ "ns/mnt", "mount namespace", false },
	{ "ns/pid", "pid namespace", false },
	{ "ns/pid_for_children", "pid namespace of children", false },
	{ "ns/net", "network namespace", false },
	{ "ns/ipc", "IPC namespace", false },
	{ "ns/uts", "UTS namespace", false },
	{ "ns/cgroup", "cgroup namespace", false },
	{ "ns/time", "time namespace", true },
	{ "ns/time_for_children", "time namespace of children", true },
	{ "root", "root directory", false },
	{ "exe", "program file", false },
};
_Static_assert(ARRAY_SIZE(id_files) <= WARM_FACTS_IDS, "room for all");

/* All of a file of /proc, or none of it. */
static ssize_t read_file(int process, const char *name, char *text, size_t room)
{
	_cleanup_close_ int fd = openat(process, name, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t n = 1;

	if (fd < 0) {
		return -errno;
	}
	while (n > 0 && size < room - 1) {
		n = read(fd, text + size, room - 1 - size);
		if (n < 0) {
			return -errno;
		}
		size += (size_t)n;
	}
	text[size] = '\0';
	return n == 0 ? (ssize_t)size : -EFBIG;
}

/* The value of a line; NULL: there is none. Ends it with a NUL. */
static char *take_line(char *status, const char *key)
{
	size_t length = strlen(key);

	for (char *line = status; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) == 0 && line[length] == ':') {
			return line + length + 1 + strspn(line + length + 1, " \t");
		}
	}
	return NULL;
}

static int read_status(int process, struct warm_facts *ret)
{
	char status[16384] = "";
	ssize_t n = read_file(process, "status", status, sizeof(status));

	if (n < 0) {
		return (int)n;
	}
	for (size_t i = 0; i < ARRAY_SIZE(status_lines); i++) {
		const char *value = take_line(status, status_lines[i].key);
		size_t size = value ? strcspn(value, "\n") : 0;

		/* Without it nothing can be said. With very many groups or processors neither. */
		if (!value || size >= sizeof(ret->lines[i])) {
			return -EOPNOTSUPP;
		}
		memcpy(ret->lines[i], value, size);
		ret->lines[i][size] = '\0';
	}
	const char *umask_text = take_line(status, "Umask");
	const char *ignored_text = take_line(status, "SigIgn");
	if (!umask_text || !ignored_text) {
		return -EOPNOTSUPP;
	}
	ret->umask = (unsigned)strtoul(umask_text, NULL, 8);
	ret->ignored = strtoull(ignored_text, NULL, 16);
	return 0;
}

static int read_ids(int process, struct warm_facts *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(id_files); i++) {
		struct statx info;
		int r = statx(process, id_files[i].path, 0, STATX_BASIC_STATS | STATX_MNT_ID,
			      &info);

		if (r < 0 && errno == ENOENT && id_files[i].optional) {
			continue;
		}
		if (r < 0) {
			return -errno;
		}
		ret->ids[i].device = ((uint64_t)info.stx_dev_major << 32) | info.stx_dev_minor;
		ret->ids[i].inode = info.stx_ino;
		ret->ids[i].mount = info.stx_mask & STATX_MNT_ID ? info.stx_mnt_id : 0;
	}
	return 0;
}

static int read_schedule(pid_t pid, struct warm_facts *ret)
{
	struct sched_attr attributes = { .size = sizeof(attributes) };

	if (syscall(SYS_sched_getattr, pid, &attributes, sizeof(attributes), 0) < 0) {
		return -errno;
	}
	ret->schedule.policy = attributes.sched_policy;
	ret->schedule.nice = attributes.sched_nice;
	ret->schedule.priority = attributes.sched_priority;
	ret->ioprio = (int)syscall(SYS_ioprio_get, 1 /* IOPRIO_WHO_PROCESS */, pid);
	return ret->ioprio < 0 ? -errno : 0;
}

int warm_facts_read(pid_t pid, struct warm_facts *ret)
{
	char path[32], number[32];

	*ret = (struct warm_facts){ 0 };
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	_cleanup_close_ int process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (process < 0) {
		return -errno;
	}
	ssize_t r = read_status(process, ret);
	r = r < 0 ? r : read_ids(process, ret);
	r = r < 0 ? r : read_file(process, "limits", ret->limits, sizeof(ret->limits));
	r = r < 0 ? r : read_file(process, "cgroup", ret->groups, sizeof(ret->groups));
	r = r < 0 ? r : read_file(process, "oom_score_adj", number, sizeof(number));
	if (r < 0) {
		return (int)r;
	}
	ret->oom_score = (int)strtol(number, NULL, 10);
	/* A kernel without security modules has no labels: EINVAL. */
	r = read_file(process, "attr/current", ret->label, sizeof(ret->label));
	if (r < 0 && r != -EINVAL && r != -ENOENT) {
		return (int)r;
	}
	return read_schedule(pid, ret);
}

const char *warm_facts_differ(const struct warm_facts *service, const struct warm_facts *client)
{
	for (size_t i = 0; i < ARRAY_SIZE(status_lines); i++) {
		const struct status_line *line = &status_lines[i];
		const char *wanted = line->value ? line->value : service->lines[i];

		if (strcmp(wanted, client->lines[i]) != 0 ||
		    strcmp(wanted, service->lines[i]) != 0) {
			return line->what;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(id_files); i++) {
		if (memcmp(&service->ids[i], &client->ids[i], sizeof(client->ids[i])) != 0) {
			return id_files[i].what;
		}
	}
	if (strcmp(service->limits, client->limits) != 0) {
		return "resource limits";
	}
	if (strcmp(service->label, client->label) != 0) {
		return "security label";
	}
	/* The kernel takes the service's cells first: that is no more right. */
	if (service->oom_score < client->oom_score) {
		return "oom_score_adj";
	}
	if (memcmp(&service->schedule, &client->schedule, sizeof(client->schedule)) != 0 ||
	    service->ioprio != client->ioprio) {
		return "scheduling";
	}
	/*
	 * An ordinary user's cells are in groups that the user's systemd makes, wherever the client
	 * is. Root's are not, and programs at a group (devices, addresses) hold root without being
	 * a file in it.
	 */
	const char *tree = geteuid() == 0 ? NULL : "/sys/fs/cgroup";
	return warm_groups_differ(tree, service->groups, client->groups) ? "control group" : NULL;
}
