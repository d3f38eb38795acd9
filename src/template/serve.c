/* SPDX-License-Identifier: Apache-2.0 */
/* The template's loop: see serve.h. */
#include "template/serve.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/rseq.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/sys.h"
#include "native/cell/init.h"
#include "native/plan/plan_pack.h"
#include "template/clone_cell.h"
#include "template/clone_exit.h"
#include "template/process_area.h"

#define SIGNALS 65
/* More than the template's own functions need. */
#define DEAD_STACK_BYTES 32768
#define HIGH_FD          255
/* Of restartable sequences: the size that every kernel takes, and the C library's signature. */
#define RSEQ_BYTES     32
#define RSEQ_SIGNATURE 0x53053053

struct serving {
	struct plan plan;
	struct plan_sizes sizes;
	struct spec spec;
	void *block; /* that contains the plan */
	size_t block_size;
	struct cell cell;
	struct cell *payload; /* the same, in a payload process */
	sigjmp_buf resume;
	struct sigaction actions[SIGNALS]; /* the interpreter's own: set-up resets them all */
	struct process_area area;
	/* Of the thread: the kernel forgets these in a clone, or in its payload process. */
	int *thread_id;    /* where the C library keeps it; NULL: not known */
	struct rseq *rseq; /* NULL: not registered */
	void *robust;      /* the list of its robust mutexes; NULL: none */
	size_t robust_size;
	stack_t signal_stack;
	int init_image; /* what pid 1 of a clone becomes; -1: it stays a copy */
	enum template_start start;
};

/* One template in one process: a payload finds its way back here. */
static struct serving serving;

/*
 * Where the C library has registered its restartable sequences (since glibc 2.35). The kernel
 * forgets that in a process that is made in another's memory (rseq_fork()), like its signal stack,
 * and without it the library takes an old number for that of the processor.
 */
static struct rseq *rseq_area(void)
{
	const ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
	const unsigned int *size = dlsym(RTLD_DEFAULT, "__rseq_size");

	return offset && size && *size
		       ? (struct rseq *)(void *)((char *)__builtin_thread_pointer() + *offset)
		       : NULL;
}

static void remember_thread(void)
{
	if (prctl(PR_GET_TID_ADDRESS, &serving.thread_id, 0, 0, 0) < 0) {
		serving.thread_id = NULL;
	}
	if (syscall(SYS_get_robust_list, 0, &serving.robust, &serving.robust_size) < 0) {
		serving.robust = NULL;
	}
	if (sigaltstack(NULL, &serving.signal_stack) < 0) {
		serving.signal_stack.ss_flags = SS_DISABLE;
	}
	serving.rseq = rseq_area();
}

/* Where a filter refuses it, it looks to the C library like a refusal at the program's start. */
static void restore_rseq(void)
{
	if (!serving.rseq || syscall(SYS_rseq, serving.rseq, RSEQ_BYTES, 0, RSEQ_SIGNATURE) == 0 ||
	    errno == EBUSY) {
		return; /* EBUSY: it still is, in memory that was copied */
	}
	serving.rseq->cpu_id_start = 0;
	serving.rseq->cpu_id = (uint32_t)RSEQ_CPU_ID_REGISTRATION_FAILED;
}

static void restore_thread(void)
{
	if (serving.thread_id) {
		*serving.thread_id = (int)syscall(SYS_gettid);
	}
	if (serving.robust) {
		syscall(SYS_set_robust_list, serving.robust, serving.robust_size);
	}
	if (!(serving.signal_stack.ss_flags & SS_DISABLE)) {
		sigaltstack(&serving.signal_stack, NULL);
	}
	restore_rseq();
}

static void remember_process(void)
{
	for (int i = 1; i < SIGNALS; i++) {
		sigaction(i, NULL, &serving.actions[i]);
	}
	process_area_take(&serving.area, serving.sizes.args, serving.sizes.env, SPEC_PROGRAM_ID);
	remember_thread();
}

