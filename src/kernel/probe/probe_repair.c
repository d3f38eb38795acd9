/* SPDX-License-Identifier: Apache-2.0 */
/* From a missing layer to the command that fixes it. One table, the first matching row. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/probe/probe_internal.h"

/* The setting that bounds a layer's namespaces, and the kernel that introduced it. */
static const struct {
	enum probe_sysctl most;
	const char *config;
	const char *since;
} origins[LAYER_COUNT] = {
	[LAYER_USERNS] = { PROBE_SYSCTL_MAX_USER, "CONFIG_USER_NS", "3.8" },
	[LAYER_PIDNS] = { PROBE_SYSCTL_MAX_PID, "CONFIG_PID_NS", "3.8" },
	[LAYER_MNTNS] = { PROBE_SYSCTL_MAX_MNT, "CONFIG_NAMESPACES", "3.8" },
	[LAYER_NETNS] = { PROBE_SYSCTL_MAX_NET, "CONFIG_NET_NS", "3.8" },
	[LAYER_IPCNS] = { PROBE_SYSCTL_MAX_IPC, "CONFIG_IPC_NS", "3.8" },
	[LAYER_UTSNS] = { PROBE_SYSCTL_MAX_UTS, "CONFIG_UTS_NS", "3.8" },
	[LAYER_CGROUPNS] = { PROBE_SYSCTL_MAX_CGROUP, "CONFIG_CGROUPS", "4.6" },
	[LAYER_TIMENS] = { PROBE_SYSCTL_MAX_TIME, "CONFIG_TIME_NS", "5.6" },
	[LAYER_ROOTFS] = { PROBE_SYSCTL_MAX_MNT, "CONFIG_TMPFS", "5.12" },
	[LAYER_OVERLAY] = { PROBE_SYSCTL_MAX_MNT, "CONFIG_OVERLAY_FS", "5.11" },
	[LAYER_PROC] = { PROBE_SYSCTL_MAX_MNT, "CONFIG_PROC_FS", "5.8" },
	[LAYER_UIDRANGE] = { PROBE_SYSCTL_MAX_USER, "CONFIG_USER_NS", "3.8" },
	[LAYER_CAPS] = { PROBE_SYSCTL_MAX_USER, "CONFIG_MULTIUSER", "4.3" },
	[LAYER_NNP] = { PROBE_SYSCTL_MAX_USER, "CONFIG_SECCOMP", "3.5" },
	[LAYER_LANDLOCK] = { PROBE_SYSCTL_MAX_USER, "CONFIG_SECURITY_LANDLOCK", "5.13" },
	[LAYER_SECCOMP] = { PROBE_SYSCTL_MAX_USER, "CONFIG_SECCOMP_FILTER", "3.17" },
	[LAYER_NOTIFY] = { PROBE_SYSCTL_MAX_USER, "CONFIG_SECCOMP_FILTER", "5.5" },
	[LAYER_KEYRING] = { PROBE_SYSCTL_MAX_USER, "CONFIG_KEYS", "2.6.10" },
	[LAYER_CGROUP_MEMORY] = { PROBE_SYSCTL_MAX_CGROUP, "CONFIG_MEMCG", "5.7" },
	[LAYER_CGROUP_PIDS] = { PROBE_SYSCTL_MAX_CGROUP, "CONFIG_CGROUP_PIDS", "5.7" },
	[LAYER_CGROUP_CPU] = { PROBE_SYSCTL_MAX_CGROUP, "CONFIG_CFS_BANDWIDTH", "5.7" },
};

#define BIT LAYER_BIT
#define NAMESPACES                                                                                 \
	(BIT(LAYER_USERNS) | BIT(LAYER_PIDNS) | BIT(LAYER_MNTNS) | BIT(LAYER_NETNS) |              \
	 BIT(LAYER_IPCNS) | BIT(LAYER_UTSNS) | BIT(LAYER_CGROUPNS) | BIT(LAYER_TIMENS) |           \
	 BIT(LAYER_ROOTFS) | BIT(LAYER_OVERLAY) | BIT(LAYER_PROC) | BIT(LAYER_CAPS) |              \
	 BIT(LAYER_UIDRANGE) | BIT(LAYER_KEYRING))
#define CGROUPS (BIT(LAYER_CGROUP_MEMORY) | BIT(LAYER_CGROUP_PIDS) | BIT(LAYER_CGROUP_CPU))
#define ALL     (BIT(LAYER_COUNT) - 1)

#define DELEGATE_DROPIN                                                                            \
	"as root: mkdir -p /etc/systemd/system/user@.service.d && printf "                         \
	"'[Service]\\nDelegate=cpu memory pids\\n' "                                               \
	"> /etc/systemd/system/user@.service.d/delegate.conf && systemctl daemon-reload; "         \
	"then log in again"
