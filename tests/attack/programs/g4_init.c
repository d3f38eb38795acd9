/* SPDX-License-Identifier: Apache-2.0 */
/* G4 V2 V3 V4: every possible action on pid 1, and on any other given number. Then 42. */
#include <fcntl.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "say.h"

static pid_t victim;

static int open_of(const char *file, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", victim, file);
	return open(path, flags);
}

static long memory(long call, void *local)
{
	struct iovec here = { local, 8 };
	struct iovec there = { local, 8 };

	return syscall(call, victim, &here, 1, &there, 1, 0);
}

int main(int argc, char **argv)
{
	struct rlimit none = { 0, 0 };
	cpu_set_t first;
	struct sched_param param = { 0 };
	char link[256], here[16] = "";
	int victims_own_fd = 1;

	victim = argc > 1 ? atoi(argv[1]) : 1;
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	long handle = try("pidfd_open", syscall(SYS_pidfd_open, victim, 0));
	try("pidfd_getfd", syscall(SYS_pidfd_getfd, handle, victims_own_fd, 0));
	try("read_memory", memory(SYS_process_vm_readv, here));
	try("write_memory", memory(SYS_process_vm_writev, here));
	try("mem", open_of("mem", O_RDWR));
	try("environ", open_of("environ", O_RDONLY));
	try("exe", open_of("exe", O_RDONLY));
	try("exe_write", open_of("exe", O_RDWR));
	try("fd", open_of("fd", O_RDONLY | O_DIRECTORY));
	snprintf(link, sizeof(link), "/proc/%d/exe", victim);
	try("exe_link", readlink(link, here, sizeof(here)));
	try("prlimit", prlimit(victim, RLIMIT_NOFILE, &none, NULL));
	try("affinity", sched_setaffinity(victim, sizeof(first), &first));
	try("scheduler", sched_setscheduler(victim, SCHED_IDLE, &param));
	try("priority", setpriority(PRIO_PROCESS, (id_t)victim, 19));
	try("ioprio", syscall(SYS_ioprio_set, 1, victim, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0)));
	try("seize", ptrace(PTRACE_SEIZE, victim, 0, 0));
	try("attach", ptrace(PTRACE_ATTACH, victim, 0, 0));
	if (getenv("GENTLE")) {
		try("kill", kill(victim, 0));
		return 42;
	}
	const int signals[] = { SIGSTOP, SIGTSTP, SIGTERM,  SIGINT, SIGSEGV,
				SIGCHLD, SIGUSR1, SIGRTMAX, SIGKILL };
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		char name[32];
		snprintf(name, sizeof(name), "kill%d", signals[i]);
		try(name, kill(victim, signals[i]));
		if (handle >= 0) {
			syscall(SYS_pidfd_send_signal, handle, signals[i], NULL, 0);
		}
	}
	usleep(50000);
	return 42;
}