static void restore_process(void)
{
	sigset_t none;

	sigemptyset(&none);
	for (int i = 1; i < SIGNALS; i++) {
		if (serving.actions[i].sa_handler != SIG_DFL) {
			sigaction(i, &serving.actions[i], NULL);
		}
	}
	sigprocmask(SIG_SETMASK, &none, NULL);
	serving.payload = clone_cell_settle(&serving.cell);
	restore_thread();
}

static void resumed(struct cell *cell)
{
	(void)cell;
	siglongjmp(serving.resume, 1);
}

static int read_plan(int fd)
{
	struct stat info;

	if (fstat(fd, &info) < 0) {
		return -errno;
	}
	void *block = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (block == MAP_FAILED) {
		return -errno;
	}
	close(fd);
	serving.block = block;
	serving.block_size = (size_t)info.st_size;
	return plan_unpack(block, serving.block_size, &serving.plan, &serving.sizes, &serving.spec);
}

/* Shared memory stays shared in every clone: one run could leave data there for the next. */
static bool shares_memory(void)
{
	char line[8192];
	FILE *maps = fopen("/proc/self/maps", "re");
	bool shares = !maps;

	while (!shares && fgets(line, sizeof(line), maps)) {
		const char *flags = strchr(line, ' ');
		shares = flags && flags[2] == 'w' && flags[4] == 's';
	}
	if (maps) {
		fclose(maps);
	}
	return shares;
}

/* Reads the next request, with its descriptors. The template exits on any error. */
static unsigned read_request(int socket, int fds[WIRE_FDS_MAX])
{
	struct pollfd ready = { .fd = socket, .events = POLLIN };
	struct wire_record record;
	unsigned count = 0;

	while (poll(&ready, 1, -1) < 0) {
		if (errno != EINTR) {
			_exit(1);
		}
	}
	if (wire_receive(socket, &record, fds, &count) != 1 || record.kind != WIRE_CLONE ||
	    count < WIRE_CLONE_FDS || count > WIRE_CLONE_FDS + 1) {
		_exit(0);
	}
	return count;
}

static void make_cell(const int *fds, unsigned count)
{
	serving.cell = (struct cell){
		.plan = &serving.plan,
		.pidfd = -1,
		.control = -1,
		.control_inside = fds[0],
		.stdio = { fds[1], fds[2], fds[3] },
		.root = -1,
		.names = -1,
		.report_pipe = { -1, -1 },
		.go = { fds[4], -1 },
		.assignment_fd = fds[5],
		.value_fd = fds[6],
		.channel_fd = fds[7],
		.init_image = serving.init_image,
		.resumed = resumed,
	};
	for (unsigned i = 0; i < serving.plan.count; i++) {
		if (serving.plan.steps[i].kind == STEP_DEVICES) {
			serving.plan.steps[i].devices.fd =
				count > WIRE_CLONE_FDS ? fds[WIRE_CLONE_FDS] : -1;
		}
	}
}

static uint64_t namespaces(void)
{
	for (unsigned i = 0; i < serving.plan.count; i++) {
		if (serving.plan.steps[i].kind == STEP_CLONE) {
			return serving.plan.steps[i].clone.namespaces;
		}
	}
	return 0;
}

/* The clone's parent is the template's own parent: the keeper, which waits for it. */
static void clone_and_report(int socket)
{
	_cleanup_close_ int pidfd = -1;
	int pid = clone_cell(&serving.cell, namespaces(), &pidfd);
	struct wire_record record = {
		.kind = WIRE_CLONED,
		.value = pid > 0 ? (uint32_t)pid : 0,
		.errnum = pid < 0 ? -pid : 0,
	};

	if (wire_send(socket, &record, &pidfd, pid > 0 ? 1 : 0) < 0) {
		_exit(0);
	}
}