#define DELEGATE_SCOPE "run it in a scope of its own: systemd-run --user --scope -p Delegate=yes "

/*
 * flags=(unconfined) with the userns rule is Ubuntu's own way to allow a program this: nothing else
 * about it changes.
 */
#define APPARMOR_PROFILE                                                                           \
	"as root: printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile brig %E "           \
	"flags=(unconfined) {\\n  userns,\\n}\\n' > /etc/apparmor.d/brig && "                      \
	"apparmor_parser -r /etc/apparmor.d/brig"

static bool always(const struct probe_host *host)
{
	(void)host;
	return true;
}

static bool user(const struct probe_host *host)
{
	return host->uid != 0;
}

static bool userns_switched_off(const struct probe_host *host)
{
	return user(host) && host->sysctls[PROBE_SYSCTL_USERNS_CLONE] == 0;
}

static bool apparmor_restricts(const struct probe_host *host)
{
	return user(host) && host->sysctls[PROBE_SYSCTL_APPARMOR_USERNS] > 0;
}

static bool masked(const struct probe_host *host)
{
	return host->proc_mask[0] != '\0';
}

static bool container(const struct probe_host *host)
{
	return host->container[0] != '\0' || host->user_namespace;
}

static bool nested(const struct probe_host *host)
{
	return host->user_namespace;
}

static bool filtered(const struct probe_host *host)
{
	return host->seccomp != 0;
}

/* A kernel that has every call, but a filter that hides some of them. */
static bool hidden_by_filter(const struct probe_host *host)
{
	return filtered(host) && (host->major > 5 || (host->major == 5 && host->minor >= 13));
}

static bool user_of_systemd(const struct probe_host *host)
{
	return user(host) && host->systemd && host->cgroup2;
}

/* %E brig's path, %S the sysctl, %C the kernel option, %V the kernel version, %U the user id. */
static const struct {
	layer_set layers;
	int errnum; /* 0: any; -1: none, the layer is degraded */
	bool (*fits)(const struct probe_host *host);
	const char *text;
} repairs[] = {
	{ BIT(LAYER_LANDLOCK), -1, always, "boot Linux 6.12 or newer" },
	{ BIT(LAYER_NOTIFY), -1, always, "boot Linux 5.19 or newer" },
	{ BIT(LAYER_CGROUP_CPU), -1, always, DELEGATE_SCOPE "brig ..." },
	{ CGROUPS, -1, always, DELEGATE_SCOPE "brig ..." },
	{ BIT(LAYER_UIDRANGE), 0, user,
	  "run brig as root: only root can map ids that are not its "
	  "own" },
	{ BIT(LAYER_UIDRANGE), EPERM, nested,
	  "map ids from 1879048192 on into the user namespace that brig runs in, or run brig "
	  "outside it" },
	{ NAMESPACES, ENOSPC, always, "as root: sysctl -w %S=15000" },
	{ NAMESPACES, EUSERS, always, "as root: sysctl -w %S=15000" },
	{ NAMESPACES, EPERM, userns_switched_off,
	  "as root: sysctl -w kernel.unprivileged_userns_clone=1; to keep it: echo "
	  "kernel.unprivileged_userns_clone=1 > /etc/sysctl.d/60-brig.conf" },
	{ NAMESPACES, EPERM, apparmor_restricts, APPARMOR_PROFILE },
	{ NAMESPACES, EACCES, apparmor_restricts, APPARMOR_PROFILE },
	{ BIT(LAYER_PROC), EPERM, masked,
	  "unmask /proc: docker run --security-opt systempaths=unconfined; podman run "
	  "--security-opt unmask=ALL; kubernetes: procMount: Unmasked" },
	{ BIT(LAYER_OVERLAY), ENODEV, always,
	  "as root: modprobe overlay && echo overlay > /etc/modules-load.d/overlay.conf" },
	{ BIT(LAYER_KEYRING), EDQUOT, always, "as root: sysctl -w kernel.keys.maxkeys=2000" },
	{ BIT(LAYER_LANDLOCK), EOPNOTSUPP, always,
	  "put landlock first in the kernel's list and reboot: "
	  "GRUB_CMDLINE_LINUX=\"lsm=landlock,$(cat /sys/kernel/security/lsm)\" in "
	  "/etc/default/grub, then update-grub" },
	{ CGROUPS, 0, container,
	  "give the container a cgroup that it can write: docker run --privileged "
	  "--cgroupns=private; "
	  "podman run --security-opt unmask=/sys/fs/cgroup" },
	{ ALL & ~CGROUPS, EPERM, container,
	  "let the container make namespaces: docker run --security-opt seccomp=unconfined "
	  "--security-opt apparmor=unconfined --security-opt systempaths=unconfined; "
	  "podman run --security-opt seccomp=unconfined --security-opt unmask=ALL" },
	{ ALL & ~CGROUPS, EPERM, filtered,
	  "start brig outside the system-call filter that it runs under (a systemd unit: without "
	  "RestrictNamespaces= and SystemCallFilter=)" },
	{ ALL & ~CGROUPS, ENOSYS, hidden_by_filter,
	  "start brig outside the system-call filter that it runs under (docker: newer, or run "
	  "--security-opt seccomp=unconfined)" },
	{ NAMESPACES, EPERM, always,
	  "the kernel or a security module refuses: look for the denial with dmesg or "
	  "ausearch -m avc -ts recent; in a chroot no user namespace can be made" },
	{ BIT(LAYER_CGROUP_CPU), 0, user_of_systemd, DELEGATE_DROPIN },
	{ CGROUPS, 0, user_of_systemd,
	  DELEGATE_SCOPE "brig ...; without a login session first: loginctl enable-linger %U && "
			 "export XDG_RUNTIME_DIR=/run/user/%U" },
	{ CGROUPS, 0, user,
	  "run brig as root; or, where cgroup v2 is mounted, as root: cd /sys/fs/cgroup && echo "
	  "'+cpu +memory +pids' > cgroup.subtree_control && mkdir brig-%U && chown -R %U brig-%U "
	  "&& echo PID-OF-YOUR-SHELL > brig-%U/cgroup.procs" },
	{ CGROUPS, 0, always,
	  "mount cgroup v2 with this controller: mount -t cgroup2 none /sys/fs/cgroup (kernel: %C; "
	  "boot option for memory: cgroup_enable=memory)" },
	{ ALL, ETIMEDOUT, always, "try again when the host is less busy" },
	{ ALL, ECANCELED, filtered,
	  "start brig outside the system-call filter that it runs under: it kills what it "
	  "refuses" },
	{ ALL, 0, always, "boot a kernel of version %V or newer with %C=y" },
};

