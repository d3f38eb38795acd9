/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clones of a template: see clone_cell.h.
 *
 * A clone runs on a stack of its own, and so does the payload process that it starts in its memory,
 * until that continues on the stack of the template. It does so when the program that the clone
 * executes has sent it a byte: then the memory is its own.
 */
#include "template/clone_cell.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/sys.h"

#define PAGE_BYTES  4096
#define STACK_BYTES (32 * PAGE_BYTES)
/* A page that cannot be accessed below each. */
#define STACKS_BYTES (2 * (STACK_BYTES + PAGE_BYTES))

/* One template in one process. */
static struct {
	char *stacks; /* NULL: none */
	struct cell twin;
} sharing;

int clone_cell_prepare(void)
{
	char *stacks = mmap(NULL, STACKS_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (stacks == MAP_FAILED) {
		return -errno;
	}
	for (int i = 0; i < 2; i++) {
		if (mprotect(stacks + i * (STACK_BYTES + PAGE_BYTES), PAGE_BYTES, PROT_NONE) < 0) {
			return -errno;
		}
	}
	sharing.stacks = stacks;
	return 0;
}

static int clone_main(void *cell)
{
	init_main(cell);
}

/* Without namespaces of its own a signal's handler could run in it: they are blocked. */
static int clone_with_stacks(struct cell *cell, uint64_t namespaces, int *ret_pidfd)
{
	int flags = (int)namespaces | CLONE_PARENT | CLONE_PIDFD;
	char *end = sharing.stacks + STACKS_BYTES;

	cell->twin = &sharing.twin;
	cell->twin_stack = end - STACKS_BYTES / 2;
	int pid = clone(clone_main, end, flags, cell, ret_pidfd);
	return pid < 0 ? -errno : pid;
}

static int clone_plain(struct cell *cell, uint64_t namespaces, int *ret_pidfd)
{
	struct clone_args args = {
		.flags = namespaces | CLONE_PARENT | CLONE_PIDFD,
		.pidfd = (uintptr_t)ret_pidfd,
	};
	int pid = sys_clone3(&args, sizeof(args));

	if (pid == 0) {
		init_main(cell);
	}
	return pid;
}

int clone_cell(struct cell *cell, uint64_t namespaces, int *ret_pidfd)
{
	sigset_t all, before;

	*ret_pidfd = -1;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	int pid = sharing.stacks && cell->init_image >= 0
			  ? clone_with_stacks(cell, namespaces, ret_pidfd)
			  : clone_plain(cell, namespaces, ret_pidfd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

struct cell *clone_cell_settle(struct cell *cell)
{
	char byte;
	ssize_t n;

	if (!cell->twin) {
		return cell;
	}
	/* If the clone fails, this process dies with it. */
	do {
		n = read(cell->twin->left[0], &byte, 1);
	} while (n < 0 && errno == EINTR);
	if (n != 1) {
		_exit(127);
	}
	close(cell->twin->left[0]);
	close(cell->twin->left[1]);
	/* They have numbers of the host, which set-up has used. */
	munmap(sharing.stacks, STACKS_BYTES);
	return cell->twin;
}