static _Noreturn void serve_requests(int socket, const struct template_hooks *hooks)
{
	for (;;) {
		int fds[WIRE_FDS_MAX];
		unsigned count = read_request(socket, fds);
		make_cell(fds, count);
		hooks->around.before();
		clone_and_report(socket);
		hooks->around.after();
		for (unsigned i = 0; i < count; i++) {
			close(fds[i]);
		}
	}
}

/* True: in a child that rehearses. */
static bool rehearse(const struct template_hooks *hooks, int *ret_pinned)
{
	*ret_pinned = -EOPNOTSUPP;
	if (!hooks->rehearses || serving.init_image < 0 ||
	    !rehearsal_hold(&hooks->around, ret_pinned)) {
		serving.start = *ret_pinned > 0 ? TEMPLATE_PINNED : TEMPLATE_PLAIN;
		return false;
	}
	serving.start = TEMPLATE_REHEARSES;
	template_exit_by(rehearsal_end);
	return true;
}

/* Optional: without stacks, or without a program to become, a clone is copied once more. */
static void prepare_sharing(void)
{
	serving.init_image = TEMPLATE_INIT;
	if (fcntl(TEMPLATE_INIT, F_SETFD, FD_CLOEXEC) < 0 || clone_cell_prepare() < 0) {
		serving.init_image = -1;
	}
}

/* Functions that have returned leave ids of the host in their frames: of a file's owner, say. */
__attribute__((noinline)) static void clear_dead_stack(void)
{
	char dead[DEAD_STACK_BYTES];

	explicit_bzero(dead, sizeof(dead));
}

int template_serve(int socket, int plan_fd, const char *name, const struct template_hooks *hooks,
		   enum template_start *ret_start)
{
	struct wire_record ready = { .kind = WIRE_WARM };
	int r = read_plan(plan_fd);

	if (r == 0 && (!template_is_single_threaded() || shares_memory())) {
		r = -EBUSY; /* a clone has one thread: the others would be missing */
	}
	if (r < 0) {
		return r;
	}
	prctl(PR_SET_NAME, name, 0, 0, 0);
	prepare_sharing();
	remember_process();
	template_exit_prepare();
	if (rehearse(hooks, &ready.status)) {
		*ret_start = serving.start;
		return 0;
	}
	clear_dead_stack();
	if (sigsetjmp(serving.resume, 0)) {
		restore_process();
		rehearsal_read_ahead();
		template_exit_begin(serving.spec.parks);
		*ret_start = serving.start;
		return 0;
	}
	ready.value = (uint32_t)getpid();
	if (wire_send(socket, &ready, NULL, 0) < 0) {
		_exit(0);
	}
	serve_requests(socket, hooks);
}

/*
 * Above the program's own files, below any sensible limit; not inherited by programs that it
 * starts.
 */
static int move_high(int fd)
{
	long limit = sysconf(_SC_OPEN_MAX);
	int high = limit > 0 && limit < HIGH_FD ? (int)limit - 1 : HIGH_FD;
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, high);

	if (moved == high) {
		close(fd);
		return moved;
	}
	close_fd(&moved);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

static void take_assignment(struct template_assignment *ret)
{
	struct cell *cell = serving.payload;
	int r = cell_execute_rest(cell, ACTOR_PAYLOAD);

	if (r < 0) {
		payload_die(cell, -r);
	}
	ret->assignment = cell->assignment;
	ret->value_fd = cell->value_fd;
}

void template_wait(struct template_assignment *ret)
{
	if (serving.start == TEMPLATE_REHEARSES) {
		rehearsal_assign(&ret->assignment, &ret->value_fd);
	} else {
		take_assignment(ret);
	}
	process_area_write(&serving.area, ret->assignment.argv, ret->assignment.envp);
	/* The strings that it pointed to were the template's, and are gone. */
	environ = (char **)(uintptr_t)ret->assignment.envp;
	/* It contains ids of the host. */
	munmap(serving.block, serving.block_size);
	ret->value_fd = ret->value_fd < 0 ? -1 : move_high(ret->value_fd);
}
