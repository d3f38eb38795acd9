/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps from a request to a machine: an image and a saved state are made if they are not there.
 * One process makes at a time; others wait for it, and then find what it has made.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files/memfile.h"
#include "framed/frame.h"
#include "vm/vm.h"
#include "vm_init/go.h"

#define RETRY_NS         50000000ull
#define NOW_NS           1 /* after the events of others */
#define MAKING_NS        (3 * VM_BOOT_NS)
#define KERNEL_BYTES_MAX (256u << 20)

void vm_cell_free(struct vm_cell *cell)
{
	if (!cell) {
		return;
	}
	vm_make_done(&cell->making);
	vm_naming_done(&cell->naming);
	if (cell->private && cell->names.state[0]) {
		vm_cache_remove(&cell->cache, cell->names.image);
		vm_cache_remove(&cell->cache, cell->names.state);
	}
	vm_cache_done(&cell->cache);
	buf_done(&cell->initrd);
	close_fd(&cell->image);
	close_fd(&cell->state);
	close_fd(&cell->lock);
	close_fd(&cell->timer);
	for (int i = 0; i < 3; i++) {
		close_fd(&cell->inside[i]);
	}
	free(cell);
}

/* --- KVM -------------------------------------------------------------------------------------- */

static int no_kvm(struct brig_error *err)
{
	int r = error_set(err, BRIG_E_HOST, ENODEV,
			  "KVM does not run virtual machines on this host");

	error_remedy(err, "see brig doctor; or allow emulation, which is slower and has more code "
			  "between the program and the host: \"vm\": { \"accel\": \"auto\" }");
	error_step(err, "machine");
	return r;
}

static int name_state(struct vm_cell *cell, struct brig_error *err)
{
	cell->machine.start = VM_START_RESTORE;
	int r = vm_name_state(&cell->parts, &cell->machine, &cell->initrd, &cell->names);
	return r < 0 ? error_errno(err, BRIG_E_HOST, -r, "cannot read the monitor and the kernel")
		     : 0;
}

/* A monitor with a file does what its command line says: the policy must allow that. */
static int check_accel(const struct vm_cell *cell, struct brig_error *err)
{
	const struct machine *file = cell->machine.file;

	if (!file || cell->wanted == VM_ACCEL_AUTO || cell->wanted == file->accel) {
		return 0;
	}
	int r = error_set(err, BRIG_E_POLICY, ENOTSUP,
			  "the machine %s works by %s, but the policy wants %s", file->name,
			  vm_accel_names[file->accel], vm_accel_names[cell->wanted]);
	error_remedy(err, "set vm.accel to \"%s\", or name another machine in vm.monitor",
		     vm_accel_names[file->accel]);
	error_step(err, "machine");
	return r;
}

/* It does not work, or was not allowed: the other one, or an error. */
static int take_tcg(struct vm_cell *cell, struct brig_error *err)
{
	if (cell->wanted == VM_ACCEL_KVM || cell->machine.file) {
		return no_kvm(err);
	}
	cell->machine.accel = VM_ACCEL_TCG;
	return name_state(cell, err);
}

int vm_prepare(struct run *run, struct brig_error *err)
{
	const struct spec *spec = run->options.spec;
	struct vm_cell *cell = vm_of(run);

	const struct machine *file = spec->vm ? spec->vm->machine : NULL;

	cell->wanted = spec->vm ? spec->vm->accel : VM_ACCEL_KVM;
	cell->machine = (struct vm_machine){
		.program = cell->parts.program,
		.file = file,
		.accel = file                           ? file->accel
			 : cell->wanted == VM_ACCEL_TCG ? VM_ACCEL_TCG
							: VM_ACCEL_KVM,
		.memory_bytes = vm_memory(spec->limits.memory_bytes),
	};
	cell->private = spec->opened != NULL; /* the authority is the run's own */
	cell->deadline_ns = clock_now_ns() + MAKING_NS;
	cell->cache.known = run->options.checked_files;
	int r = check_accel(cell, err);
	r = r < 0 ? r : vm_find(spec->vm, &cell->parts, err);
	r = r < 0 ? r : vm_cache_open(spec->cache_dir, &cell->cache, err);
	r = r < 0 ? r : vm_initrd(&cell->parts.kernel, &cell->initrd, err);
	vm_naming_begin(&cell->naming, &held_of(run)->plan);
	return r;
}

