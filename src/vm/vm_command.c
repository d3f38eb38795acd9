/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qemu's command line: a machine with two ports and one disk, and nothing else. Files come as
 * descriptors (VM_FILE_*), so the machine needs no path of the host. Other monitors: vm_monitor.c.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "vm/vm.h"

#define MIB       (1ull << 20)
#define LEAST_MIB 256u

/* Four sizes between a power of two and the next, so that at most a fifth is in vain. */
uint64_t vm_memory(uint64_t limit_bytes)
{
	uint64_t need = (limit_bytes + VM_GUEST_BYTES + MIB - 1) / MIB, step = LEAST_MIB / 4;
	uint64_t size = LEAST_MIB;

	while (size < need) {
		step = size >= 8 * step ? 2 * step : step;
		size += step;
	}
	return size * MIB;
}

/*
 * qemu, the guest's kernel, its image's pages, agent and interpreter were 200 MiB in tests; a
 * kernel's table of pages is a 64th of all memory.
 */
uint64_t vm_held_bytes(const struct spec *spec)
{
	return VM_HELD_BYTES + vm_memory(spec->limits.memory_bytes) / 64;
}

struct held_group vm_group(const struct vm_machine *machine)
{
	return (struct held_group){ .memory_bytes = machine->memory_bytes + VM_QEMU_BYTES,
				    .processes = VM_GROUP_TASKS };
}

static int add_all(struct strlist *list, const char *const *words, size_t count)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		r = strlist_add(list, words[i]);
	}
	return r;
}

int vm_command(const struct vm_machine *machine, struct strlist *ret)
{
	static const char *const fixed[] = {
		"-M",
		"q35,vmport=off,smm=off,sata=off,smbus=off",
		"-smp",
		"1",
		"-nodefaults",
		"-no-user-config",
		"-display",
		"none",
		"-no-reboot",
		/* qemu's own filter, behind the holder: no processes, no privileges. */
		"-sandbox",
		"on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
		"-kernel",
		"/proc/self/fd/3",
		"-initrd",
		"/proc/self/fd/4",
		/* The first device of its kind: the guest names its ports by that. */
		"-device",
		"virtio-serial-pci,max_ports=4",
		"-add-fd",
		"fd=5,set=2",
		"-drive",
		"if=none,id=root,format=raw,readonly=on,file.locking=off,file=/dev/fdset/2",
		"-device",
		"virtio-blk-pci,drive=root",
		"-chardev",
		"socket,id=agent,fd=0",
		"-device",
		"virtserialport,chardev=agent,nr=1,name=agent",
		"-chardev",
		"file,id=report,path=/dev/fdset/1,append=on",
		"-device",
		"virtserialport,chardev=report,nr=2,name=report",
	};
	static const char *const save[] = { "-chardev", "socket,id=monitor,fd=6", "-mon",
					    "chardev=monitor,mode=readline" };
	static const char *const restore[] = { "-incoming", "fd:6" };
	bool kvm = machine->accel == VM_ACCEL_KVM;

	if (machine->file) {
		return vm_monitor_command(machine, ret);
	}
	int r = strlist_add(ret, machine->program);

	r = r < 0 ? r : strlist_add(ret, "-accel");
	/* A bound for the translated code: by default it may fill a gigabyte. */
	r = r < 0 ? r : strlist_add(ret, kvm ? "kvm" : "tcg,tb-size=128");
	r = r < 0 ? r : strlist_add(ret, "-cpu");
	r = r < 0 ? r : strlist_add(ret, kvm ? "host" : "max");
	r = r < 0 ? r : strlist_add(ret, "-m");
	r = r < 0 ? r
		  : strlist_addf(ret, "%lluM", (unsigned long long)(machine->memory_bytes / MIB));
	/* The report goes to the log, which is the last descriptor. */
	r = r < 0 ? r : strlist_add(ret, "-add-fd");
	r = r < 0 ? r
		  : strlist_add(ret, machine->start == VM_START_BOOT ? "fd=6,set=1" : "fd=7,set=1");
	r = r < 0 ? r : add_all(ret, fixed, ARRAY_SIZE(fixed));
	r = r < 0 ? r : strlist_add(ret, "-append");
	/* A restored machine has the command line of the one that was saved. */
	r = r < 0 ? r
		  : strlist_addf(ret, VM_CMDLINE "%s",
				 machine->start == VM_START_BOOT ? "" : " brig.park");
	if (r == 0 && machine->start == VM_START_SAVE) {
		r = add_all(ret, save, ARRAY_SIZE(save));
	}
	if (r == 0 && machine->start == VM_START_RESTORE) {
		r = add_all(ret, restore, ARRAY_SIZE(restore));
	}
	return r;
}
