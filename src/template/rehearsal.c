/* SPDX-License-Identifier: Apache-2.0 */
/* Children that show which pages every run writes to: see rehearsal.h. */
#include "template/rehearsal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "template/hot_pages.h"

#define ROUNDS  3
#define WAIT_MS 10000
#define ENV_MAX 256
/* Windows of code that a run reads: a small program needs some fifty. */
#define READ_MAX 512

/* The smallest program that prints, and has a value. */
static const char source[] = "print(1)\n1\n";

/* One child in one process. */
static struct {
	int report;
	int source;
	char path[32];
	const char *argv[3];
	const char *envp[ENV_MAX + 1];
} child = { .report = -1 };

/* In the template, for its clones. */
static struct {
	size_t count;
	const volatile char *addresses[READ_MAX];
} read_ahead;

static int write_source(void)
{
	_cleanup_close_ int fd = memfd_create("rehearsal", MFD_CLOEXEC);

	if (fd < 0) {
		return -errno;
	}
	return write(fd, source, sizeof(source) - 1) == sizeof(source) - 1 ? TAKE_FD(fd) : -EIO;
}

/* A raw call, as for clones: functions of pthread_atfork() are not called for those either. */
static int fork_child(const struct rehearsal_hooks *hooks, int pipe[2])
{
	pid_t template = getpid();

	hooks->before();
	int pid = (int)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid != 0) {
		int r = pid < 0 ? -errno : pid;
		hooks->after();
		return r;
	}
	close(pipe[0]);
	child.report = pipe[1];
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != template) {
		_exit(1);
	}
	return 0;
}

/* The child ends here, whatever a module's code does in it. */
static int read_report(int pid, int pipe[2], struct hot_pages *ret)
{
	int status;

	close_fd(&pipe[1]);
	int r = hot_pages_read(pipe[0], WAIT_MS, ret);
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	return r;
}

/* 1: this is a child; 0: *pages has those of all rounds; -errno. */
static int hold_rounds(const struct rehearsal_hooks *hooks, struct hot_pages *pages,
		       struct hot_pages *more)
{
	for (int round = 0; round < ROUNDS; round++) {
		int pipe[2];
		if (pipe2(pipe, O_CLOEXEC) < 0) {
			return -errno;
		}
		int pid = fork_child(hooks, pipe);
		if (pid == 0) {
			return 1;
		}
		int r = pid < 0 ? pid : read_report(pid, pipe, round ? more : pages);
		close_fd(&pipe[0]);
		close_fd(&pipe[1]);
		if (r < 0) {
			return r;
		}
		if (round) {
			hot_pages_intersect(pages, more);
		}
	}
	return 0;
}

bool rehearsal_hold(const struct rehearsal_hooks *hooks, int *ret_pinned)
{
	/* Mapped, not of the heap: a clone need not have them. */
	size_t size = 2 * sizeof(struct hot_pages);
	struct hot_pages *pages =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED) {
		*ret_pinned = -errno;
		return false;
	}
	child.source = write_source();
	int r = child.source < 0 ? child.source : hold_rounds(hooks, pages, pages + 1);
	if (r != 1) {
		*ret_pinned = r < 0 ? r : hot_pages_pin(pages);
		read_ahead.count =
			r < 0 ? 0 : hot_pages_read_ones(pages, read_ahead.addresses, READ_MAX);
		close_fd(&child.source);
	}
	munmap(pages, size);
	return r == 1;
}

void rehearsal_read_ahead(void)
{
	for (size_t i = 0; i < read_ahead.count; i++) {
		(void)*read_ahead.addresses[i];
	}
}

void rehearsal_assign(struct assignment *ret, int *ret_value_fd)
{
	size_t count = 0;

	for (; environ && environ[count] && count < ENV_MAX; count++) {
		child.envp[count] = environ[count];
	}
	snprintf(child.path, sizeof(child.path), "/proc/self/fd/%d", child.source);
	/* No interpreter has this name: a child cannot be replaced by a new one. */
	child.argv[0] = "";
	child.argv[1] = child.path;
	*ret = (struct assignment){
		.argv = child.argv, .argc = 2, .envp = child.envp, .envc = count
	};
	*ret_value_fd = memfd_create("value", MFD_CLOEXEC);
}

_Noreturn void rehearsal_end(void)
{
	_exit(hot_pages_report(child.report) < 0 ? 1 : 0);
}