/* The image has its name. */
static int choose(struct vm_cell *cell, struct brig_error *err)
{
	int r = name_state(cell, err);

	if (r < 0 || cell->machine.accel == VM_ACCEL_TCG) {
		return r;
	}
	bool useless =
		access("/dev/kvm", F_OK) < 0 || vm_cache_noted(&cell->cache, cell->names.no_kvm);
	return useless ? take_tcg(cell, err) : 0;
}

/* --- the machine ------------------------------------------------------------------------------ */

static int copy_kernel(const char *path)
{
	_cleanup_close_ int from = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int to = memfile_open("kernel");
	ssize_t n = 1;

	if (from < 0 || to < 0) {
		return from < 0 ? -errno : to;
	}
	for (size_t all = 0; n > 0 && all < KERNEL_BYTES_MAX; all += (size_t)n) {
		n = sendfile(to, from, NULL, 8u << 20);
		if (n < 0) {
			return -errno;
		}
	}
	int r = memfile_seal(to);
	return r < 0 ? r : TAKE_FD(to);
}

static int equip_qemu(struct held_cell *held, const struct vm_cell *cell,
		      const struct vm_machine *machine, int last)
{
	held->tool = "qemu";
	held->package = "qemu-system-x86";
	held->files.fds[VM_FILE_LAST] = last;
	held->files.names[VM_FILE_LAST] =
		machine->start == VM_START_RESTORE ? cell->names.state : NULL;
	return vm_command(machine, &held->arguments);
}

/* Takes `last`. */
int vm_equip(struct held_cell *held, const struct vm_cell *cell, const struct vm_machine *machine,
	     int last)
{
	struct holder_files *files = &held->files;
	int r = 0;

	held->kvm = machine->accel == VM_ACCEL_KVM;
	held->tool_group = vm_group(machine);
	snprintf(held->path, sizeof(held->path), "%s", cell->parts.program);
	files->fds[VM_FILE_KERNEL] = copy_kernel(cell->parts.kernel.path);
	files->fds[VM_FILE_INITRD] = memfile_make("initrd", cell->initrd.data, cell->initrd.size);
	files->fds[VM_FILE_IMAGE] = fcntl(cell->image, F_DUPFD_CLOEXEC, 3);
	files->names[VM_FILE_IMAGE] = cell->names.image;
	files->directory = cell->cache.path;
	if (machine->file) {
		files->count = VM_FILE_LINE + 1;
		r = vm_monitor_equip(held, machine);
	} else {
		files->count = VM_FILE_LAST + (last >= 0);
		r = equip_qemu(held, cell, machine, last);
	}
	for (size_t i = 0; i < files->count; i++) {
		if (files->fds[i] < 0) {
			return files->fds[i] == -1 ? -EMFILE : files->fds[i];
		}
	}
	return r;
}

/* The limits and the randomness, which vm_init waits for. */
static int greet(struct held_cell *held, const struct spec *spec)
{
	_Static_assert(VM_GO_BYTES <= sizeof(held->greeting), "it fits");
	frame_put_u64(held->greeting, spec->limits.memory_bytes);
	frame_put_u64(held->greeting + 8, spec->limits.processes + 1);
	held->greeting_size = VM_GO_BYTES;
	return getrandom(held->greeting + 16, VM_GO_SEED, GRND_NONBLOCK) == VM_GO_SEED ? 0 : -EIO;
}

