/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about the host that explain missing layers. Read only; a value that cannot be read is
 * unknown.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/probe/probe_internal.h"

const char *const probe_sysctl_names[PROBE_SYSCTLS] = {
	[PROBE_SYSCTL_USERNS_CLONE] = "kernel.unprivileged_userns_clone",
	[PROBE_SYSCTL_APPARMOR_USERNS] = "kernel.apparmor_restrict_unprivileged_userns",
	[PROBE_SYSCTL_MAX_USER] = "user.max_user_namespaces",
	[PROBE_SYSCTL_MAX_PID] = "user.max_pid_namespaces",
	[PROBE_SYSCTL_MAX_MNT] = "user.max_mnt_namespaces",
	[PROBE_SYSCTL_MAX_NET] = "user.max_net_namespaces",
	[PROBE_SYSCTL_MAX_IPC] = "user.max_ipc_namespaces",
	[PROBE_SYSCTL_MAX_UTS] = "user.max_uts_namespaces",
	[PROBE_SYSCTL_MAX_CGROUP] = "user.max_cgroup_namespaces",
	[PROBE_SYSCTL_MAX_TIME] = "user.max_time_namespaces",
	[PROBE_SYSCTL_PTRACE_SCOPE] = "kernel.yama.ptrace_scope",
};

/* Reads a small file as text without its last newline. False: not found, or not readable. */
static bool read_text(const char *path, char *text, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
	if (n > 0 && text[n - 1] == '\n') {
		text[n - 1] = '\0';
	}
	return n > 0;
}

static int64_t read_sysctl(const char *name)
{
	char path[96], text[32];

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	for (char *at = path + strlen("/proc/sys/"); *at; at++) {
		*at = *at == '.' ? '/' : *at;
	}
	if (!read_text(path, text, sizeof(text))) {
		return -1;
	}
	return strtoll(text, NULL, 10);
}

/* "Seccomp:\t2" and the like in /proc/self/status. */
static uint64_t status_value(const char *status, const char *key, int base)
{
	const char *at = strstr(status, key);

	return at ? strtoull(at + strlen(key), NULL, base) : 0;
}

static void read_status(struct probe_host *host)
{
	char status[8192];

	if (read_text("/proc/self/status", status, sizeof(status))) {
		host->seccomp = (int)status_value(status, "\nSeccomp:", 10);
		host->capabilities = status_value(status, "\nCapEff:", 16);
	}
}

/* The first namespace maps all ids: "0 0 4294967295". */
static bool in_user_namespace(void)
{
	char map[64];
	char *at = map;

	if (!read_text("/proc/self/uid_map", map, sizeof(map))) {
		return false;
	}
	unsigned long first = strtoul(at, &at, 10);
	unsigned long outside = strtoul(at, &at, 10);
	unsigned long count = strtoul(at, &at, 10);
	return first != 0 || outside != 0 || count < UINT32_MAX;
}

/*
 * A file system that was unpacked from an image has these marks too, so they alone prove nothing.
 */
static bool in_pid_namespace(void)
{
	static const char first[] =
		"pid:[4026531836]"; /* PROC_PID_INIT_INO: fixed since Linux 3.8 */
	char own[64];
	ssize_t n = readlink("/proc/self/ns/pid", own, sizeof(own) - 1);

	own[n > 0 ? n : 0] = '\0';
	return n > 0 && strcmp(own, first) != 0;
}

static void find_container(struct probe_host *host)
{
	static const struct {
		const char *path, *kind;
	} marks[] = {
		{ "/.dockerenv", "docker" },
		{ "/run/.containerenv", "podman" },
		{ "/var/run/secrets/kubernetes.io", "kubernetes" },
		{ "/dev/lxd/sock", "lxd" },
	};

	/* Written by systemd, also for nspawn and lxc. */
	if (read_text("/run/systemd/container", host->container, sizeof(host->container))) {
		return;
	}
	if (!in_pid_namespace() && !host->user_namespace) {
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(marks) && host->container[0] == '\0'; i++) {
		if (access(marks[i].path, F_OK) == 0) {
			snprintf(host->container, sizeof(host->container), "%s", marks[i].kind);
		}
	}
}

/*
 * A mount over a part of /proc: the kernel then refuses a new proc in a user namespace, because it
 * would show the hidden part (mount_too_revealing() in fs/namespace.c). binfmt_misc is on an empty
 * directory and does not count.
 */
static void find_proc_mask(struct probe_host *host)
{
	_cleanup_fclose_ FILE *mounts = fopen("/proc/self/mountinfo", "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	while (mounts && getline(&line, &size, mounts) > 0) {
		char place[sizeof(host->proc_mask)];

		if (sscanf(line, "%*s %*s %*s %*s %127s", place) == 1 &&
		    strncmp(place, "/proc/", 6) == 0 &&
		    strcmp(place, "/proc/sys/fs/binfmt_misc") != 0) {
			memcpy(host->proc_mask, place, sizeof(place));
			return;
		}
	}
}

static void read_kernel(struct probe_host *host)
{
	struct utsname name;

	if (uname(&name) == 0) {
		snprintf(host->kernel, sizeof(host->kernel), "%s", name.release);
		char *at = name.release;
		host->major = (unsigned)strtoul(at, &at, 10);
		host->minor = *at == '.' ? (unsigned)strtoul(at + 1, NULL, 10) : 0;
	}
}

/* Only a path that needs no quoting is used in a suggested command. */
static void find_executable(struct probe_host *host)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789/._-+";
	ssize_t n = readlink("/proc/self/exe", host->executable, sizeof(host->executable) - 1);

	host->executable[n > 0 ? n : 0] = '\0';
	if (n <= 0 || strspn(host->executable, plain) != (size_t)n) {
		snprintf(host->executable, sizeof(host->executable), "/usr/local/bin/brig");
	}
}

void probe_host(struct probe_host *ret)
{
	struct probe_host host = { .uid = geteuid() };
	struct statfs fs;

	read_kernel(&host);
	read_status(&host);
	host.user_namespace = in_user_namespace();
	find_container(&host);
	find_proc_mask(&host);
	find_executable(&host);
	host.systemd = access("/run/systemd/system", F_OK) == 0;
	host.cgroup2 = statfs("/sys/fs/cgroup", &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
	read_text("/proc/sys/kernel/core_pattern", host.core_pattern, sizeof(host.core_pattern));
	for (int i = 0; i < PROBE_SYSCTLS; i++) {
		host.sysctls[i] = read_sysctl(probe_sysctl_names[i]);
	}
	*ret = host;
}
