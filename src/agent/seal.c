/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of the program, its ids, Landlock and its filter: its process takes them itself, and
 * loses nothing by them that it needs for exec.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/agent.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

static int lower_limit(const struct agent_limit *limit)
{
	struct rlimit now, want;

	if (getrlimit((__rlimit_resource_t)limit->resource, &now) < 0) {
		return -errno;
	}
	want.rlim_max = limit->value < now.rlim_max ? limit->value : now.rlim_max;
	want.rlim_cur = want.rlim_max;
	/* gVisor has limits that a process cannot change: those are in its bundle. */
	if (now.rlim_cur == want.rlim_cur && now.rlim_max == want.rlim_max) {
		return 0;
	}
	return setrlimit((__rlimit_resource_t)limit->resource, &want) < 0 ? -errno : 0;
}

static int take_limits(const struct agent *agent)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < agent->limits_count; i++) {
		r = lower_limit(&agent->limits[i]);
	}
	return r;
}

/* No capability is left, and none can come back: no_new_privs is set next. */
static int drop_privileges(const struct agent *agent)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };

	if (!agent->has_ids) {
		return 0;
	}
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
		/* One that lacks CAP_SETPCAP can neither drop a capability nor regain it. */
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EPERM) {
			return -errno;
		}
	}
	if (syscall(SYS_setgroups, 0, NULL) < 0 ||
	    syscall(SYS_setresgid, agent->group, agent->group, agent->group) < 0 ||
	    syscall(SYS_setresuid, agent->user, agent->user, agent->user) < 0 ||
	    /* EINVAL: gVisor's kernel has no such set. */
	    (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL) ||
	    syscall(SYS_capset, &head, none) < 0) {
		return -errno;
	}
	return 0;
}

/* The new listener, or 0 without one. */
static int install(const struct sock_fprog *program, bool listens)
{
	unsigned long flags =
		listens ? SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
			: 0;
	long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);

	if (r < 0 && errno == EINVAL && listens) {
		/* before 5.19: a signal can then interrupt a call that waits for its answer */
		flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
		r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
	}
	return r < 0 ? -errno : (int)r;
}

static int take_filter(const struct agent *agent, int *listener)
{
	struct sock_filter code[AGENT_FILTER_MAX / sizeof(struct sock_filter)];
	struct sock_fprog program = {
		.len = (unsigned short)(agent->filter_size / sizeof(struct sock_filter)),
		.filter = code,
	};

	if (agent->filter_size == 0) {
		return 0;
	}
	memcpy(code, agent->filter, agent->filter_size);
	int r = install(&program, agent->listens);
	*listener = r >= 0 && agent->listens ? r : -1;
	return r < 0 ? r : 0;
}

int program_seal(const struct agent *agent, int *listener, enum frame_step *step)
{
	*step = FRAME_STEP_LIMIT;
	int r = take_limits(agent);
	if (r < 0) {
		return r;
	}
	*step = FRAME_STEP_IDS;
	r = drop_privileges(agent);
	if (r < 0) {
		return r;
	}
	*step = FRAME_STEP_FILTER;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		return -errno;
	}
	*step = FRAME_STEP_LANDLOCK;
	r = agent->landlock ? landlock_enforce(agent->landlock, agent->places, agent->places_count)
			    : 0;
	if (r < 0) {
		return r;
	}
	*step = FRAME_STEP_FILTER;
	return take_filter(agent, listener);
}
