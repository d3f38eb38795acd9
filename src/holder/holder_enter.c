/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The holder's work in the namespaces of the agent, before the program begins: a /proc with
 * processes only, above the one of a tool that has made a full one; and the cell's side of the
 * gate, in a network in which nothing but the loopback is. Only async-signal-safe calls: see
 * holder.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "holder/holder.h"
#include "kernel/sys.h"
#include "native/cell/cell.h"

/* A child by clone, without the handlers that fork() runs. */
static pid_t split(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

/* The child's exit status, which is an errno below 256; -errno. */
static int wait_for(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR) {
			return -errno;
		}
	}
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

static int mount_proc(const struct holder_start *start, pid_t agent)
{
	_cleanup_close_ int fd = sys_pidfd_open(agent, 0);

	(void)start;
	if (fd < 0 || setns(fd, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) < 0) {
		return -errno;
	}
	/* A pid namespace is entered by children only. */
	pid_t child = split();
	if (child == 0) {
		int r = mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
			      "subset=pid,hidepid=invisible");
		_exit(r < 0 ? errno : 0);
	}
	return child < 0 ? -errno : wait_for(child);
}

/* The steps of a native cell's network that come after the network itself. */
static int make_network(struct cell *cell)
{
	static const step_function functions[STEP_KINDS] = {
		[STEP_NETHIDE] = step_nethide,
		[STEP_ROUTE] = step_route,
		[STEP_LISTEN] = step_listen,
		[STEP_GATE] = step_gate,
	};
	int r = net_adopt();

	for (unsigned i = 0; r == 0 && i < cell->plan->count; i++) {
		const struct step *step = &cell->plan->steps[i];
		r = functions[step->kind] ? functions[step->kind](cell, step) : 0;
	}
	return r;
}

/*
 * As root of the namespace above the one that owns the network: the capabilities for it are there
 * without entering that one. Never in the network of the host: a tool may have made none.
 */
static int enter_network(const struct holder_start *start, pid_t agent)
{
	static const char own[] = "/proc/self/ns/net";
	_cleanup_close_ int fd = sys_pidfd_open(agent, 0);
	struct cell cell = { .plan = start->plan };
	struct stat before, after;

	if (fd < 0 || stat(own, &before) < 0 || setns(fd, CLONE_NEWNET) < 0 ||
	    stat(own, &after) < 0) {
		return -errno;
	}
	return before.st_ino == after.st_ino ? -ENONET : make_network(&cell);
}

/* In a child: our own namespaces stay as they are. */
static int in_child(int (*work)(const struct holder_start *, pid_t),
		    const struct holder_start *start, pid_t agent)
{
	pid_t child = split();

	if (child == 0) {
		_exit(-work(start, agent));
	}
	return child < 0 ? -errno : wait_for(child);
}

int holder_enter(const struct holder_start *start, pid_t agent, enum holder_step *step)
{
	*step = HOLDER_STEP_PROC;
	int r = start->stays ? in_child(mount_proc, start, agent) : 0;
	if (r < 0) {
		return r;
	}
	*step = HOLDER_STEP_NETWORK;
	return in_child(enter_network, start, agent);
}