static void add(char *text, size_t size, const char *more)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s", more);
}

static enum probe_sysctl limiting(const struct probe_host *host, enum layer layer)
{
	enum probe_sysctl own = origins[layer].most;
	int64_t all = host->sysctls[PROBE_SYSCTL_MAX_USER];

	/*
	 * Every attempt also makes a user namespace: the smaller limit is the one that was reached.
	 */
	return all >= 0 && all < host->sysctls[own] ? PROBE_SYSCTL_MAX_USER : own;
}

static void fill(const struct probe_host *host, enum layer layer, const char *text, char *out,
		 size_t size)
{
	char id[16];

	snprintf(id, sizeof(id), "%u", (unsigned)host->uid);
	out[0] = '\0';
	for (; *text; text++) {
		const char *value = NULL;
		char one[2] = { *text, '\0' };

		if (*text == '%') {
			text++;
			value = *text == 'E'   ? host->executable
				: *text == 'S' ? probe_sysctl_names[limiting(host, layer)]
				: *text == 'C' ? origins[layer].config
				: *text == 'V' ? origins[layer].since
					       : id;
		}
		add(out, size, value ? value : one);
	}
}

void probe_repair(const struct probe_host *host, enum layer layer, struct probe_finding *finding)
{
	int errnum = finding->state == PROBE_DEGRADED ? -1 : finding->errnum;

	if (finding->state == PROBE_OK || finding->repair[0]) {
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(repairs); i++) {
		bool any = repairs[i].errnum == 0 && errnum >= 0;
		if (!(repairs[i].layers & BIT(layer)) || !(any || repairs[i].errnum == errnum) ||
		    !repairs[i].fits(host)) {
			continue;
		}
		fill(host, layer, repairs[i].text, finding->repair, sizeof(finding->repair));
		return;
	}
}

void probe_repair_call(const struct probe_host *host, enum probe_call call,
		       struct probe_finding *finding)
{
	bool absent = finding->errnum == ENOSYS || finding->errnum == EINVAL;

	if (finding->state == PROBE_OK) {
		return;
	}
	if (absent && !hidden_by_filter(host)) {
		snprintf(finding->repair, sizeof(finding->repair), "boot Linux %s or newer",
			 probe_call_table[call].since);
	} else {
		snprintf(finding->repair, sizeof(finding->repair),
			 "allow it in the system-call filter that brig runs under (docker: newer, "
			 "or run --security-opt seccomp=unconfined)");
	}
}