static int launch(struct run *run, struct brig_error *err)
{
	struct vm_cell *cell = vm_of(run);
	struct held_cell *held = held_of(run);
	struct vm_machine machine = cell->machine;

	close_fd(&cell->lock);
	cell->launched = true;
	cell->restored = cell->state >= 0;
	machine.start = cell->restored ? VM_START_RESTORE : VM_START_BOOT;
	int r = greet(held, run->options.spec);
	for (int i = 0; i < 3; i++) {
		run->inside[i] = TAKE_FD(cell->inside[i]);
	}
	r = r < 0 ? r : vm_equip(held, cell, &machine, TAKE_FD(cell->state));
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "cannot prepare a machine")
		     : held_launch(run, err);
}

/* --- making ----------------------------------------------------------------------------------- */

/* vm_on_making() is called then. */
static int come_again(struct run *run, uint64_t wait_ns, struct brig_error *err)
{
	struct vm_cell *cell = vm_of(run);
	const struct itimerspec when = { .it_value = { .tv_nsec = (long)wait_ns } };

	if (cell->timer < 0) {
		cell->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		int r = cell->timer < 0 ? -errno : vm_listen_making(run);
		if (r < 0) {
			return error_errno(err, BRIG_E_SYSTEM, -r, "cannot wait");
		}
	}
	return timerfd_settime(cell->timer, 0, &when, NULL) < 0
		       ? error_errno(err, BRIG_E_SYSTEM, errno, "cannot wait")
		       : 0;
}

int vm_listen_making(struct run *run)
{
	struct vm_cell *cell = vm_of(run);
	int r = 0;

	if (cell->making.run) {
		r = run_listen(run, cell->making.run->epoll, RUN_EVENT_CELL + VM_EVENT_MAKING,
			       EPOLLIN);
	}
	if (r == 0 && cell->timer >= 0) {
		r = run_listen(run, cell->timer, RUN_EVENT_CELL + VM_EVENT_MAKING, EPOLLIN);
	}
	return r == -EEXIST ? 0 : r;
}

/* Finds a part in the cache. 1: it is open; 0: it is not there, or not yet checked; -errno. */
static int find(struct vm_cell *cell, bool state, int *fd)
{
	const char *name = state ? cell->names.state : cell->names.image;

	if (*fd < 0) {
		*fd = vm_cache_find(&cell->cache, name, state ? &cell->sum : NULL);
	}
	if (*fd < 0 || !state || cell->sum.size == 0) {
		return *fd >= 0;
	}
	int r = vm_cache_check(&cell->cache, name, &cell->sum);
	if (r != 0) {
		cell->sum.size = 0;
	}
	if (r < 0) {
		close_fd(fd);
	}
	return r == 1;
}

/* 1: it is open; 0: it is being made or checked, or another process makes it; -errno. */
static int obtain(struct run *run, bool state, int *fd, struct brig_error *err)
{
	struct vm_cell *cell = vm_of(run);

	if (find(cell, state, fd)) {
		return 1;
	}
	if (*fd >= 0) {
		return come_again(run, NOW_NS, err);
	}
	if (clock_now_ns() > cell->deadline_ns) {
		return error_set(err, BRIG_E_HOST, ETIMEDOUT,
				 "the parts of a virtual machine were not made in time");
	}
	if (cell->lock < 0) {
		int r = vm_cache_lock(&cell->cache);
		if (r == -EWOULDBLOCK) {
			return come_again(run, RETRY_NS, err);
		}
		if (r < 0) {
			return error_errno(err, BRIG_E_HOST, -r, "cannot lock %.200s",
					   cell->cache.path);
		}
		cell->lock = r;
		/* The process that had the lock may have made it. */
		return obtain(run, state, fd, err);
	}
	int r = vm_make_start(run, &cell->making, state, err);
	r = r < 0 ? r : vm_listen_making(run);
	return r < 0 ? r : 0;
}

/* 1: the parts have their names; 0: not yet; -errno. */
static int name_all(struct run *run, struct brig_error *err)
{
	struct vm_cell *cell = vm_of(run);

	if (cell->names.state[0]) {
		return 1;
	}
	int r = vm_naming_turn(&cell->naming, cell->names.image, err);
	if (r == 0) {
		return come_again(run, NOW_NS, err);
	}
	r = r < 0 ? r : choose(cell, err);
	return r < 0 ? r : 1;
}

