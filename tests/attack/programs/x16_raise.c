/* SPDX-License-Identifier: Apache-2.0 */
/* X16: requests more than it has: limits, priorities, processors; or so little that it stops. */
#include <fcntl.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "say.h"

/* Lowering is allowed to all; only raising counts. */
static int raise_limit(__rlimit_resource_t resource)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0) {
		return -1;
	}
	if (limit.rlim_max != RLIM_INFINITY) {
		limit.rlim_max++;
	}
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit);
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	return fd < 0 ? -1 : (int)write(fd, text, strlen(text));
}

int main(void)
{
	struct sched_param param = { .sched_priority = 1 }, none = { 0 };
	uint32_t idle[14] = { sizeof(idle), SCHED_IDLE }; /* struct sched_attr */
	cpu_set_t before, after;

	try("nofile", raise_limit(RLIMIT_NOFILE));
	try("nproc", raise_limit(RLIMIT_NPROC));
	try("fsize", raise_limit(RLIMIT_FSIZE));
	try("cpu", raise_limit(RLIMIT_CPU));
	try("core", raise_limit(RLIMIT_CORE));
	try("memlock", raise_limit(RLIMIT_MEMLOCK));
	try("nice", setpriority(PRIO_PROCESS, 0, -5));
	try("fifo", sched_setscheduler(0, SCHED_FIFO, &param));
	try("idle", sched_setscheduler(0, SCHED_IDLE, &none));
	try("attr", syscall(SYS_sched_setattr, 0, idle, 0));
	try("ioprio", syscall(SYS_ioprio_set, 1, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_RT, 0)));
	try("oom", write_text("/proc/self/oom_score_adj", "-500"));
	sched_getaffinity(0, sizeof(before), &before);
	memset(&after, 0xff, sizeof(after));
	sched_setaffinity(0, sizeof(after), &after);
	sched_getaffinity(0, sizeof(after), &after);
	say("cpus", "%s", CPU_EQUAL(&before, &after) ? "same" : "more");
	return 0;
}
