/* SPDX-License-Identifier: Apache-2.0 */
/* The provider: see provider.h and vm.h. */
#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "vm/vm.h"

/* The guest's own kernel has one of each, or makes it. */
#define VM_LAYERS                                                                                  \
	(LAYER_BIT(LAYER_USERNS) | LAYER_BIT(LAYER_PIDNS) | LAYER_BIT(LAYER_MNTNS) |               \
	 LAYER_BIT(LAYER_NETNS) | LAYER_BIT(LAYER_IPCNS) | LAYER_BIT(LAYER_UTSNS) |                \
	 LAYER_BIT(LAYER_CGROUPNS) | LAYER_BIT(LAYER_ROOTFS) | LAYER_BIT(LAYER_PROC) |             \
	 LAYER_BIT(LAYER_UIDRANGE) | LAYER_BIT(LAYER_CAPS) | LAYER_BIT(LAYER_NNP) |                \
	 LAYER_BIT(LAYER_SECCOMP) | LAYER_BIT(LAYER_KEYRING) | LAYERS_CGROUP)
#define PROGRAM_ID 1000
/* A tenth of what an emulated port of qemu gives. */
#define SERIAL_RATE (64ull << 10)

static int ready(struct run *run)
{
	/* Until now the time was the machine's. */
	run->watch.waits = false;
	watch_start(&run->watch, clock_now_ns());
	return 1;
}

#define AGENT                                                                                      \
	.returns = true, .mounts = true, .user = PROGRAM_ID, .group = PROGRAM_ID, .clock = true,   \
	.entropy = true
#define MACHINE                                                                                    \
	.product = "virtual machine", .step = "machine", .other = "another provider",              \
	.late = "see brig doctor; emulation on a busy host is slow", .stays = true,                \
	.confined = true, .own_kernel = true, .start_ns = VM_BOOT_NS, .ready = ready

static const struct agent_options agent = { AGENT };
/* A machine that ends drops what qemu has not yet passed on. */
static const struct held_kind machine = { MACHINE, .agent = &agent, .agent_stays = true };

/* A serial port of another monitor. */
static const struct agent_options serial_agent = { AGENT, .return_rate = SERIAL_RATE };
static const struct held_kind serial_machine = { MACHINE, .agent = &serial_agent };

static layer_set resolve(const struct cgroup_manager *groups, struct spec *spec)
{
	return held_resolve(groups, VM_LAYERS, spec);
}

static int open_cell(struct run *run, struct brig_error *err)
{
	const struct vm_settings *vm = run->options.spec->vm;
	int r = held_open(run, vm && vm->machine ? &serial_machine : &machine, err);

	if (r < 0) {
		return r;
	}
	struct vm_cell *cell = calloc(1, sizeof(*cell));
	if (!cell) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a cell");
	}
	cell->image = cell->state = cell->lock = cell->timer = cell->cache.dir = -1;
	cell->inside[0] = cell->inside[1] = cell->inside[2] = -1;
	cell->making.output = cell->making.monitor = -1;
	held_of(run)->own = cell;
	run->watch.own_kernel = run->watch.waits = true;
	return vm_prepare(run, err);
}

static int launch(struct run *run, struct brig_error *err)
{
	for (int i = 0; i < 3; i++) {
		vm_of(run)->inside[i] = TAKE_FD(run->inside[i]);
	}
	return vm_advance(run, err);
}

static int event(struct run *run, unsigned number)
{
	return number == VM_EVENT_MAKING ? vm_on_making(run) : held_handle(run, number);
}

static int listen_all(struct run *run)
{
	int r = held_listen(run);

	return r < 0 ? r : vm_listen_making(run);
}

