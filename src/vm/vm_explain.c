/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a start, and qemu's command line, for `brig explain`. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "vm/vm.h"

static const struct held_step steps[] = {
	{ "warden", "image", "", "the root of the cell, read-only; made once", 0 },
	{ "warden", "state", "", "a machine that waits; made once, with this command", 0 },
	{ "warden", "cgroup", "", "limits of qemu and its machine together", LAYERS_CGROUP },
	{ "warden", "clone", "user pid mount", "the holder: everything dies with it", 0 },
	{ "holder", "keyring", "", "an empty session keyring", LAYER_BIT(LAYER_KEYRING) },
	{ "holder", "root", "", "the host's programs, read-only, and no other directory", 0 },
	{ "holder", "confine", "", "no capabilities, and no new ones", 0 },
	{ "holder", "machine", "COMMAND", "qemu continues the machine from its state", 0 },
	{ "guest", "cgroup", "", "the program's limits of memory and processes", 0 },
	{ "guest", "agent", "", "brig's agent, with namespaces of its own", 0 },
	{ "agent", "clock", "", "the time of day, and new randomness", 0 },
	{ "agent", "work", "/sandbox /tmp /dev/shm", "one tmpfs with the limit of the disk", 0 },
	{ "agent", "assign", "", "arguments, variables, input files over one stream", 0 },
	{ "program", "rlimit", "", "the limits of each process", 0 },
	{ "program", "caps", "", "user 1000, without any capability", 0 },
	{ "program", "seccomp", "", "the policy's system calls", LAYER_BIT(LAYER_SECCOMP) },
	{ "program", "exec", "", "the program begins", 0 },
};

static void print_json(const struct spec *spec, const struct vm_parts *parts,
		       const struct held_group *group, const struct strlist *command,
		       struct buf *out)
{
	struct json_out writer = { .buf = out };

	json_open(&writer, NULL, '{');
	held_print_steps(steps, ARRAY_SIZE(steps), spec, &writer, out);
	json_text(&writer, "kernel", parts->kernel.path[0] ? parts->kernel.path : NULL);
	json_text(&writer, "modules", parts->kernel.modules[0] ? parts->kernel.modules : NULL);
	json_open(&writer, "group", '{');
	json_u64(&writer, "memory_bytes", group->memory_bytes);
	json_u64(&writer, "processes", group->processes);
	json_close(&writer, '}');
	json_open(&writer, "command", '[');
	for (size_t i = 0; i < command->count; i++) {
		json_text(&writer, NULL, command->items[i]);
	}
	json_close(&writer, ']');
	json_close(&writer, '}');
}

void vm_explain(const struct spec *spec, bool json, struct buf *out)
{
	_cleanup_(strlist_done)
	struct strlist command = { 0 };
	struct vm_parts parts = { 0 };
	struct brig_error err = { 0 };
	int r = vm_find(spec->vm, &parts, &err);
	const struct vm_machine machine = {
		.qemu = parts.qemu[0] ? parts.qemu : "qemu-system-x86_64",
		.accel = spec->vm && spec->vm->accel == VM_ACCEL_TCG ? VM_ACCEL_TCG : VM_ACCEL_KVM,
		.memory_bytes = vm_memory(spec->limits.memory_bytes),
		.start = VM_START_RESTORE,
	};

	const struct held_group group = vm_group(&machine);
	if (vm_command(&machine, &command) < 0) {
		out->failed = true;
		return;
	}
	if (json) {
		print_json(spec, &parts, &group, &command, out);
		return;
	}
	held_print_steps(steps, ARRAY_SIZE(steps), spec, NULL, out);
	buf_addf(out, "\nThe group on the host: %" PRIu64 " MiB of memory, %" PRIu64 " processes\n",
		 group.memory_bytes >> 20, group.processes);
	buf_addf(out, "The kernel: %s\nThe command: ", r < 0 ? err.message : parts.kernel.path);
	for (size_t i = 0; i < command.count; i++) {
		buf_addf(out, "%s%s", i ? " " : "", command.items[i]);
	}
	buf_addc(out, '\n');
}
