/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out what this host can enforce, by trying: every layer in a temporary child that makes the
 * same calls with the same flags as a cell's set-up does. Bounded in time; nothing is left behind.
 */
#ifndef BRIG_KERNEL_PROBE_PROBE_H
#define BRIG_KERNEL_PROBE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/cgroup/cgroup.h"
#include "kernel/layers.h"

#define PROBE_DETAIL_MAX 400
#define PROBE_REPAIR_MAX 512

enum probe_state {
	PROBE_OK,
	PROBE_DEGRADED, /* it works, but weaker or slower than it could */
	PROBE_MISSING,
};
const char *probe_state_name(enum probe_state state);

struct probe_finding {
	enum probe_state state;
	int errnum;                    /* why it is missing; 0: see detail */
	char detail[PROBE_DETAIL_MAX]; /* one line; may be "" when all is well */
	char repair[PROBE_REPAIR_MAX]; /* the remedy, usually a command; "" when all is well */
};

/* System calls that brig uses outside the layers, or that determine how well a layer works. */
enum probe_call {
	PROBE_CALL_CLONE3,
	PROBE_CALL_INTO_CGROUP,
	PROBE_CALL_PIDFD,
	PROBE_CALL_CLOSE_RANGE,
	PROBE_CALL_MOUNT_API,
	PROBE_CALL_MOUNT_SETATTR,
	PROBE_CALL_OPENAT2,
	PROBE_CALLS,
};

struct probe_call_info {
	const char *name;
	const char *since; /* kernel version */
	bool required;     /* without it no cell can be built, whatever the policy waives */
	const char *loss;
};
extern const struct probe_call_info probe_call_table[PROBE_CALLS];

struct probe_report;
/* Does the host have all required calls? If not, the finding names the first missing one. */
bool probe_required_calls(const struct probe_report *report, struct probe_finding *ret);

/* Settings that cause, or explain, missing layers. */
enum probe_sysctl {
	PROBE_SYSCTL_USERNS_CLONE,    /* Debian's own */
	PROBE_SYSCTL_APPARMOR_USERNS, /* Ubuntu's own */
	PROBE_SYSCTL_MAX_USER,
	PROBE_SYSCTL_MAX_PID,
	PROBE_SYSCTL_MAX_MNT,
	PROBE_SYSCTL_MAX_NET,
	PROBE_SYSCTL_MAX_IPC,
	PROBE_SYSCTL_MAX_UTS,
	PROBE_SYSCTL_MAX_CGROUP,
	PROBE_SYSCTL_MAX_TIME,
	PROBE_SYSCTL_PTRACE_SCOPE,
	PROBE_SYSCTLS,
};
extern const char *const probe_sysctl_names[PROBE_SYSCTLS]; /* "kernel.yama.ptrace_scope" */

struct probe_host {
	char kernel[65];
	unsigned major, minor;
	uid_t uid;
	char container[32];  /* its kind; "": none was recognised */
	bool user_namespace; /* brig itself is in one that is not the host's first */
	bool systemd;        /* it runs this host */
	bool cgroup2;        /* mounted as the only hierarchy */
	int seccomp;         /* mode of a filter that brig itself runs under; 0: none */
	uint64_t capabilities;
	char proc_mask[128]; /* the first mount over a part of /proc; "": none */
	char core_pattern[129];
	int64_t sysctls[PROBE_SYSCTLS]; /* -1: not on this host */
	char executable[256];           /* brig's own path */
};

struct probe_report {
	struct probe_finding layers[LAYER_COUNT];
	struct probe_finding calls[PROBE_CALLS];
	struct probe_host host;
};

/* `groups` may be NULL: then the cgroup layers are missing. Always fills the whole report. */
void probe_run(struct cgroup_manager *groups, struct probe_report *ret);

/* Facts of the host that cost no layer, but that an operator should know. */
struct probe_remark {
	const char *name;
	bool (*applies)(const struct probe_host *host);
	const char *detail;
	const char *repair; /* may be "" */
};
extern const struct probe_remark probe_remarks[];
extern const size_t probe_remarks_count;
#endif
