/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a start, and the monitor's command line, for `brig explain`. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "vm/vm.h"

#define QEMU       "qemu-system-x86_64"
#define QEMU_TRIED "7.2"

enum monitor_kind {
	OF_QEMU = 1,
	OF_FILE = 2, /* another monitor */
	OF_BOTH = OF_QEMU | OF_FILE,
};

static const struct {
	unsigned kinds; /* of enum monitor_kind */
	struct held_step step;
} steps[] = {
	{ OF_BOTH, { "warden", "image", "", "the root of the cell, read-only; made once", 0 } },
	{ OF_QEMU,
	  { "warden", "state", "", "a machine that waits; made once, with this command", 0 } },
	{ OF_BOTH,
	  { "warden", "cgroup", "", "limits of the monitor and its machine together",
	    LAYERS_CGROUP } },
	{ OF_BOTH,
	  { "warden", "clone", "user pid mount", "the holder: everything dies with it", 0 } },
	{ OF_BOTH,
	  { "holder", "keyring", "", "an empty session keyring", LAYER_BIT(LAYER_KEYRING) } },
	{ OF_BOTH,
	  { "holder", "root", "", "the host's programs, read-only, and no other directory", 0 } },
	{ OF_BOTH, { "holder", "confine", "", "no capabilities, and no new ones", 0 } },
	{ OF_FILE, { "holder", "line", "", "brig-vm-line: the stream over a serial port", 0 } },
	{ OF_QEMU,
	  { "holder", "machine", "COMMAND", "qemu continues the machine from its state", 0 } },
	{ OF_FILE, { "holder", "machine", "COMMAND", "the monitor starts the machine", 0 } },
	{ OF_BOTH, { "guest", "cgroup", "", "the program's limits of memory and processes", 0 } },
	{ OF_BOTH, { "guest", "agent", "", "brig's agent, with namespaces of its own", 0 } },
	{ OF_BOTH, { "agent", "clock", "", "the time of day, and new randomness", 0 } },
	{ OF_BOTH,
	  { "agent", "work", "/sandbox /tmp /dev/shm", "one tmpfs with the limit of the disk",
	    0 } },
	{ OF_BOTH,
	  { "agent", "assign", "", "arguments, variables, input files over one stream", 0 } },
	{ OF_BOTH, { "program", "rlimit", "", "the limits of each process", 0 } },
	{ OF_BOTH, { "program", "caps", "", "user 1000, without any capability", 0 } },
	{ OF_BOTH,
	  { "program", "seccomp", "", "the policy's system calls", LAYER_BIT(LAYER_SECCOMP) } },
	{ OF_BOTH, { "program", "exec", "", "the program begins", 0 } },
};

struct explained {
	const struct spec *spec;
	struct vm_machine machine;
	struct vm_parts parts;
	struct strlist command; /* owned */
	struct buf config;      /* owned: of the monitor; empty: none */
	struct brig_error err;  /* why a part is missing */
};

static void explained_done(struct explained *explained)
{
	strlist_done(&explained->command);
	buf_done(&explained->config);
}

static void put_steps(const struct explained *explained, struct json_out *json, struct buf *out)
{
	const unsigned kind = explained->machine.file ? OF_FILE : OF_QEMU;
	struct held_step list[ARRAY_SIZE(steps)];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		if (steps[i].kinds & kind) {
			list[count++] = steps[i].step;
		}
	}
	held_print_steps(list, count, explained->spec, json, out);
}

static void print_json(const struct explained *explained, struct buf *out)
{
	const struct held_group group = vm_group(&explained->machine);
	const struct vm_kernel *kernel = &explained->parts.kernel;
	const struct machine *file = explained->machine.file;
	struct json_out writer = { .buf = out };

	json_open(&writer, NULL, '{');
	put_steps(explained, &writer, out);
	json_text(&writer, "kernel", kernel->path[0] ? kernel->path : NULL);
	json_text(&writer, "modules", kernel->modules[0] ? kernel->modules : NULL);
	json_text(&writer, "monitor", file ? file->name : MACHINE_QEMU);
	json_text(&writer, "tried", file ? file->tried : QEMU_TRIED);
	json_text(&writer, "config", explained->config.size ? explained->config.data : NULL);
	json_open(&writer, "group", '{');
	json_u64(&writer, "memory_bytes", group.memory_bytes);
	json_u64(&writer, "processes", group.processes);
	json_close(&writer, '}');
	json_open(&writer, "command", '[');
	for (size_t i = 0; i < explained->command.count; i++) {
		json_text(&writer, NULL, explained->command.items[i]);
	}
	json_close(&writer, ']');
	json_close(&writer, '}');
}

static void print_text(const struct explained *explained, struct buf *out)
{
	const struct held_group group = vm_group(&explained->machine);
	const struct machine *file = explained->machine.file;
	const char *kernel = explained->parts.kernel.path;

	put_steps(explained, NULL, out);
	buf_addf(out, "\nThe group on the host: %" PRIu64 " MiB of memory, %" PRIu64 " processes\n",
		 group.memory_bytes >> 20, group.processes);
	if (file) {
		buf_addf(out, "The monitor: %s (%s%s)\n", file->name,
			 file->tried ? "tried with " : "not run by brig's tests",
			 file->tried ? file->tried : "");
	}
	buf_addf(out, "The kernel: %s\nThe command: ", kernel[0] ? kernel : explained->err.message);
	for (size_t i = 0; i < explained->command.count; i++) {
		buf_addf(out, "%s%s", i ? " " : "", explained->command.items[i]);
	}
	buf_addc(out, '\n');
	if (explained->config.size) {
		buf_addf(out, "The configuration: %s\n", explained->config.data);
	}
}

static const char *program_of(const struct machine *file, const struct vm_parts *parts)
{
	return parts->program[0] ? parts->program : file ? file->program : QEMU;
}

void vm_explain(const struct spec *spec, bool json, struct buf *out)
{
	const struct machine *file = spec->vm ? spec->vm->machine : NULL;
	bool emulates = spec->vm && spec->vm->accel == VM_ACCEL_TCG;
	_cleanup_(explained_done)
	struct explained explained = { .spec = spec };

	if (vm_find(spec->vm, &explained.parts, &explained.err) < 0) {
		explained.parts.kernel.path[0] = '\0';
	}
	explained.machine = (struct vm_machine){
		.program = program_of(file, &explained.parts),
		.file = file,
		.accel = emulates ? VM_ACCEL_TCG : VM_ACCEL_KVM,
		.memory_bytes = vm_memory(spec->limits.memory_bytes),
		.start = VM_START_RESTORE,
	};
	if (vm_command(&explained.machine, &explained.command) < 0 ||
	    (file && vm_monitor_config(&explained.machine, &explained.config) < 0)) {
		out->failed = true;
		return;
	}
	if (json) {
		print_json(&explained, out);
	} else {
		print_text(&explained, out);
	}
}
