/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the host that cost no layer. */
#include "base/cleanup.h"
#include "kernel/probe/probe_internal.h"

static bool old_kernel(const struct probe_host *host)
{
	return host->major < 5 || (host->major == 5 && host->minor < 13);
}

static bool core_helper(const struct probe_host *host)
{
	return host->core_pattern[0] == '|';
}

static bool proc_masked(const struct probe_host *host)
{
	return host->proc_mask[0] != '\0';
}

static bool in_container(const struct probe_host *host)
{
	return host->container[0] != '\0' || host->user_namespace;
}

static bool filtered(const struct probe_host *host)
{
	return host->seccomp != 0;
}

/* The warden writes the answer to sysinfo(2) into the program's memory: an attach, for Yama. */
static bool ptrace_locked(const struct probe_host *host)
{
	return host->uid != 0 && host->sysctls[PROBE_SYSCTL_PTRACE_SCOPE] >= 2;
}

const struct probe_remark probe_remarks[] = {
	{ "kernel", old_kernel, "older than 5.13, the first with every call that brig uses",
	  "boot Linux 5.13 or newer" },
	{ "core_pattern", core_helper,
	  "crashes are piped to a helper on the host, which reads what a hostile program left",
	  "as root: sysctl -w kernel.core_pattern=core" },
	{ "proc", proc_masked, "parts of /proc are mounted over, so no cell can have its own",
	  "docker run --security-opt systempaths=unconfined; "
	  "podman run --security-opt unmask=ALL; kubernetes: procMount: Unmasked" },
	{ "container", in_container,
	  "brig itself runs in a container: what that forbids, cells cannot have", "" },
	{ "seccomp", filtered,
	  "brig itself runs under a system-call filter, which holds in its cells too", "" },
	{ "ptrace_scope", ptrace_locked,
	  "sysinfo(2) is answered with ENOSYS in a cell: Yama forbids brig to write the answer",
	  "as root: sysctl -w kernel.yama.ptrace_scope=1" },
};
const size_t probe_remarks_count = ARRAY_SIZE(probe_remarks);