static void kill_cell(struct run *run)
{
	struct vm_cell *cell = vm_of(run);
	const struct itimerspec now = { .it_value = { .tv_nsec = 1 } };

	if (cell->launched) {
		held_kill(run);
		return;
	}
	cell->killed = true;
	if (cell->making.run) {
		run_end_now(cell->making.run, ENDING_CANCELLED);
	} else if (cell->timer >= 0) {
		timerfd_settime(cell->timer, 0, &now, NULL);
	}
}

/* A state from which qemu does not start is not used again; nor is KVM, if a machine hangs. */
static int ended(struct run *run, struct brig_error *err)
{
	const struct vm_cell *cell = vm_of(run);
	const struct held_cell *held = held_of(run);
	bool silent = held->link.reports.state == REPORT_NEW;
	int r = held_ended(run, err);

	if (r < 0 && cell->launched && !cell->restored && held->late && !cell->killed &&
	    cell->machine.accel == VM_ACCEL_KVM && cell->machine.file) {
		vm_cache_note(&cell->cache, cell->names.no_kvm);
	}
	if (r < 0 && cell->launched && cell->restored && silent && held->early &&
	    held->tool_status != 0 && vm_tool_failed(held)) {
		vm_cache_remove(&cell->cache, cell->names.state);
		vm_cache_note(&cell->cache, cell->names.no_state);
		error_remedy(err, "run it again: the saved state of the machine was deleted, and "
				  "the next one starts without it");
	}
	return r;
}

static void close_cell(struct run *run)
{
	vm_cell_free(TAKE_PTR(held_of(run)->own));
	held_close(run);
}

static bool setting(const struct spec *spec, char ret[PROVIDER_SETTING_MAX])
{
	const struct vm_settings *vm = spec->vm;

	if (!vm) {
		return false;
	}
	snprintf(ret, PROVIDER_SETTING_MAX, "%s:%.250s:%.250s:%.64s", vm_accel_names[vm->accel],
		 vm->qemu ? vm->qemu : "", vm->kernel ? vm->kernel : "",
		 vm->machine ? vm->machine->name : "");
	return true;
}

static const char *means(enum layer layer)
{
	return held_means(layer, "the guest's kernel");
}

const struct provider vm_provider = {
	.layer_of = held_layer_of,
	.launch = launch,
	.assign = held_assign,
	.event = event,
	.listen = listen_all,
	.mute = held_mute,
	.alarm = held_alarm,
	.has_program = held_has_program,
	.ask_to_end = held_ask_to_end,
	.kill = kill_cell,
	.ended = ended,
	.report = vm_report,
	.advise = held_nothing,
	.interrupt = held_interrupt,
	.next_round = held_next_round,
	.rest = held_nothing,
	.take_options = held_take_options,
	.release = held_nothing,
	.close = close_cell,
	.name = "vm",
	.about = "a virtual machine (qemu with KVM, or emulation if allowed) with brig's agent in "
		 "it",
	.abilities = ABILITY_BIT(ABILITY_WALLS) | ABILITY_BIT(ABILITY_OWN_ROOT) |
		     ABILITY_BIT(ABILITY_CALL_RULES) | ABILITY_BIT(ABILITY_NETWORK) |
		     ABILITY_BIT(ABILITY_HOLD) | ABILITY_BIT(ABILITY_VALUE) |
		     ABILITY_BIT(ABILITY_SESSIONS),
	.layers = VM_LAYERS,
	.own_groups = true,
	.own_clock = true,
	.fixed_limits = LAYER_BIT(LAYER_CGROUP_MEMORY) | LAYER_BIT(LAYER_CGROUP_PIDS),
	.held_bytes = vm_held_bytes,
	.keeps_files = true,
	.network_by_stream = true,
	.answer_ns = 5000000000ull, /* emulation on a busy host */
	.own_processes = 2,         /* holder and monitor, whose threads are counted apart */
	.inner_processes = 0,
	.setting = setting,
	.probe = vm_probe,
	.probe_for = vm_probe_for,
	.resolve = resolve,
	.means = means,
	.explain = vm_explain,
	.open = open_cell,
};
