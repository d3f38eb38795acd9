/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes an image or a saved state, in a cell of its own that no program of a caller has been in:
 * mkfs.erofs over the root of the cell, or qemu with a machine that starts, waits and is saved. The
 * warden drives it as it drives any run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/fdpass.h"
#include "vm/vm.h"

#define MAKE_BYTES (1ull << 30)

/* The monitor's commands: it takes the next one when the last is done. */
#define MONITOR_GETFD   "getfd state\n"
#define MONITOR_MIGRATE "migrate fd:state\ninfo migrate\nquit\n"

/* The guest waits to be saved. */
static int save(struct run *run)
{
	struct vm_making *making = run->options.user;
	struct iovec first = { .iov_base = (char[]){ MONITOR_GETFD },
			       .iov_len = strlen(MONITOR_GETFD) };
	int r = (int)fdpass_send(making->monitor, &first, 1, &making->output, 1, MSG_DONTWAIT);

	if (r < 0) {
		return r;
	}
	ssize_t n = send(making->monitor, MONITOR_MIGRATE, strlen(MONITOR_MIGRATE),
			 MSG_NOSIGNAL | MSG_DONTWAIT);
	return n == (ssize_t)strlen(MONITOR_MIGRATE) ? 0 : -EIO;
}

static const struct held_kind image_kind = {
	.product = "image of the cell's root",
	.step = "image",
	.other = "another provider",
	.late = "see brig doctor; the image of a large language takes time and space",
	.stays = true,
	.whole = true,
	.alone = true,
	.confined = true,
	.start_ns = VM_BOOT_NS,
};

static const struct held_kind state_kind = {
	.product = "virtual machine",
	.step = "machine",
	.other = "another provider",
	.late = "see brig doctor; with KVM a guest starts in less than a second",
	.stays = true,
	.alone = true,
	.confined = true,
	.own_kernel = true,
	.start_ns = VM_BOOT_NS,
	.ready = save,
};

static int open_image(struct run *run, const struct vm_making *making)
{
	static const char root[] = "/" HOLDER_ROOT;
	static const char *const words[] = { "-d1", "-T0", "--all-root", "-x-1", "/proc/self/fd/3",
					     root };
	struct held_cell *held = held_of(run);

	held->tool = "mkfs.erofs";
	held->package = "erofs-utils";
	held->program = 0;
	snprintf(held->path, sizeof(held->path), "%s", making->cell->parts.mkfs);
	int r = strlist_add(&held->arguments, held->path);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(words); i++) {
		r = strlist_add(&held->arguments, words[i]);
	}
	held->files.fds[0] = fcntl(making->output, F_DUPFD_CLOEXEC, 3);
	held->files.count = 1;
	return r < 0 ? r : held->files.fds[0] < 0 ? -errno : 0;
}

static int open_state(struct run *run, struct vm_making *making)
{
	struct vm_machine machine = making->cell->machine;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		return -errno;
	}
	making->monitor = ends[0];
	machine.start = VM_START_SAVE;
	return vm_equip(held_of(run), making->cell, &machine, ends[1]);
}

static int open_maker(struct run *run, struct brig_error *err)
{
	struct vm_making *making = run->options.user;
	int r = held_open(run, making->state ? &state_kind : &image_kind, err);

	if (r < 0) {
		return r;
	}
	run->watch.waits = run->watch.own_kernel = true;
	r = making->state ? open_state(run, making) : open_image(run, making);
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "cannot make a machine") : 0;
}

/* Not in the table of providers: no policy can name it. */
static const struct provider maker = {
	HELD_PROVIDER,
	.name = "vm",
	.own_processes = 2,
	.open = open_maker,
};

/* Those of its cell, without anything of the request. */
static struct spec spec_of(const struct spec *like)
{
	static const char *const nothing[] = { NULL };
	struct spec spec = *like;

	spec.provider = &maker;
	spec.kind = CELL_COLD;
	spec.limits = (struct brig_limits){
		.wall_ns = 2 * VM_BOOT_NS,
		.cpu_ns = 2 * VM_BOOT_NS,
		.memory_bytes = MAKE_BYTES,
		.processes = 16,
		.disk_bytes = 1u << 20,
		.disk_inodes = 64,
		.open_files = 1024,
		.file_bytes = UINT64_MAX / 4,
	};
	spec.inputs_count = spec.mounts_count = 0;
	spec.argv = spec.envp = nothing;
	spec.filter = NULL;
	spec.devices = spec.gate = -1;
	return spec;
}

int vm_make_start(struct run *run, struct vm_making *making, bool state, struct brig_error *err)
{
	making->cell = vm_of(run);
	making->state = state;
	making->sealed = making->published = false;
	making->spec = spec_of(run->options.spec);
	making->output = vm_cache_new(&making->cell->cache, &making->spec);
	if (making->output < 0) {
		int r = error_errno(err, BRIG_E_HOST, -making->output,
				    "cannot make a file in %.200s", making->cell->cache.path);
		error_remedy(err, "free some space there; the file system must have O_TMPFILE");
		return r;
	}
	const struct run_options options = { .spec = &making->spec,
					     .groups = run->options.groups,
					     .user = making };
	return run_start(&options, &making->run, err);
}

/* The monitor goes on after a command that failed; of a failed migration it prints nothing. */
static bool is_saved(const struct vm_making *making)
{
	char text[8192];
	ssize_t n = recv(making->monitor, text, sizeof(text) - 1, MSG_DONTWAIT);

	if (n < 0) {
		return false;
	}
	text[n] = '\0';
	return !strstr(text, "Error") && !strstr(text, "nknown") && strstr(text, "completed");
}

static int not_stored(const struct vm_making *making, int r, struct brig_error *err)
{
	return error_errno(err, BRIG_E_HOST, -r, "cannot store the %s in %.200s",
			   held_of(making->run)->kind->product, making->cell->cache.path);
}

/* The tool has ended: has it done its work? */
static int seal(struct vm_making *making, struct brig_error *err)
{
	const struct held_cell *held = held_of(making->run);

	if (!held->tool_done || held->tool_status != 0 || (making->state && !is_saved(making))) {
		return err->errnum ? -err->errnum
				   : error_set(err, BRIG_E_HOST, EIO, "%s could not make the %s",
					       held->tool, held->kind->product);
	}
	int r = vm_cache_seal(making->output, &making->sum);
	making->sealed = r == 0;
	return r < 0 ? not_stored(making, r, err) : 0;
}

/* Only states have a sum: a changed image is an error of the guest's file system. */
static int publish(struct vm_making *making, struct brig_error *err)
{
	const struct vm_cache *cache = &making->cell->cache;
	const char *name = making->state ? making->cell->names.state : making->cell->names.image;
	uint64_t value = 0;

	if (making->published) {
		return !vm_cache_evict(cache, name);
	}
	int r = making->state ? vm_sum_turn(&making->sum, &value) : 1;
	if (r == 1) {
		r = vm_cache_publish(cache, &making->sum, value, name);
		making->published = r == 0;
	}
	return r < 0 ? not_stored(making, r, err) : 0;
}

int vm_make_step(struct vm_making *making, struct brig_error *err)
{
	int r = making->sealed ? 1 : run_step(making->run, err);

	if (r == 1 && !making->sealed) {
		r = seal(making, err);
		r = r < 0 ? r : 1;
	}
	return r == 1 ? publish(making, err) : r;
}

void vm_make_done(struct vm_making *making)
{
	run_free(TAKE_PTR(making->run));
	close_fd(&making->output);
	close_fd(&making->monitor);
}