/* For one run a state is not worth its making, unless that is the trial of KVM. */
static bool wants_state(const struct vm_cell *cell)
{
	bool trial = cell->wanted == VM_ACCEL_AUTO && cell->machine.accel == VM_ACCEL_KVM;

	return !cell->machine.file && !cell->stateless && (!cell->private || trial) &&
	       !vm_cache_noted(&cell->cache, cell->names.no_state);
}

int vm_advance(struct run *run, struct brig_error *err)
{
	struct vm_cell *cell = vm_of(run);
	int r = name_all(run, err);

	r = r == 1 ? obtain(run, false, &cell->image, err) : r;
	if (r == 1 && wants_state(cell)) {
		r = obtain(run, true, &cell->state, err);
		if (r < 0) {
			/* Slower, but not in vain. */
			vm_make_done(&cell->making);
			close_fd(&cell->state);
			r = 1;
		}
	}
	return r == 1 ? launch(run, err) : r;
}

/* The cell ends without a machine. */
static int give_up(struct run *run, const struct brig_error *err)
{
	struct held_cell *held = held_of(run);

	held->refused = malloc(sizeof(*held->refused));
	if (held->refused) {
		*held->refused = *err;
	}
	run->build_failed = true;
	close_fd(&vm_of(run)->lock);
	run_cell_gone(run);
	return 1;
}

bool vm_tool_failed(const struct held_cell *held)
{
	int status = (int)held->tool_status;

	/* 127: it was not executed. */
	return held->has_handles && held->tool_done && !held->refused && !held->build_errnum &&
	       WIFEXITED(status) && WEXITSTATUS(status) != 127;
}

/*
 * A state that cannot be made costs time only, unless it was the trial of KVM: there a guest that
 * ends early, or does not start at all, is a failure too. If something else has failed, nothing is
 * noted, and this run starts without a state.
 */
static int state_failed(struct vm_cell *cell, const struct held_cell *held, struct brig_error *err)
{
	bool started = held->link.reports.state != REPORT_NEW;

	cell->stateless = true;
	if (!vm_tool_failed(held) && !held->late) {
		return 0;
	}
	if (cell->machine.accel == VM_ACCEL_KVM && !started) {
		cell->stateless = false; /* of the other machine */
		vm_cache_note(&cell->cache, cell->names.no_kvm);
		return take_tcg(cell, err);
	}
	vm_cache_note(&cell->cache, cell->names.no_state);
	return 0;
}

static int end_making(struct run *run, int r, struct brig_error *err)
{
	struct vm_cell *cell = vm_of(run);

	epoll_ctl(run->epoll, EPOLL_CTL_DEL, cell->making.run->epoll, NULL);
	/* A caller who cancels proves nothing about this host. */
	if (r > 0 || cell->killed) {
		r = 0;
	} else if (cell->making.state) {
		r = state_failed(cell, held_of(cell->making.run), err);
	}
	vm_make_done(&cell->making);
	return r;
}

int vm_on_making(struct run *run)
{
	struct vm_cell *cell = vm_of(run);
	struct brig_error err = { 0 };
	uint64_t expirations;
	int r = 1;

	if (cell->launched) {
		return 0;
	}
	(void)!read(cell->timer, &expirations, sizeof(expirations));
	if (cell->making.run) {
		r = vm_make_step(&cell->making, &err);
		if (r == 0 && cell->making.sealed) {
			r = come_again(run, NOW_NS, &err);
		}
		if (r == 0) {
			return 0;
		}
		r = end_making(run, r, &err);
	}
	if (cell->killed) {
		run_cell_gone(run);
		return 1;
	}
	r = r < 0 ? r : vm_advance(run, &err);
	return r < 0 ? give_up(run, &err) : 0;
}
