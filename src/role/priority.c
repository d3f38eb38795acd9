/* SPDX-License-Identifier: Apache-2.0 */
/* The priority of roles: see priority.h. */
#include "role/priority.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/*
 * The kernel honours slices since Linux 6.12; older ones ignore them. A process with a shorter
 * slice than the running ones gets the processor at once when it wakes up, and no more of it in
 * total.
 */
#define SLICE_NS 100000
/*
 * Three times the weight; work that the kernel does for a cell in its own threads must not wait for
 * long.
 */
#define NICE      (-5)
#define NICE_TEXT "-5"

/* As in the kernel since Linux 3.14; the C library's headers clash with the kernel's own. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

static int set_attributes(int nice)
{
	struct attributes attributes = {
		.size = sizeof(attributes),
		.policy = SCHED_NORMAL,
		.flags = SCHED_FLAG_RESET_ON_FORK,
		.nice = nice,
		.runtime_ns = SLICE_NS,
	};

	return (int)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

/*
 * Where the kernel groups processes by session, the nice value of the session's group counts
 * (sched(7), "The autogroup feature").
 */
static void raise_session(void)
{
	_cleanup_close_ int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, NICE_TEXT, sizeof(NICE_TEXT) - 1) < 0) {
		return; /* unchanged */
	}
}

void priority_raise(void)
{
	if (set_attributes(NICE) == 0) {
		raise_session();
	} else { /* an ordinary user */
		(void)set_attributes(0);
	}
}
